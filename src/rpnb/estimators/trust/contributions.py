"""The largest contributions to a score or to importance, in the order of charts.

What `rpnb.estimators.trust.plots` draws by matplotlib, and `rpnb.report` as SVG.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, final, overload

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray


@final
class NumberedNames(Sequence[str]):
    """The names x1, x2, … of p unnamed features, created on demand.

    >>> names = NumberedNames(10**9)
    >>> names[0], names[-1], names[2:4]
    ('x1', 'x1000000000', ['x3', 'x4'])
    """

    def __init__(self, p: int) -> None:
        self._places = range(1, p + 1)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [f"x{i}" for i in self._places[place]]
        return f"x{self._places[place]}"

    def __repr__(self) -> str:
        return f"NumberedNames({len(self)})"


class Contributions(NamedTuple):
    """The largest of some numbers, by name, the largest first.

    The last entry is the sum of all others.
    """

    names: tuple[str, ...]
    values: FloatArray
    rest: int = 0
    """how many numbers the last entry stands for; 0 if there is no such entry"""


class Waterfall(NamedTuple):
    """Steps from the score of the background to the score of a sample.

    Attributes
    ----------
    names : tuple of str
        Names of the steps: features, the most important first, then all others.
    values : array of shape (n_steps,)
        What each step adds to the score.
    before : array of shape (n_steps,)
        Score before each step.
    base : float
        Score of the background, where the first step begins.
    score : float
        Score of the sample, where the last step ends.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rpnb import RPNBClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RPNBClassifier(random_state=0).fit(X, y)
    >>> steps = model.explain(X[:1]).waterfall(top=2)
    >>> len(steps.names), steps.names[-1]
    (3, '2 others')
    """

    names: tuple[str, ...]
    values: FloatArray
    before: FloatArray
    base: float
    score: float


def score_text(value: float, *, signed: bool = False) -> str:
    """Return a score with three digits, or as a whole number.

    >>> score_text(-0.01234), score_text(3521.4, signed=True), score_text(0.5)
    ('−0.0123', '+3,521', '0.5')
    """
    digits = ",.0f" if abs(value) >= 1000.0 else ".3g"
    return format(value, ("+" if signed else "") + digits).replace(
        "-", "\N{MINUS SIGN}"
    )


def largest(
    values: FloatArray, names: Sequence[Any] | NDArray[Any], top: int
) -> Contributions:
    """Return the `top` numbers with the largest absolute value, and all others as one.

    >>> largest(np.array([1.0, -3.0, 2.0, 0.5]), ["a", "b", "c", "d"], 2).names
    ('b', 'c', '2 others')
    """
    order = np.argsort(-np.abs(values), kind="stable")
    if len(order) <= top + 1:  # a single other feature is shown by name
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
