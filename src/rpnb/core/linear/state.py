"""The state of a linear learner: creating it, and adding classes to it."""

from typing import Final

import numpy as np

from rpnb._core.linear import LinearAlgorithm, LinearState
from rpnb.core.kernels.arrays import IntArray
from rpnb.core.linear.algorithms import keeps_covariance

__all__ = [
    "ROUNDS",
    "UPDATES",
    "LinearState",
    "arrange_linear_classes",
    "blank_state",
    "copy_state",
]

# Places in `LinearState.counts`.
ROUNDS: Final = 0
UPDATES: Final = 1

# c_1 of IELLIP.
_FIRST_C: Final = 0.1


def blank_state(
    rule: LinearAlgorithm, M: int, p: int, *, a: float = 1.0, diagonal: bool = False
) -> LinearState:
    """Return the state before the first row: w = 0, Σ = a·I, no class eligible yet.

    With `diagonal`, only the diagonal of Σ is kept. The two-class form ignores M.
    """
    S = np.zeros((0, p))
    if keeps_covariance(rule.algorithm):
        S = np.full((1, p), float(a)) if diagonal else float(a) * np.eye(p)
    return LinearState(
        np.zeros((1 if rule.two_class else M, p)),
        S,
        np.zeros(2 if rule.two_class else M, np.bool_),
        np.zeros(2, np.int64),
        np.full(1, _FIRST_C),
    )


def copy_state(state: LinearState) -> LinearState:
    """Return a copy that shares no array with `state`."""
    return LinearState(*state)


def arrange_linear_classes(state: LinearState, source: IntArray) -> LinearState:
    """Return a copy whose class m is class source[m] of `state`, or new if −1.

    A new class has zero weights and is not yet eligible.
    """
    old = source >= 0
    W = np.zeros((source.shape[0], state.W.shape[1]))
    eligible = np.zeros(source.shape[0], np.bool_)
    W[old] = state.W[source[old]]
    eligible[old] = state.eligible[source[old]]
    return state._replace(W=W, eligible=eligible)
