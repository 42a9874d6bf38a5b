"""Checks of the values of named features: of one observation, or of a column."""

from collections.abc import Callable, Hashable
from numbers import Real
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rpnb._core.streams import first_bad
from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.rows import why_bad

# Types that are numbers without further checks.
_PLAIN = {float, int, bool, np.float64}


def check_values(
    names: tuple[Hashable, ...], values: tuple[Any, ...], learner: str, *, missing: bool
) -> FloatArray:
    """Return the values of one observation as numbers, or raise naming a bad one.

    `learner` is the name of the class that receives them, `missing` whether it accepts
    NaN.
    """
    if not _PLAIN.issuperset(map(type, values)):
        for name, value in zip(names, values, strict=True):
            if not isinstance(value, Real | np.bool_):
                cure = "encode categories and text first"
                if value is None:
                    cure = "leave a missing feature out"
                raise TypeError(
                    f"the feature {name!r} must be a number, got {value!r} of type "
                    f"{type(value).__name__}; {cure}"
                )
    try:
        row = np.array(values, np.float64)
    except OverflowError:
        row = np.array([_clipped(value) for value in values])
    bad = first_bad(row, missing)
    if bad >= 0:
        _refuse(names[bad], float(row[bad]), "", learner)
    return row


def values_of(names: tuple[Hashable, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that extracts the values of these names from a mapping.

    Without names it returns one zero, the value of an absent feature.
    """
    if len(names) > 1:
        return itemgetter(*names)
    return _no_values if not names else _OneValue(names[0])


def _no_values(_x: Any) -> tuple[Any, ...]:
    # The value of an absent feature, which has no effect.
    return (0.0,)


class _OneValue:
    """An itemgetter that returns a tuple for a single name as well."""

    def __init__(self, name: Hashable) -> None:
        self._name = name

    def __call__(self, x: Any) -> tuple[Any, ...]:
        return (x[self._name],)


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
