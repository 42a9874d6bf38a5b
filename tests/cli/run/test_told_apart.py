"""`rpnb compare` prints which learners the best one is significantly better than."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rpnb import baselines
from rpnb.cli import main
from rpnb.evaluate import prequential

LEARNERS = ["GaussianNB", "PA", "PA1"]


@pytest.fixture
def table(tmp_path: Path) -> tuple[Path, np.ndarray, np.ndarray]:
    """Rows in rings, which a linear learner cannot separate."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2)).round(6)
    y = np.where((X**2).sum(axis=1) > 1.5, "out", "in")
    lines = [f"{a!r},{b!r},{c}" for (a, b), c in zip(X.tolist(), y, strict=True)]
    path = tmp_path / "rings.csv"
    path.write_text("\n".join(["a,b,kind", *lines]))
    return path, X, y


def test_intervals_equal_those_of_prequential_for_all_pairs(
    table: tuple[Path, np.ndarray, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    path, X, y = table
    words = ["compare", str(path), "--target", "kind", "--learners", *LEARNERS]
    assert main([*words, "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)["differences"]
    models = {name: getattr(baselines, name)() for name in LEARNERS}
    result = prequential(models, X, y, metrics=["error"])
    assert [each["other"] for each in found] == LEARNERS[1:]
    for each in found:
        expected = result.difference(
            "GaussianNB", each["other"], confidence=1 - 0.05 / 3
        )
        assert each["best"] == expected.better == "GaussianNB"
        for name, values in (
            ("error", expected.mean),
            ("low", expected.low),
            ("high", expected.high),
        ):
            assert_allclose(each[name], values[-1], rtol=1e-9)
    assert main([*words, "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "Lowest error: GaussianNB. At 95 % confidence: lower than PA, PA1." in said


def test_similar_learners_do_not_differ_significantly(
    table: tuple[Path, np.ndarray, np.ndarray], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", str(table[0]), "--target", "kind", "--quiet"]
    assert main([*words, "--learners", "PA1", "PA2"]) == 0
    assert "not significantly different from PA" in capsys.readouterr().out
