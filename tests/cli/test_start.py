"""Starting: what a command does not need is not imported."""

import argparse
import subprocess
import sys
from typing import Any

import pytest

from rpnb.cli import COMMANDS, _parser

HEAVY = ("numpy", "scipy", "sklearn", "pyarrow", "rpnb.estimators")


@pytest.mark.parametrize("words", [["--version"], ["--help"], []])
def test_the_version_and_the_list_of_commands_import_nothing_heavy(
    words: list[str],
) -> None:
    code = (
        "import sys; from rpnb.cli import main; main(sys.argv[1:]); "
        f"print('heavy:', [m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "heavy: []"


def test_the_package_gives_its_names_when_they_are_asked_for() -> None:
    import rpnb

    assert {"RPNBClassifier", "PooledClassifier", "FrozenRPNB"} < set(dir(rpnb))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = rpnb.Nothing


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    def listed(parser: argparse.ArgumentParser) -> dict[str, str]:
        groups: Any = parser._subparsers
        (commands,) = groups._group_actions
        return {each.dest: each.help for each in commands._choices_actions}

    assert listed(_parser([])) == listed(_parser())
    assert list(listed(_parser())) == list(COMMANDS)
