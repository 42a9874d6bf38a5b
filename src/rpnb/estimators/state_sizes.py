"""Upper bounds of the sizes of states, from parameters that nothing has checked yet.

They count the numbers in a state's arrays, before there is a state. A service refuses
by them what it could not hold.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from rpnb._core import boosted
from rpnb.core.columns.categories import GROUPS, MOST_COLUMNS, MOST_INDICATORS

#: Returns a parameter by name; by default the estimator's default, else the second.
Parameter = Callable[[str, float], float]
#: Returns how many numbers a state holds, for p features and a number of classes.
Size = Callable[[Mapping[str, Any], Parameter, int, int], float]

# Numbers per feature of a tree: at least this many leaves, and values per class.
_LEAVES = 1_000
_PER_CLASS = 25


def of_projections(
    _given: Mapping[str, Any], number: Parameter, p: int, classes: int
) -> float:
    """Return the size of RPNB: the projections, and the moments of each class."""
    q = number("n_components", max(int(2 * np.log2(max(p, 2))), 1))
    return number("n_estimators", 0) * q * (p + 20 + 2.0 * classes)


def of_pool(given: Mapping[str, Any], number: Parameter, p: int, classes: int) -> float:
    """Return the size of Pooled without `rows_of_pool`: projections, windows, trees."""
    D = number("n_projections", 0)
    kept = _columns_of_pool(given, p)
    # Two matrices of the projections, and the rows of two windows.
    rows = (D + 2.0 * number("window", 4000) + 20.0 * kept) * kept
    trees = 40_000.0 * min(classes, 25)
    return 3.0 * D * D + rows + trees + 2.0 * classes * (D + kept)


def rows_of_pool(
    given: Mapping[str, Any], _number: Parameter, p: int, classes: int
) -> float:
    """Return the size of the rows that boosted trees keep, most of which never change.

    Each takes bytes: a bin of each feature, a leaf of each tree, its label and weight,
    and four of each margin. As many rows again may arrive while trees grow.
    """
    kept = _columns_of_pool(given, p)
    margins = boosted.margins_for(min(classes, boosted.MOST_CLASSES))
    rows = 2.0 * boosted.rows_kept(kept, margins)
    raw = 2.0**20  # values that are not bins yet, of four bytes each
    return rows * (kept + boosted.MOST_TREES + 5 + 4 * margins) / 8 + raw


def _columns_of_pool(given: Mapping[str, Any], p: int) -> int:
    """Return the number of columns that members read."""
    named = given.get("categorical_features")
    if isinstance(named, list):  # indicators of their categories
        p += min(MOST_INDICATORS * len(named), MOST_COLUMNS + GROUPS * len(named))
    return min(p, 4096)


def of_trees(
    _given: Mapping[str, Any], number: Parameter, p: int, classes: int
) -> float:
    """Return the size of an ensemble of trees."""
    each = max(_LEAVES, _PER_CLASS * classes)
    return number("n_estimators", 0) * (p + 1) * each


def of_matrices(
    _given: Mapping[str, Any], _number: Parameter, p: int, classes: int
) -> float:
    """Return the size of a matrix per class, and its factor."""
    return 2.0 * classes * p * p


def of_one_matrix(
    _given: Mapping[str, Any], _number: Parameter, p: int, classes: int
) -> float:
    """Return the size of one matrix, and a vector per class."""
    return float(p) * p + classes * p


def of_vectors(
    _given: Mapping[str, Any], _number: Parameter, p: int, classes: int
) -> float:
    """Return the size of two vectors per class."""
    return 2.0 * classes * p


def parameter(estimator: type, given: Mapping[str, Any]) -> Parameter:
    """Return a function that reads given parameters of an estimator.

    What is not a positive number is read as the default, since learning will refuse it.
    """

    def number(name: str, otherwise: float) -> float:
        value: Any
        for value in (given.get(name), _defaults(estimator)[name]):
            if type(value) in (int, float) and value > 0:
                return float(value)
        return otherwise

    return number


@cache
def _defaults(estimator: type) -> Mapping[str, Any]:
    """Return the default values of an estimator's parameters."""
    parameters = inspect.signature(estimator).parameters
    return {name: each.default for name, each in parameters.items()}
