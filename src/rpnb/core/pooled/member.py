"""What a member of the pool is: a state of arrays and a few functions on it.

A member is a module. Every labelled row is learned by every member, and no member looks
at a prediction, so members are independent of each other and of the pool: each runs
over a block of rows by itself and writes the log scores of every row as they are before
the row is learned. Afterwards the pool goes over the scores row by row.

A member's state is a `NamedTuple` of NumPy arrays, and nothing else: a number is an
array of one element. It is all of the member's memory, its size does not depend on the
number of rows learned, and its shapes follow from (p, M) and the settings. Copying,
saving, comparing and measuring states is therefore the same for all members and is done
here. Kernels write into the arrays of a state in place. Boosted trees, which grow with
the rows up to a limit, give copies of what they remember as such arrays.

Rules that every member keeps:

- Results depend on the rows learned and their order alone, to the bit: not on how the
  stream is cut into calls, and not on which rows were only scored in between. Work that
  is due "every 64 rows" is counted in labelled rows since the start, from a counter in
  the state. Sums have a fixed order; no BLAS, no LAPACK.
- A class is *active* once it was declared or one of its rows was learned. The presence
  of a class that is not active changes no bit of anything else; its own score may be
  any number, NaN included, and is ignored. The frequencies used for smoothing are
  π_c = (n_c + ½)/(Σn + M'/2) with M' the number of active classes.
- Scores are natural logarithms up to a constant common to all classes, finite for all
  active classes. A member that knows nothing yet gives log π_c.
- A row's weight w counts as w equal rows where that has a meaning, and else as one row.
- Randomness is a function of the seed and of counters in the state
  (random.h), so that a state that was saved and restored
  goes on as it would have.
- Missing values are NaN in `raw`, and 0, the mean, in everything derived from it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rpnb._core.pooled import Shape as Shape  # members import it from here
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray

State: TypeAlias = Any  # a record of arrays, a type of its own in each member
Arrays: TypeAlias = Iterable[NDArray[Any]]
Record = TypeVar("Record", bound=Arrays)


class MemberRows(NamedTuple):
    """A block of n rows, as members see them."""

    raw: FloatArray
    """(n, p) as given, NaN where missing; (n, 0) where p is too large to keep rows"""
    z: SingleArray
    """(n, p) scaled and clipped, 0 where missing; (n, 0) likewise"""
    low: SingleArray
    """(n, d) z, or a random projection of it to d = 32 dimensions where p > 32"""
    phi: SingleArray
    """(n, E) rectified random projections, columns as `rpnb.core.pooled.features`"""


class Member(Protocol):
    """The functions of a member's module."""

    OUTPUTS: tuple[str, ...]
    """Names of the score columns that the member gives to the pool, one or more."""
    MERGEABLE: bool
    """Whether `merge` gives exactly what learning all rows in one state would give."""
    USES_SCALE: bool
    """Whether it reads anything but `raw`, and so is begun anew with a new scale."""
    SUMS: tuple[str, ...]
    """If it is mergeable, the arrays of its state that `merge` adds up; none if it
    reads nothing but labels."""

    def begin(self, shape: Shape, active: BoolArray, seed: int) -> State:
        """Return the state that has learned nothing, of M classes; `active` is (M,)."""
        ...

    def grow_classes(self, state: State, source: IntArray, active: BoolArray) -> State:
        """Return a state whose class m is class source[m] of `state`, or new if −1.

        `active` (M,) says which classes of the new state are active. `state` itself
        stays as it is, and shares no array with the new one.
        """
        ...

    def score_rows(self, state: State, rows: MemberRows, scores: FloatArray) -> None:
        """Write the scores of each row into `scores` (n, outputs, M); learn nothing."""
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

        `scores` (n, outputs, M) gets the scores of each row as they are before it is
        learned. `y` (n,) are class numbers, −1 for a row that is only scored. `weight`
        (n,) is positive. With scores of shape (0, outputs, M) none are wanted: this is
        only done to learn the first rows, all of them labelled, anew from the beginning
        with another scale. What is derived from sums may then be made once, at the end.
        """
        ...

    def merge(self, states: list[State]) -> State:
        """Return the state of what several states of equal shape have learned."""
        ...

    def sum_rows(
        self, state: State, rows: MemberRows, y: IntArray, weight: FloatArray
    ) -> State:
        """Return a state whose `SUMS` are those of labelled rows alone.

        For members that have any. `state`, to which they may be merged, stays as it is.
        """
        ...


def score_rows(state: State, rows: MemberRows, scores: FloatArray) -> None:
    """Write the scores of each row; learn nothing."""
    state.score_rows(*rows, scores)


def learn_rows(
    state: State, rows: MemberRows, y: IntArray, weight: FloatArray, scores: FloatArray
) -> None:
    """Score each row, then learn it, in order."""
    state.learn_rows(*rows, y, weight, scores)


def no_rows(n: int) -> MemberRows:
    """Return n rows without columns, for members that read labels alone."""
    nothing = np.zeros((n, 0), np.float32)
    return MemberRows(np.zeros((n, 0)), nothing, nothing, nothing)


def copy_state(state: Record) -> Record:
    """Return a state with its own arrays."""
    kind: Any = type(state)
    # Boosted trees are copied as they are: to make them of arrays takes longer.
    copy: Record = state.copy() if hasattr(state, "copy") else kind(*state)
    return copy


def without_sums(state: Record, names: tuple[str, ...]) -> Record:
    """Return a copy of a state in which the arrays named are zero."""
    copy: Any = copy_state(state)
    for name in names:
        getattr(copy, name)[...] = 0
    found: Record = copy
    return found


def size_of(state: Arrays) -> int:
    """Return the bytes that a state takes."""
    # Boosted trees say it themselves: their arrays are copies.
    size: int | None = getattr(state, "nbytes", None)
    return sum(array.nbytes for array in state) if size is None else size


def same_state(a: Arrays, b: Arrays) -> bool:
    """Say whether two states are equal to the bit."""
    return all(
        one.dtype == two.dtype
        and one.shape == two.shape
        and one.tobytes() == two.tobytes()
        for one, two in zip(a, b, strict=True)
    )


def overwrite(state: Arrays, by: Arrays) -> None:
    """Make a state equal to another of the same shapes, in place."""
    for one, other in zip(state, by, strict=True):
        one[...] = other


def arrange(values: NDArray[Any], source: IntArray, fill: Any) -> NDArray[Any]:
    """Return an array whose entry m is entry source[m] of `values`, `fill` if −1."""
    arranged = np.full((source.shape[0], *values.shape[1:]), fill, values.dtype)
    known = source >= 0
    arranged[known] = values[source[known]]
    return arranged
