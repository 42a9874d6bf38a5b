"""The window forest."""

from typing import Final

from rpnb._core.pooled import Member, Shape
from rpnb.core.kernels.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    UIntArray,
    WordArray,
)

TREES: Final[int]
"""T: number of trees in use"""
MOST_LEAVES: Final[int]
"""L: largest number of leaves of a tree"""
RECENT_ROWS: Final[int]
"""Number of rows that a leaf keeps for a later split"""
WIDEST: Final[int]
"""Rows with more features are not kept: the forest reads their projection"""

# Entries of `clock`.
LEARNED: Final[int]
"""Rows learned, which is also the number of the next row in the window"""
DUE: Final[int]
"""Value of `LEARNED` at which the next tree starts to grow"""
GROWN: Final[int]
"""Trees that have started to grow"""
START: Final[int]
"""Value of `LEARNED` when the growing tree started, −1 if none is growing"""
NEXT: Final[int]
"""The growing tree's first node that is neither split nor a leaf yet"""
CLOCKS: Final[int]

class WindowForest(Member):
    """The state of a window forest."""

    seed: UIntArray
    """(1,)"""
    clock: IntArray
    """(5,) counters, see above"""
    active: BoolArray
    """(M,) classes declared or learned"""
    class_weight: FloatArray
    """(M,) n_c"""
    total_weight: FloatArray
    """(1,) Σ n_c"""
    window: FloatArray
    """(R, p) the last rows; row i is at i mod R"""
    window_class: IntArray
    """(R,) −1 where there is no row yet"""
    window_weight: FloatArray
    """(R,)"""
    place: IntArray
    """(T + 1,) slot of each tree, and of the growing one"""
    log_weight: FloatArray
    """(2, T) weights of the trees, for slow counts and for fast ones"""
    tree_number: IntArray
    """(T + 1,) value of `GROWN` when the tree started to grow, which seeds its draws"""
    n_nodes: IntArray
    """(T + 1,) nodes of each tree"""
    n_leaves: IntArray
    """(T + 1,) leaves of each tree"""
    feature: WordArray
    """(T + 1, N)"""
    threshold: FloatArray
    """(T + 1, N)"""
    child: WordArray
    """(T + 1, N)"""
    slow_class: WordArray
    """(T + 1, L, S) classes listed at a leaf, −1 where the list has ended"""
    slow_count: FloatArray
    """(T + 1, L, S) their weights since the leaf began"""
    slow_total: FloatArray
    """(T + 1, L) weight of all classes since the leaf began"""
    recent: IntArray
    """(T + 1, L, 8) the last rows at a leaf, newest first, −1 for none"""
    origin: WordArray
    """(T + 1, L) the leaf of the grown tree that contains this leaf"""
    fast_class: WordArray
    """(T + 1, L, S) classes listed at a grown leaf, −1 where the list has ended"""
    fast_count: FloatArray
    """(T + 1, L, S) their fading counts"""
    fast_total: FloatArray
    """(T + 1, L) fading count of all classes"""
    order: IntArray
    """(W,) the growing tree's rows as positions in the window, node by node"""
    node_first: IntArray
    """(N,) where in `order` the rows of a node of the growing tree begin"""
    node_end: IntArray
    """(N,) where they end"""
    node_depth: IntArray
    """(N,)"""

    @staticmethod
    def begin(shape: Shape, active: BoolArray, seed: int) -> WindowForest: ...
    def learn_window(self, place: int, other: WindowForest) -> None:
        """Let the tree in a slot learn the rows in the window of another forest."""

def window_rows(p: int, window: int) -> int:
    """Return W, the most rows a tree grows from; a `window` of 0 is the default."""

def kept_rows(W: int) -> int:
    """Return R: W rows, and the rows that arrive while a tree grows."""

def listed_classes(M: int) -> int:
    """Return S, the number of classes that a leaf can list."""

def read_columns(shape: Shape) -> int:
    """Return how many columns the forest reads: those of `raw`, or of `low`."""

def units_per_row(p: int, W: int) -> int:
    """Return the units of growth per row, chosen so that W/32 + 1 rows suffice."""
