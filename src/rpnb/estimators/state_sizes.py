"""Upper bounds of the sizes of states, from parameters that nothing has checked yet.

They count the numbers in a state's arrays, before there is a state. A service refuses
by them what it could not hold.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

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
    """Return the size of Pooled: its projections, windows of rows, and trees."""
    D = number("n_projections", 0)
    named = given.get("categorical_features")
    if isinstance(named, list):  # indicators of their categories
        p += min(MOST_INDICATORS * len(named), MOST_COLUMNS + GROUPS * len(named))
    kept = min(p, 4096)
    # Two matrices of the projections, and the rows of two windows.
    rows = (D + 2.0 * number("window", 4000) + 20.0 * kept) * kept
    trees = 40_000.0 * min(classes, 25)
    return 3.0 * D * D + rows + trees + 2.0 * classes * (D + kept)


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
