"""Costs of wrong predictions, and the predictions with the lowest expected cost."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_real

#: Costs of predictions: by true and predicted class, or by true class alone.
Costs: TypeAlias = ArrayLike | Mapping[Any, float]

# Sums of larger ones might overflow.
_LARGEST = 1e100


def check_costs(costs: Any, classes: LabelArray) -> FloatArray:
    """Return the costs (M, M) of M classes as an array, or raise an error.

    Row i and column j have the cost of predicting class j where class i is true. A
    mapping holds the cost of a mistake by true class, 1 by default.
    """
    names = classes.tolist()
    M = len(names)
    if isinstance(costs, Mapping):
        unknown = [label for label in costs if label not in names]
        if unknown:
            raise ValueError(
                f"costs names the class {unknown[0]!r}, but the classes are "
                f"{_listed(names)}"
            )
        each = [check_real(f"costs of {c!r}", costs.get(c, 1.0), 0.0) for c in names]
        costs = np.array(each)[:, None] * (1.0 - np.eye(M))
    try:
        found = np.array(costs, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"costs must be a matrix of real numbers: {error}") from error
    if found.shape != (M, M):
        raise ValueError(
            f"costs must have a row and a column for each of the {M} classes "
            f"{_listed(names)}, in this order, got shape {found.shape}"
        )
    bad = ~(np.abs(found) <= _LARGEST)
    if bad.any():
        i, j = np.unravel_index(int(np.argmax(bad)), bad.shape)
        raise ValueError(
            f"costs must be numbers of at most ±{_LARGEST:.0e}, got "
            f"{float(found[i, j])!r} for true class {names[i]!r} and prediction "
            f"{names[j]!r}"
        )
    return found


def least_costly(P: FloatArray, costs: FloatArray) -> IntArray:
    r"""Return the class number with the lowest expected cost for each row.

    $$\arg\min_j \sum_i P_i C_{ij}$$
    (Elkan, "The foundations of cost-sensitive learning", IJCAI 2001, equation 1), the
    first of equals. The result of a row of P (n, M) does not depend on other rows.
    """
    expected = np.zeros(P.shape)
    for i, each in enumerate(costs):  # a product of matrices may depend on n
        expected += P[:, i : i + 1] * each
    return expected.argmin(axis=1)


def _listed(names: list[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return f"{shown}, …" if len(names) > 8 else shown
