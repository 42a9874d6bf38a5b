"""`--scale`: rows scaled online, by the command line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rpnb import RPNBClassifier
from rpnb.baselines import PA
from rpnb.cli import main
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

X, y = load_wine(return_X_y=True)
ORDER = np.random.default_rng(7).permutation(y.shape[0])
X, y = X[ORDER], y[ORDER]


def write(path: Path, rows: slice) -> Path:
    names = [f"f{j}" for j in range(X.shape[1])]
    lines = [
        ",".join([*map(repr, x), "abc"[k]])
        for x, k in zip(X[rows].tolist(), y[rows], strict=True)
    ]
    path.write_text("\n".join([",".join([*names, "kind"]), *lines]) + "\n")
    return path


@pytest.fixture
def wine(tmp_path: Path) -> Path:
    return write(tmp_path / "wine.csv", slice(None))


def run(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    code = main([*map(str, words), "--json", "--quiet"])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)


def errors(found: Any) -> dict[str, float]:
    return {learner["name"]: learner["error"] for learner in found["learners"]}


def test_wine_is_learned_once_it_is_scaled(
    wine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, list[float]] = {"raw": [], "scaled": []}
    for order in range(8):
        words = ["run", wine, "--target", "kind", "--shuffle", order]
        words += ["--model", "RPNB"]
        raw, scaled = run(capsys, *words), run(capsys, *words, "--scale")
        found["raw"].append(errors(raw)["RPNB"])
        found["scaled"].append(errors(scaled)["RPNB"])
    assert np.mean(found["raw"]) > 0.25
    assert np.mean(found["scaled"]) <= 0.10
    assert (raw["scaled"], scaled["scaled"]) == ([], ["RPNB"])
    (advice,) = raw["advice"]
    assert advice.startswith("RPNB: features differ in spread by more than 1,000")
    assert advice.endswith("Try --scale.")
    assert scaled["advice"] == []


def test_each_learner_but_pooled_is_scaled(
    wine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", wine, "--target", "kind", "--learners", "RPNB", "PA", "Pooled"]
    found = run(capsys, *words, "--scale", "--n-estimators", 7)
    labels = np.array(["a", "b", "c"])[y]
    rpnb = RPNBClassifier(7, scale="running", random_state=0)
    pa = make_stream_pipeline(RunningScaler(), PA())
    for name, model in (("RPNB", rpnb), ("PA", pa)):
        wrong = model.predict_then_learn(X, labels) != labels
        assert errors(found)[name] == pytest.approx(wrong.mean())
    assert found["scaled"] == ["RPNB", "PA"]
    assert main([str(word) for word in words] + ["--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "RPNB, PA: features differ in spread" in shown.replace("\n", " ")


@pytest.mark.parametrize("name", ["RPNB", "PA"])
def test_a_scaled_model_is_saved_and_resumed(
    name: str, wine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write(tmp_path / "first.csv", slice(0, 100))
    rest = write(tmp_path / "rest.csv", slice(100, None))
    whole, parts = (tmp_path / f"{part}.csv" for part in ("whole-out", "parts-out"))
    target = ["--target", "kind", "--no-probabilities"]
    run(
        capsys,
        *("run", wine, *target, "--model", name, "--scale", "--predictions", whole),
    )
    saved = tmp_path / "model.rpnb"
    run(capsys, "run", first, *target, "--model", name, "--scale", "--save", saved)
    found = run(capsys, "run", rest, *target, "--load", saved, "--predictions", parts)
    assert found["learners"][0]["name"] == name
    assert found["scaled"] == [name]

    def predicted(path: Path) -> list[str]:
        return [line.split(",")[2] for line in path.read_text().splitlines()[1:]]

    assert predicted(parts) == predicted(whole)[100:]


def test_a_loaded_model_is_scaled_as_it_was(
    wine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(wine), "--target", "kind", "--load", "m", "--scale"]
    assert main(words) == 2
    assert (
        "cannot be combined with --model, --compare, --scale" in capsys.readouterr().err
    )
