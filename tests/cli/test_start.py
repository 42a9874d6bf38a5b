"""Starting: a command imports only what it needs."""

import argparse
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from rpnb import RPNBClassifier, files
from rpnb.cli import COMMANDS, _parser
from rpnb.cli.parameters import RPNB_PARAMETERS, SEED
from rpnb.cli.run import arguments
from rpnb.evaluate.metrics import METRICS

HEAVY = ("numpy", "scipy", "sklearn", "pyarrow", "rpnb.estimators")


def test_the_version_and_all_help_import_nothing_heavy() -> None:
    words = [["--version"], ["--help"], [], *([name, "--help"] for name in COMMANDS)]
    code = (
        "import sys; from rpnb.cli import main\n"
        f"for words in {words}: main(words)\n"
        f"print('heavy:', [m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "heavy: []"


@pytest.mark.parametrize("command", ["run", "fit"])
def test_learning_a_file_imports_no_pipelines(command: str, tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("x,y\n" + "1,a\n2,b\n" * 9)
    words = [command, str(data), "--target", "y", "--quiet"]
    words += ["--save", str(tmp_path / "model")] if command == "fit" else []
    code = (
        "import sys; from rpnb.cli import main\n"
        f"assert main({words}) == 0\n"
        "slow = 'sklearn.pipeline', 'sklearn.preprocessing'\n"
        "print('slow:', [m for m in slow if m in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "slow: []"


def test_formats_and_metrics_of_the_options_are_those_of_the_package() -> None:
    assert tuple(files.FORMATS) == arguments.FORMATS
    assert set(arguments.METRICS) == {*METRICS}


def choices(hint: Any) -> tuple[str, ...]:
    """Return the texts that a parameter accepts; none if it accepts other values."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    parts = [choices(part) for part in get_args(hint)]
    return tuple(word for part in parts for word in part) if all(parts) else ()


def test_the_options_of_rpnb_agree_with_its_signature() -> None:
    signature = dict(inspect.signature(RPNBClassifier).parameters)
    # --scale and --shuffle are for all learners.
    del signature["scale"], signature["shuffle"]
    assert [each.name for each in RPNB_PARAMETERS] == list(signature)
    hints = get_type_hints(RPNBClassifier.__init__)
    for name, metavar, default, _ in RPNB_PARAMETERS:
        usual = SEED if name == "random_state" else signature[name].default
        assert (name, default) == (name, usual)
        listed = choices(hints[name])
        shown = "{" + ",".join(listed) + "}"
        assert metavar == shown if listed else metavar in ("N", "X", "VALUE")


def test_the_package_gives_its_names_when_they_are_asked_for() -> None:
    import rpnb

    assert {"RPNBClassifier", "PooledClassifier", "FrozenRPNB"} < set(dir(rpnb))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = rpnb.Nothing


def test_the_list_of_commands_agrees_with_the_commands() -> None:
    def listed(parser: argparse.ArgumentParser) -> dict[str, str]:
        groups: Any = parser._subparsers
        (commands,) = groups._group_actions
        return {each.dest: each.help for each in commands._choices_actions}

    assert listed(_parser([])) == listed(_parser())
    assert list(listed(_parser())) == list(COMMANDS)
