"""Gradient-boosted trees, the oldest of which is replaced continually.

The formulas are in `cpp/pooled/boosted`: those of the member in `boosted_trees.h`, how
a tree grows in `grower.h`. Unlike other members, its memory grows with the rows that it
keeps, up to a limit, and its arrays are copies.
"""

from typing import Final

from rpnb._core.boosted import BoostedTrees, rows_kept
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.pooled.member import Shape, learn_rows, score_rows

__all__ = [
    "BoostedTrees",
    "arrange_classes",
    "begin",
    "grow_classes",
    "learn_rows",
    "merge",
    "rows_kept",
    "score_rows",
]

OUTPUTS: Final = ("boosted_trees",)
MERGEABLE: Final = False
USES_SCALE: Final = False


def begin(shape: Shape, active: BoolArray, seed: int) -> BoostedTrees:
    """Return the initial state, without rows and trees."""
    return BoostedTrees.begin(shape, active, seed)


def grow_classes(
    state: BoostedTrees, source: IntArray, active: BoolArray
) -> BoostedTrees:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    grown = state.copy()
    grown.arrange_classes(source, active)
    return grown


def arrange_classes(
    state: BoostedTrees, source: IntArray, active: BoolArray
) -> BoostedTrees:
    """Change `state` as `grow_classes` does with a copy of it, and return it."""
    state.arrange_classes(source, active)
    return state


def merge(states: list[BoostedTrees]) -> BoostedTrees:
    """Return the state with the most rows, after learning those of the others.

    A state keeps the raw values of its latest rows only; for older rows it keeps bins,
    and values within these bins are used instead.
    """
    most = max(range(len(states)), key=lambda k: states[k].n_rows)
    merged = states[most].copy()
    for k, state in enumerate(states):
        if k != most:
            merged.add_rows_of(state)
    return merged
