"""Estimates of the memory and time of learning, made before an event is accepted.

They are upper bounds from the sizes of a learner's arrays, not measurements: numbers in
a state, and arithmetic steps, of which a processor does about 10⁹ per second.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rpnb.core.columns.categories import GROUPS, MOST_COLUMNS, MOST_INDICATORS

_SECOND_ORDER = ("CW", "SCW1", "SCW2", "AROW", "NAROW", "NHERD", "SOP", "IELLIP")
# Numbers per feature of a tree: at least this many leaves, and values per class.
_LEAVES = 1_000
_PER_CLASS = 25


def state_numbers(
    learner: str, parameters: Mapping[str, Any], p: int, classes: int
) -> float:
    """Estimate how many numbers the state of a learner holds."""

    def number(name: str, default: int) -> float:
        value = parameters.get(name)
        usable = type(value) in (int, float) and value > 0  # type: ignore[operator]
        return float(value) if usable else default  # type: ignore[arg-type]

    if learner == "RPNB":
        q = number("n_components", max(int(2 * np.log2(max(p, 2))), 1))
        return number("n_estimators", 200) * q * (p + 20 + 2.0 * classes)
    if learner == "Pooled":
        D = number("n_projections", 512)
        named = parameters.get("categorical_features")
        if isinstance(named, list):  # indicators of their categories
            p += min(MOST_INDICATORS * len(named), MOST_COLUMNS + GROUPS * len(named))
        kept = min(p, 4096)
        window = number("window", 4000)
        # Two matrices of the projections, and the rows of two windows.
        rows = (D + 2.0 * window + 20.0 * kept) * kept
        trees = 40_000.0 * min(classes, 25)
        return 3.0 * D * D + rows + trees + 2.0 * classes * (D + kept)
    if learner in ("OnlineBagging", "OnlineBoosting"):
        each = max(_LEAVES, _PER_CLASS * classes)
        return number("n_estimators", 10) * (p + 1) * each
    if learner == "OnlineBayes":
        return 2.0 * classes * p * p  # a matrix per class, and its factor
    if learner in _SECOND_ORDER:
        return float(p) * p + classes * p
    return 2.0 * classes * p


def row_steps(
    learner: str, parameters: Mapping[str, Any], p: int, classes: int
) -> float:
    """Estimate the steps of learning a row, which changes most of the state."""
    return 1_000.0 + state_numbers(learner, parameters, p, classes)


def class_steps(learner: str, p: int) -> float:
    """Estimate the steps of adding a class, besides those of its row."""
    return float(p) ** 3 if learner == "OnlineBayes" else 0.0
