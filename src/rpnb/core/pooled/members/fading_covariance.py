"""Linear discriminants with a fading shared covariance.

Formulas: fading_covariance.h.
"""

from typing import Final

import numpy as np

from rpnb._core.covariances import FadingCovariance
from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.kernels.elementary import log
from rpnb.core.pooled.member import Shape, copy_state, learn_rows, score_rows
from rpnb.core.pooled.members.shared_covariance import arrange_discriminants

__all__ = [
    "FadingCovariance",
    "begin",
    "chosen_columns",
    "grow_classes",
    "learn_rows",
    "merge",
    "score_rows",
]

OUTPUTS: Final = ("fading_covariance",)
MERGEABLE: Final = False
USES_SCALE: Final = True

#: Number of rows collected before they are added; the sums then fade once.
GROUP: Final = 64


def chosen_columns(shape: Shape) -> IntArray:
    """Return the columns of φ used: features, some dense and sparse projections."""
    return begin(shape, np.zeros(0, np.bool_), 0).columns


def begin(shape: Shape, active: BoolArray, seed: int) -> FadingCovariance:
    """Return the initial state: empty sums."""
    return FadingCovariance.begin(shape, active)


def grow_classes(
    state: FadingCovariance, source: IntArray, active: BoolArray
) -> FadingCovariance:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    return state._replace(active=active, **arrange_discriminants(state, source))


def merge(states: list[FadingCovariance]) -> FadingCovariance:
    """Return the sums of several states, each faded as it is."""
    parts = [copy_state(state) for state in states]
    merged = parts[0]
    for part in parts:
        part.settle()
    for part in parts[1:]:
        merged.active[:] |= part.active
        merged.class_weight[:] += part.class_weight
        merged.B[:] += part.B
        merged.A[:] += part.A
        merged.seen[:] += part.seen
    merged.log_count[:] = log(merged.class_weight + 0.5)
    merged.refresh()
    return merged
