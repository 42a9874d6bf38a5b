"""`rpnb run --delay` and `--budget` evaluate as `prequential` does."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb.baselines import GaussianNB
from rpnb.cli import main
from rpnb.evaluate import prequential

N = 700
RNG = np.random.default_rng(3)
Y = RNG.integers(0, 2, N)
X = (RNG.normal(size=(N, 2)) + 1.5 * Y[:, None]).round(3)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    lines = [f"{a},{b},{y}" for (a, b), y in zip(X.tolist(), Y.tolist(), strict=True)]
    path.write_text("\n".join(["a,b,y", *lines]) + "\n")
    return path


def learner(
    file: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> dict[str, Any]:
    options = ["--target", "y", "--learners", "GaussianNB", "RPNB", "--json", "--quiet"]
    assert main(["compare", str(file), *options, *words]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = [each for each in found["learners"] if each["name"] == "GaussianNB"]
    return {**one, "advice": found["advice"]}


@pytest.mark.parametrize("budget", [None, 0.2])
@pytest.mark.parametrize("delay", [None, 40, 10_000])
def test_errors_are_those_of_prequential(
    file: Path, capsys: pytest.CaptureFixture[str], budget: float | None, delay: Any
) -> None:
    words = [] if budget is None else ["--budget", str(budget)]
    words += [] if delay is None else ["--delay", str(delay)]
    whole = learner(file, capsys, *words)
    parts = learner(file, capsys, *words, "--chunk-rows", "64")
    options: dict[str, Any] = {"metrics": ["error"], "budget": budget, "delay": delay}
    result = prequential(GaussianNB(), X, Y, **options)
    expected = result["GaussianNB"]
    assert whole["error"] == parts["error"] == expected.last("error")
    assert whole["updates"] == parts["updates"] == expected.updates[-1]
    assert whole["advice"] == parts["advice"]
    said = " ".join(whole["advice"])
    assert ("rows after its row" in said) == (delay is not None)
    if expected.asked is not None:
        assert f"learned {expected.asked.labels} labels that it asked for" in said
        assert f"{expected.asked.error:.4f} ±" in said


def test_late_labels_are_in_the_report_and_in_the_saved_model(
    file: Path, tmp_path: Path
) -> None:
    page, model = tmp_path / "page.html", tmp_path / "model.rpnb"
    words = ["run", str(file), "--target", "y", "--model", "GaussianNB", "--quiet"]
    files = ["--report", str(page), "--save", str(model)]
    assert main([*words, "--delay", "100", *files]) == 0
    assert "Before labels arrived" in page.read_text("utf-8")
    assert GaussianNB.load(model).n_samples_seen_ == N  # those at the end, too


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--delay", "0"], "at least 1"),
        (["--budget", "0"], "above 0 and at most 1"),
        (["--budget", "much"], "above 0 and at most 1"),
        (["--delay", "3", "--param", "batch_size=10"], "batch_size=1"),
    ],
)
def test_what_cannot_be_is_refused(
    file: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(file), "--target", "y", "--model", "RPNB", *words]) == 2
    assert said in capsys.readouterr().err
