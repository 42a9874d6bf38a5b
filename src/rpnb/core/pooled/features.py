"""Scale of the features, and columns of their rectified random projections.

The formulas are in `cpp/pooled`: `scale.h`, `features.h`.
"""

from typing import Final

from rpnb._core.pooled import Features, FeatureScale
from rpnb.core.pooled.member import padded

__all__ = [
    "LAST_REPLAY",
    "LOOK",
    "FeatureScale",
    "Features",
    "columns_of",
    "dense_columns",
    "low_columns",
    "raw_columns",
]

#: Labelled rows after which the scale is fixed.
LAST_REPLAY: Final = 256
#: Labelled rows between later checks of the scale.
LOOK: Final = 64
#: Up to this many features, φ includes z itself.
MOST_RAW: Final = 64
#: Up to this many features, `low` is z itself; with more, it has this many columns.
MOST_LOW: Final = 32


def raw_columns(p: int) -> int:
    """Return how many columns of φ are the features themselves."""
    return p if p <= MOST_RAW else 0


def columns_of(p: int, D: int) -> int:
    """Return the number E of columns of φ, including the zeros at the end."""
    return padded(raw_columns(p) + D)


def dense_columns(p: int, D: int) -> int:
    """Return how many of D projections of p features are dense, a multiple of 8."""
    return padded(D // 4 if p <= MOST_RAW else D // 2, 8)


def low_columns(p: int) -> int:
    """Return the number d of columns of `low`."""
    return min(p, MOST_LOW)
