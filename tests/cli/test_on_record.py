"""The options of each command are as on record, and so is what it says of bad ones.

A script of a user depends on them, and a default that has slipped changes results
without an error. What is meant to change is written anew, and read:
``python tests/cli/test_on_record.py``.
"""

import argparse
import os
import shlex
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rpnb.cli import CommandError, _parser, execute, main

RECORD = Path(__file__).parents[1] / "golden" / "commands.txt"
ROWS = "x,w,y\n1,u,0\n2,v,1\n3,u,0\n4,v,1\n"
#: Each has something that cannot be, and ends with one line.
REFUSED = """
run a.csv
run a.csv --target z
run none.csv --target y
run nothing
run a.csv --target y --model Nothing
run a.csv --target y --model PA --n-estimators 3
run a.csv --target y --n-estimators 0
run a.csv --target y --batch-size 0
run a.csv --target y --param PA.C=1
run a.csv --target y --param C
run a.csv --target y --delimiter ab
run a.csv --target y --encoding nothing
run a.csv --target y --decimal q
run a.csv --target y --thousands . --decimal .
run a.csv --target y --classes a b
run a.csv --target y --window 0
run a.csv --target y --shuffle -1
run a.csv --target y --load none.rpnb
run a.csv --target y --drift adwin --save m.rpnb
run a.csv --target y --drop y
run a.csv --target y --max-classes 1
run a.csv --target y --max-categories 1
run a.csv --target y --metrics brier --model PA
run a.csv --target y --param C=1 --model PA
run a.csv --target y --param C=0 --model PA1
run a.csv --target y --predictions a.csv
run a.csv --target y --save m.rpnb --report m.rpnb
run Iris --save m.rpnb
compare a.csv --target y --learners PA Nothing
compare a.csv --target y PA
run a.csv --target y --compare PA AROW --save m.rpnb
predict a.csv --load none.rpnb
predict a.csv --load a.csv
learners Nothing
paper --methods Nothing
paper --datasets Nothing
paper --permutations 0
datasets extra
"""


def described(action: argparse.Action) -> str:
    """Return what an option takes, and what it is without."""
    names = " ".join(action.option_strings) or action.dest
    kind = getattr(action.type, "__name__", action.type)
    given = action.default
    choices = None if action.choices is None else [*action.choices]
    parts = {
        "type": kind,
        "nargs": action.nargs,
        "default": os.fspath(given) if isinstance(given, Path) else given,
        "choices": choices,
        "metavar": action.metavar,
    }
    shown = [f"{name}={value!r}" for name, value in parts.items() if value is not None]
    return f"  {names}: {type(action).__name__} {' '.join(shown)}"


def options() -> Iterator[str]:
    """Yield all options of all commands."""
    (commands,) = [
        each
        for each in _parser()._actions
        if isinstance(each, argparse._SubParsersAction)
    ]
    for name, parser in commands.choices.items():
        yield name
        for action in parser._actions:
            yield described(action)


def refusals() -> Iterator[str]:
    """Yield commands with what they say."""
    with TemporaryDirectory() as folder, chdir(folder):
        Path("a.csv").write_text(ROWS)
        for line in REFUSED.strip().splitlines():
            out, err = StringIO(), StringIO()
            with redirect_stdout(out), redirect_stderr(err):
                code = main(shlex.split(line))
            said = err.getvalue().strip().splitlines()
            yield f"$ rpnb {line}"
            yield f"{code} {said[-1] if said else ''}".replace(folder, "FOLDER")


def lines() -> Iterator[str]:
    yield from options()
    yield from refusals()


def test_options_and_refusals_are_as_on_record() -> None:
    assert list(lines()) == RECORD.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CommandError("why"), 2, "p c: why\n"),
        (KeyboardInterrupt(), 130, "p c: stopped by Ctrl-C\n"),
        (BrokenPipeError(), 1, ""),
        (MemoryError("10 GB"), 2, "p c: there is not enough memory: 10 GB\n"),
        (OSError(28, "No space left"), 2, "p c: No space left\n"),
        (OSError(2, "No such file", "f.csv"), 2, "p c: f.csv: No such file\n"),
        (OSError("odd"), 2, "p c: odd\n"),
    ],
)
def test_what_ends_a_command_is_one_line(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_arguments: argparse.Namespace) -> int:
        raise error

    parser = argparse.ArgumentParser(prog="p")
    parser.add_argument("command")
    parser.set_defaults(run=run)
    assert execute(parser, ["c"]) == code
    assert capsys.readouterr() == ("", said)


def test_a_null_character_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "a\0" + "b" * 100]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rpnb: an argument has a null character: 'a\\x00bbb")
    assert said.endswith("b…'\n")


if __name__ == "__main__":
    RECORD.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
