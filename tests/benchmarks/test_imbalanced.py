"""The benchmark of imbalanced classes: its sets, weights, metrics and tables."""

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import imbalanced


def test_sets_without_files_have_the_classes_they_should_have() -> None:
    for name, (_, kind, load) in imbalanced.SETS.items():
        if kind:
            continue
        X, y = load(Path())
        counts = np.bincount(y)
        assert X.shape[0] == y.shape[0] == counts.sum()
        assert counts[0] > 0.8 * counts.sum(), name
        assert counts.min() >= 10, name


def test_at_least_ten_sets_and_some_held_out() -> None:
    held_out = [name for name, (held, _, _) in imbalanced.SETS.items() if held]
    assert len(imbalanced.SETS) - len(held_out) >= 10
    assert len(held_out) >= 5


def test_a_class_is_thinned_to_its_share() -> None:
    y = np.repeat([0, 1], [900, 600])
    X, thin = imbalanced.thinned(y[:, None].astype(float), y, 0.1)
    assert_array_equal(X[:, 0], thin)
    assert np.bincount(thin).tolist() == [900, 100]


def test_balanced_weights_give_all_classes_the_same() -> None:
    y = np.repeat([0, 1, 2], [60, 30, 10])
    assert_allclose(imbalanced.balanced(y) * [60, 30, 10], 100.0 / 3.0)


def test_a_perfect_ranking_measures_one() -> None:
    y = np.array([0, 0, 0, 1])
    P = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    found = imbalanced.measures(y, P, P.argmax(axis=1), y, P[::-1])
    assert found["average_precision"] == found["auc"] == 1.0
    assert found["balanced_accuracy"] == 0.5
    assert found["online_auc"] == 0.0


def test_tables_have_means_over_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    rows = [
        {"set": "letter A", "held_out": False, "seed": seed, "positives": 9}
        | {"learner": "pool, plain", **dict.fromkeys(imbalanced.METRICS, value)}
        for seed, value in enumerate((0.25, 0.5))
    ]
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    imbalanced.show(argparse.Namespace(results=results, each=True))
    said = capsys.readouterr().out
    assert said.count("0.375") == 2 * len(imbalanced.METRICS)
    assert "| letter A | 9, 9 | 0.25, 0.50 |" in said
    assert "letter A (9)" in said
