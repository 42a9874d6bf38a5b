"""A command that cannot be carried out ends with one line that names the cause."""

import argparse
import shlex
from pathlib import Path
from typing import Any

import pytest

import rpnb
from rpnb.cli import CommandError, execute, main
from rpnb.estimators.protocol import saved_model
from rpnb.estimators.saving.estimator import write_estimator
from rpnb.estimators.saving.files import read_attached

ROWS = "x,w,y\n1,u,0\n2,v,1\n3,u,0\n4,v,1\n"
#: Commands, and words that their last line must have.
REFUSED = {
    "run a.csv": ["a.csv", "--target", "x, w, y"],
    "run a.csv --target z": ["a.csv", "no column 'z'", "x, w, y"],
    "run none.csv --target y": ["none.csv", "no such file"],
    "run nothing": ["nothing", "no such file"],
    "run a.csv --target y --model Nothing": ["'Nothing'", "NoChange", "Pooled, RPNB"],
    "run a.csv --target y --model PA --n-estimators 3": ["--n-estimators", "RPNB"],
    "run a.csv --target y --batch-size 0": ["--batch-size", "RPNB", "--param"],
    "run a.csv --target y --param PA.C=1": [
        "--param PA.C=1",
        "PA is not among the learners",
    ],
    "run a.csv --target y --param C": ["--param", "name=value", "'C'"],
    "run a.csv --target y --delimiter ab": [
        "--delimiter",
        "one ASCII character",
        "'ab'",
    ],
    "run a.csv --target y --encoding nothing": ["--encoding", "'nothing'"],
    "run a.csv --target y --decimal q": ["--decimal", "comma", "'q'"],
    "run a.csv --target y --thousands . --decimal .": ["--thousands", "--decimal"],
    "run a.csv --target y --classes a b": ["--classes", "whole numbers", "'a'"],
    "run a.csv --target y --window 0": ["--window", "at least 1", "got 0"],
    "run a.csv --target y --shuffle -1": ["--shuffle", "a whole number", "'-1'"],
    "run a.csv --target y --load none.rpnb": ["none.rpnb", "No such file"],
    "run a.csv --target y --drop y": ["a.csv", "'y' cannot be dropped"],
    "run a.csv --target y --max-classes 1": ["a.csv, row 2, column y", "--max-classes"],
    "run a.csv --target y --param C=1 --model PA": ["PA", "'C'", "form, libol"],
    "run a.csv --target y --param C=0 --model PA1": ["PA1: C must be", "got 0"],
    "run a.csv --target y --predictions a.csv": ["a.csv is an input file"],
    "run a.csv --target y --save m --report m": ["m is used twice"],
    "run Iris --save m.rpnb": ["Iris", "--save", "file"],
    "compare a.csv --target y --learners PA Nothing": ["'Nothing'", "NoChange"],
    "compare a.csv --target y PA": ["'PA'"],
    "run a.csv --target y --compare PA AROW --save m.rpnb": ["--save", "several"],
    "predict a.csv --load none.rpnb": ["none.rpnb", "No such file"],
    "predict a.csv --load a.csv": ["a.csv", "not a complete rpnb model file"],
    "learners Nothing": ["'Nothing'", "NoChange"],
    "paper --methods Nothing": ["RPNB, AROW", "'Nothing'", "NoChange"],
    "paper --datasets Nothing": ["'Nothing'", "rpnb datasets"],
    "paper --permutations 0": ["--permutations", "at least 1", "got 0"],
    "datasets extra": ["'extra'"],
}


@pytest.mark.parametrize("line", REFUSED)
def test_one_line_names_the_cause(
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(ROWS)
    assert main(shlex.split(line)) == 2
    out, err = capsys.readouterr()
    said = err.strip().splitlines()[-1]
    command = line.split()[0]
    assert said.startswith(f"rpnb {command}: ")
    for words in REFUSED[line]:
        assert words in said
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (CommandError("why"), 2, "p c: why\n"),
        (KeyboardInterrupt(), 130, "p c: stopped by Ctrl-C\n"),
        (BrokenPipeError(), 1, ""),
        (MemoryError("10 GB"), 2, "p c: not enough memory: 10 GB\n"),
        (OSError(28, "No space left"), 2, "p c: No space left\n"),
        (OSError(2, "No such file", "f.csv"), 2, "p c: f.csv: No such file\n"),
        (OSError("odd"), 2, "p c: odd\n"),
    ],
)
def test_errors_of_a_command_are_one_line(
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
    assert said.startswith("rpnb: an argument contains a null character: 'a\\x00bbb")
    assert said.endswith("b…'\n")


# Model files with an encoder that no run has written

COLOURED = "a,b,colour,kind\n" + "".join(
    f"{i % 7},{i % 3}.5,{'red' if i % 2 else 'blue'},{'p' if i % 5 < 2 else 'q'}\n"
    for i in range(40)
)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": {"a": "text", "b": "number", "colour": "category"}},
        {"columns": {"a": ["number"], "b": "number", "colour": "category"}},
        {"columns": None},
        {"columns": []},
        {"categories": {"colour": 5}},
        {"counts": [0, 0]},
        {"sums": "x"},
        {"labels": []},
        {"notations": {"a": []}},
        {"missing": ["keep"]},
        {"target": 7},
    ],
)
@pytest.mark.parametrize("command", ["run", "predict"])
def test_a_crafted_encoder_is_refused_in_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
    command: str,
) -> None:
    file, model = tmp_path / "rows.csv", tmp_path / "model.rpnb"
    file.write_text(COLOURED)
    words = [str(file), "--target", "kind", "--quiet", "--model", "GaussianNB"]
    assert main(["run", *words, "--save", str(model)]) == 0
    held = read_attached(model, "encoder")
    saved = saved_model(rpnb.load(model))
    write_estimator(model, saved, attached={"encoder": {**held, **change}})
    capsys.readouterr()
    more = ["--target", "kind", "--quiet"] if command == "run" else []
    code = main([command, str(file), *more, "--load", str(model)])
    said = capsys.readouterr()
    if command == "predict" and "target" in change:  # which predicting does not need
        assert code == 0
        return
    assert code == 2
    assert len(said.err.splitlines()) == 1
