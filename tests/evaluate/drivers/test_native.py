"""Probabilities of a stream are those of the model before each row is learned."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from estimators.streams import blobs, small
from rpnb import baselines
from rpnb.evaluate.drivers.driver import Probabilities
from rpnb.evaluate.drivers.native import NativeDriver
from rpnb.evaluate.stream_blocks import Block
from rpnb.labels import LabelIndex


def row_by_row(
    model: Any, X: Any, y: Any, classes: Any, of: Probabilities
) -> tuple[list[Any], list[float]]:
    """The same by a plain loop over single rows."""
    labels, probabilities = [], []
    for i in range(len(y)):
        row, p = slice(i, i + 1), float("nan")
        if hasattr(model, "classes_"):
            label = y[i] if of == "truth" else model.predict(X[row])[0]
            known = model.classes_.tolist()
            given = model.predict_proba(X[row])[0]
            p = given[known.index(label)] if label in known else 0.0
        probabilities.append(p)
        labels += model.predict_then_learn(X[row], y[row], classes).tolist()
        classes = None
    return labels, probabilities


MODELS: dict[str, Any] = {
    "uniform prior": small,
    "frequency prior": lambda: small(class_prior="frequency"),
    "given prior": lambda: small(class_prior=[0.2, 0.3, 0.5]),
    "learns all rows": lambda: small(update="all"),
    "GaussianNB": baselines.GaussianNB,
}
CASES: list[tuple[str, Any]] = [(name, [0, 1, 2]) for name in MODELS]
CASES += [(name, None) for name in MODELS if name != "given prior"]


@pytest.mark.parametrize("of", ["truth", "prediction"])
@pytest.mark.parametrize(("name", "classes"), CASES)
def test_probabilities_are_those_of_a_loop_over_single_rows(
    name: str, classes: Any, of: Probabilities
) -> None:
    X, y = blobs(0, n=120)
    X = X + 3.0 * np.eye(4)[y]
    make, index = MODELS[name], LabelIndex()
    driver = NativeDriver(make(), index, of, classes=classes and np.array(classes))
    found = driver.predict_then_learn(Block(0, X, index.coded(y)))
    labels, probabilities = row_by_row(make(), X, y, classes, of)
    late = of == "truth" and classes is None  # there is no prediction for the first row
    assert index.labels_of(found.numbers[late:]) == labels[late:]
    assert found.probability is not None
    assert_allclose(found.probability[1:], probabilities[1:], rtol=1e-12)
    assert np.isnan(found.probability[0]) == (of == "prediction")
