"""Boosted trees."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from rpnb._core.pooled import Member, Shape
from rpnb.core.kernels.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    SingleArray,
    UIntArray,
    WordArray,
)

MOST_TREES: Final[int]
"""Largest number of trees in use"""
MOST_LEAVES: Final[int]
"""Largest number of leaves of a tree"""
MOST_NODES: Final[int]
"""Largest number of nodes of a tree"""
MOST_CUTS: Final[int]
"""Largest number of cut points of a feature"""
MOST_CLASSES: Final[int]
"""Largest number of active classes; with more, scores are class frequencies"""
CLOCKS: Final[int]
"""Entries of `clock`"""

class BoostedTrees(Member):
    """The state of boosted trees; each array is a copy."""

    seed: UIntArray
    """(1,)"""
    clock: IntArray
    """(17,) counters; their names are in snapshot.h"""
    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) n_c"""
    rank: IntArray
    """(M,) index of a class among the active ones, −1 for others"""
    total_weight: FloatArray
    """(1,) Σ n_c"""
    base: WordArray
    """(Q,) margins without trees, by rank; (0,) before the first tree"""
    loss: FloatArray
    """(3,) sum and squares of the latest losses, and their reference"""
    gap: FloatArray
    """(3,) the same of gaps between the losses of rows and of older ones"""
    cuts: SingleArray
    """(p, 128) cut points, padded with the largest number"""
    n_cuts: WordArray
    """(p,)"""
    cuts_made: WordArray
    """(p,) event at which they were computed, −1 for never"""
    bins: NDArray[np.uint8]
    """(n, p) of the rows kept"""
    label: NDArray[np.uint8]
    """(n,) rank of the class"""
    row_weight: NDArray[np.uint32]
    """(n,) multiples of 2⁻¹⁰"""
    margin: WordArray
    """(n, C) multiples of 2⁻¹⁶; (n, 0) before the first tree"""
    leaf: NDArray[np.uint8]
    """(n, T) leaf in each tree in use"""
    raw: SingleArray
    """(r, p) values of the latest rows"""
    slot: IntArray
    """(T,) slots of the trees, and of the one being applied"""
    born: IntArray
    """(T,) the round that grew a tree"""
    n_nodes: IntArray
    """(T,)"""
    feature: WordArray
    """(T, 253)"""
    threshold: SingleArray
    """(T, 253) the largest number at leaves"""
    last_bin: NDArray[np.uint8]
    """(T, 253) the last bin that goes left"""
    child: WordArray
    """(T, 253) left child; a leaf is its own"""
    value: WordArray
    """(T, 127, C) multiples of 2⁻¹⁶"""
    features: WordArray
    """(f,) features that the next tree may read"""
    replaced: IntArray
    """(k,) slots of the trees that it replaces"""

    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    @staticmethod
    def begin(shape: Shape, active: BoolArray, seed: int) -> BoostedTrees: ...
    @property
    def n_rows(self) -> int:
        """Number of rows kept."""
    @property
    def n_trees(self) -> int:
        """Number of trees in use."""
    @property
    def nbytes(self) -> int:
        """Approximate memory in bytes."""
    def copy(self) -> BoostedTrees: ...
    def arrange_classes(self, source: IntArray, active: BoolArray) -> None:
        """Make class source[m] class m, or add a new one if it is −1."""
    def add_rows_of(self, other: BoostedTrees) -> None:
        """Learn the rows kept by another state, without counting them as paid work."""

def rows_kept(p: int, C: int) -> int:
    """Return the largest number of rows kept, for p features and C margins."""

def margins_for(Q: int) -> int:
    """Return C, the number of margins of a row, for Q active classes."""
