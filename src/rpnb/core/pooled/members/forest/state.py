"""What a window forest keeps, and how large it is.

The forest has T trees and a spare place in which the next tree grows. All T + 1 are in
the same arrays; `place` says where tree j is, and its last entry where the growing one
is. Node 0 of a tree is its root. `child` of a node is the number of its left child, the
right one being the next, or −1 − l if the node is leaf l. A row goes left where its
feature is ≤ the threshold, so a missing value goes right.

A leaf lists the classes that it has seen, S = min(M, 8) of them at most: beyond that,
memory does not grow with the number of classes. A class that finds the list full takes
the entry of the class with the least count.

Rows are numbered in the order in which they are learned, and the window has the last R.

The fields of a state are those of `cpp/pooled/forest/window_forest.h`.
"""

from typing import TypeAlias

from rpnb._core.forest import (
    CLOCKS,
    DUE,
    GROWN,
    LEARNED,
    MOST_LEAVES,
    NEXT,
    RECENT_ROWS,
    START,
    TREES,
    WIDEST,
    WindowForest,
    kept_rows,
    listed_classes,
    read_columns,
    units_per_row,
    window_rows,
)

__all__ = [
    "CLOCKS",
    "DUE",
    "GROWN",
    "LEARNED",
    "MOST_LEAVES",
    "NEXT",
    "RECENT_ROWS",
    "START",
    "TREES",
    "WIDEST",
    "ForestState",
    "kept_rows",
    "listed_classes",
    "read_columns",
    "units_per_row",
    "window_rows",
]

ForestState: TypeAlias = WindowForest
"""All that a window forest remembers"""
