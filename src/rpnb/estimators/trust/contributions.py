"""The largest contributions to a score or to importance, in the order of charts.

What `rpnb.estimators.trust.plots` draws by matplotlib, and `rpnb.report` as SVG.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray


class Contributions(NamedTuple):
    """The largest of some numbers, by name, the largest first.

    All others are one entry more, the last, with their sum.
    """

    names: tuple[str, ...]
    values: FloatArray
    rest: int = 0
    """how many numbers the last entry stands for; 0 if there is no such entry"""


class Waterfall(NamedTuple):
    """What leads from the score of the background to that of a row, step by step."""

    names: tuple[str, ...]
    """of the steps: features, the most important first, and then all others"""
    values: FloatArray
    """what each adds to the score"""
    before: FloatArray
    """the score before each step"""
    base: float
    """the score of the background, where the first step begins"""
    score: float
    """the score of the row, where the last step ends"""


def largest(
    values: FloatArray, names: Sequence[Any] | NDArray[Any], top: int
) -> Contributions:
    """Return the `top` numbers with the largest absolute value, and all others as one.

    >>> largest(np.array([1.0, -3.0, 2.0, 0.5]), ["a", "b", "c", "d"], 2).names
    ('b', 'c', '2 others')
    """
    order = np.argsort(-np.abs(values), kind="stable")
    if len(order) <= top + 1:  # one other has room for its own name
        top = len(order)
    chosen, rest = order[:top], order[top:]
    shown = tuple(str(names[i]) for i in chosen)
    if len(rest) == 0:
        return Contributions(shown, values[chosen])
    sums = np.append(values[chosen], values[rest].sum())
    return Contributions((*shown, f"{len(rest):,} others"), sums, len(rest))


def waterfall(
    values: FloatArray, names: Sequence[Any] | NDArray[Any], base: float, top: int
) -> Waterfall:
    """Return the steps from a base to the base plus all values, the largest first."""
    steps = largest(values, names, top)
    ends = base + np.cumsum(steps.values)
    before = np.concatenate(([base], ends[:-1]))
    score = float(ends[-1]) if len(ends) else base
    return Waterfall(steps.names, steps.values, before, base, score)
