"""Standard streams that were closed, and encoders of crafted model files."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rpnb
from rpnb.cli import main
from rpnb.estimators.protocol import saved_model
from rpnb.estimators.saving.estimator import write_estimator
from rpnb.estimators.saving.files import read_attached

ROWS = "a,b,colour,kind\n" + "".join(
    f"{i % 7},{i % 3}.5,{'red' if i % 2 else 'blue'},{'p' if i % 5 < 2 else 'q'}\n"
    for i in range(40)
)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell of POSIX")
@pytest.mark.parametrize(
    ("words", "closed"),
    [
        ("run {} --target kind", ">&-"),
        ("run {} --target kind", "2>&- <&-"),
        ("datasets", ">&- 2>&- <&-"),
    ],
)
def test_closed_streams_give_no_traceback(
    tmp_path: Path, words: str, closed: str
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(ROWS)
    code = "import sys; from rpnb.cli import main; sys.exit(main())"
    done = subprocess.run(  # noqa: S602 - our own words
        f"{sys.executable} -c '{code}' {words.format(file)} {closed}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert "Traceback" not in done.stdout + done.stderr
    assert file.read_text() == ROWS


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
def test_a_crafted_encoder_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, Any],
    command: str,
) -> None:
    file, model = tmp_path / "rows.csv", tmp_path / "model.rpnb"
    file.write_text(ROWS)
    words = [str(file), "--target", "kind", "--quiet", "--model", "GaussianNB"]
    assert main(["run", *words, "--save", str(model)]) == 0
    held = read_attached(model, "encoder")
    saved = saved_model(rpnb.load(model))
    write_estimator(model, saved, attached={"encoder": {**held, **change}})
    capsys.readouterr()
    more = ["--target", "kind", "--quiet"] if command == "run" else []
    code = main([command, str(file), *more, "--load", str(model)])
    said = capsys.readouterr()
    if command == "run" or code != 0:
        assert code == 2
        assert len(said.err.splitlines()) == 1
