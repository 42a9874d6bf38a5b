"""Checking the values of features that have names: of one observation, of a column."""

from collections.abc import Hashable
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rpnb._core.streams import first_bad
from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.rows import why_bad

# Types known to be numbers, for which no further question is asked.
_PLAIN = {float, int, bool, np.float64}


def check_values(
    names: tuple[Hashable, ...], values: tuple[Any, ...], learner: str, *, missing: bool
) -> FloatArray:
    """Return the values of one observation as numbers, or name the one that is none.

    `learner` is the name of the class that will get them, and `missing` says whether
    it takes NaN.
    """
    if not _PLAIN.issuperset(map(type, values)):
        for name, value in zip(names, values, strict=True):
            if not isinstance(value, Real | np.bool_):
                raise TypeError(
                    f"the feature {name!r} must be a number, got {value!r} of type "
                    f"{type(value).__name__}; encode categories and text first"
                )
    try:
        row = np.array(values, np.float64)
    except OverflowError:
        row = np.array([_clipped(value) for value in values])
    bad = first_bad(row, missing)
    if bad >= 0:
        _refuse(names[bad], float(row[bad]), "", learner)
    return row


def check_column(
    name: Hashable, values: NDArray[Any], learner: str, *, missing: bool
) -> FloatArray:
    """Return a column as numbers, or raise an error that names a bad value."""
    if values.dtype.kind not in "fiub":
        raise TypeError(
            f"the feature {name!r} must hold numbers, got a column of dtype "
            f"{values.dtype}; encode categories and text first"
        )
    column = np.array(values, np.float64)
    bad = first_bad(column, missing)
    if bad >= 0:
        _refuse(name, float(column[bad]), f" in row {bad}", learner)
    return column


def _clipped(value: Any) -> float:
    """Return a number as a float, infinity if it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def _refuse(name: Hashable, value: float, where: str, learner: str) -> NoReturn:
    """Raise ValueError for a bad value of this feature."""
    what, hint = why_bad(value)
    raise ValueError(
        f"the feature {name!r} is {what}{where}; {learner} takes finite numbers "
        f"only: {hint}"
    )
