"""The interface of the pool's members: a state of arrays, and functions on it.

A member is a module. Every member learns every labelled row and none depends on a
prediction, so members are independent of each other and of the pool: each processes a
block of rows alone and writes the log scores of every row as they are before the row is
learned. Then the pool combines the scores, row by row.

A member's state is a tuple of named NumPy arrays and nothing else: a number is an array
of one element. It is the member's whole memory; its size does not depend on the number
of rows learned, and its shapes follow from (p, M) and the settings. Copying, saving,
comparing and measuring states therefore works alike for all members, by the functions
below. Kernels update the arrays in place. Boosted trees, which grow with the rows up to
a limit, return copies of their memory as such arrays.

Rules for every member:

- Results depend only on the rows learned and their order, to the bit: not on how the
  stream is divided into calls, nor on rows that were only scored in between. Periodic
  work ("every 64 rows") is scheduled by a counter of labelled rows in the state. Sums
  have a fixed order; no BLAS, no LAPACK.
- A class is *active* once it was declared or one of its rows was learned. A class that
  is not active changes no bit of anything else; its own score is ignored, and may be
  any number or NaN. The frequencies used for smoothing are
  π_c = (n_c + ½)/(Σn + M'/2) with M' the number of active classes.
- Scores are natural logarithms up to a constant common to all classes, finite for all
  active classes. Before the first row the score is log π_c.
- A row of weight w counts as w equal rows where that has a meaning, else as one row.
- Random numbers are functions of the seed and of counters in the state (random.h), so
  that a restored state continues as the original would.
- Missing values are NaN in `raw`, and 0, the mean, in everything derived from it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rpnb._core.pooled import Shape as Shape  # members import it from here
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray

State: TypeAlias = Any  # a record of arrays, of a different type in each member
Arrays: TypeAlias = Iterable[NDArray[Any]]
Record = TypeVar("Record", bound=Arrays)


class MemberRows(NamedTuple):
    """A block of n rows in the forms that members read."""

    raw: FloatArray
    """(n, p) as given, NaN where missing"""
    z: SingleArray
    """(n, p) scaled and clipped, 0 where missing"""
    low: SingleArray
    """(n, d) z, or a random projection of it to d = 32 dimensions if p > 32"""
    phi: SingleArray
    """(n, E) rectified random projections; features.h lists the columns"""


class Member(Protocol):
    """The functions of a member's module."""

    OUTPUTS: tuple[str, ...]
    """Names of the member's scores, one or more."""
    MERGEABLE: bool
    """Whether `merge` gives what one state would have learned from all rows."""
    USES_SCALE: bool
    """Whether it reads anything but `raw`, and so restarts when the scale changes."""
    SUMS: tuple[str, ...]
    """Of a mergeable member, the arrays that `merge` adds; empty if it reads labels
    only."""

    def begin(self, shape: Shape, active: BoolArray, seed: int) -> State:
        """Return the initial state, with the classes in `active` (M,) active."""
        ...

    def grow_classes(self, state: State, source: IntArray, active: BoolArray) -> State:
        """Return a state whose class m is class source[m] of `state`, or new if −1.

        `active` (M,) marks the active classes of the new state. `state` is not changed,
        and the result shares no array with it.
        """
        ...

    def score_rows(self, state: State, rows: MemberRows, scores: FloatArray) -> None:
        """Write the scores of each row to `scores` (n, outputs, M) without learning."""
        ...

    def learn_rows(
        self,
        state: State,
        rows: MemberRows,
        y: IntArray,
        weight: FloatArray,
        scores: FloatArray,
    ) -> None:
        """Score each row, then learn it, in order.

        `scores` (n, outputs, M) gets the scores of each row before it is learned. `y`
        (n,) are class numbers, −1 for a row that is only scored. `weight` (n,) is
        positive. With `scores` of shape (0, outputs, M) none are written: this is for
        learning the first rows again, all of them labelled, when the scale changes.
        What is derived from sums may then be computed once, at the end.
        """
        ...

    def merge(self, states: list[State]) -> State:
        """Return a state with what several states of equal shape have learned."""
        ...

    def sum_rows(
        self, state: State, rows: MemberRows, y: IntArray, weight: FloatArray
    ) -> State:
        """Return a state whose `SUMS` are those of these labelled rows only.

        Only for members with `SUMS`. `state`, into which the result may be merged, is
        not changed.
        """
        ...


def score_rows(state: State, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row without learning."""
    state.score_rows(*rows, scores)


def learn_rows(
    state: State, rows: MemberRows, y: IntArray, weight: FloatArray, scores: FloatArray
) -> None:
    """Score each row, then learn it, in order."""
    state.learn_rows(*rows, y, weight, scores)


def no_rows(n: int) -> MemberRows:
    """Return n rows without columns, for members that read labels only."""
    nothing = np.zeros((n, 0), np.float32)
    return MemberRows(np.zeros((n, 0)), nothing, nothing, nothing)


def copy_state(state: Record) -> Record:
    """Return an independent copy of a state."""
    kind: Any = type(state)
    # Boosted trees have a method: building them from arrays takes longer.
    copy: Record = state.copy() if hasattr(state, "copy") else kind(*state)
    return copy


def without_sums(state: Record, names: tuple[str, ...]) -> Record:
    """Return a copy of a state whose arrays `names` are zero."""
    copy: Any = copy_state(state)
    for name in names:
        getattr(copy, name)[...] = 0
    found: Record = copy
    return found


def same_state(a: Arrays, b: Arrays) -> bool:
    """Return whether two states are equal to the bit."""
    return all(
        one.dtype == two.dtype
        and one.shape == two.shape
        and one.tobytes() == two.tobytes()
        for one, two in zip(a, b, strict=True)
    )


def padded(size: int, to: int = 16) -> int:
    """Round a size up to a multiple of `to`."""
    return -(-size // to) * to


def signed_parts(
    states: list[Record], base: Record | None
) -> list[tuple[float, Record]]:
    """Return what `merge` adds to the first of some states, each with its sign.

    That is every other state, less `base` once for each: what all of them learned
    before they were copied from `base` is then counted once.
    """
    parts = [(1.0, state) for state in states[1:]]
    if base is not None:
        parts += [(-1.0, base)] * (len(states) - 1)
    return parts


def new_numbers(source: IntArray, size: int, fill: int) -> IntArray:
    """Return the new number of each old class (size,), `fill` where it has none.

    It is the inverse of `source`, whose entry m is the old number of class m. With
    `size` one more than there are classes, the last entry translates −1, no class.
    """
    numbers = np.full(size, fill, np.int64)
    known = np.flatnonzero(source >= 0)
    numbers[source[known]] = known
    return numbers


def arrange(values: NDArray[Any], source: IntArray, fill: Any) -> NDArray[Any]:
    """Return an array whose entry m is entry source[m] of `values`, `fill` if −1."""
    arranged = np.full((source.shape[0], *values.shape[1:]), fill, values.dtype)
    known = source >= 0
    arranged[known] = values[source[known]]
    return arranged
