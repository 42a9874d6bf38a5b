"""The linear learners by name, their parameters, and their state.

These are the learners of LIBOL (Hoi, Wang & Zhao 2014, "LIBOL: a library for online
learning algorithms"), with which the paper compares RPNB. Their formulas and sources
are next to their steps, in ``cpp/linear/algorithms.cpp`` and
``cpp/linear/confidence.h``.
"""

from math import sqrt
from typing import Final

import numpy as np

from rpnb._core.linear import Algorithm, LinearAlgorithm, LinearState
from rpnb.core.kernels.arrays import IntArray
from rpnb.core.kernels.elementary import normal_quantile

__all__ = [
    "ALGORITHMS",
    "MULTICLASS",
    "ROUNDS",
    "UPDATES",
    "Algorithm",
    "LinearAlgorithm",
    "LinearState",
    "arrange_linear_classes",
    "blank_state",
    "copy_state",
    "keeps_covariance",
    "make_algorithm",
]

ALGORITHMS: Final[dict[str, Algorithm]] = {
    "Perceptron": Algorithm.PERCEPTRON,
    "PerceptronUniform": Algorithm.PERCEPTRON_UNIFORM,
    "PerceptronProportional": Algorithm.PERCEPTRON_PROPORTIONAL,
    "ROMMA": Algorithm.ROMMA,
    "AggressiveROMMA": Algorithm.AGGRESSIVE_ROMMA,
    "ALMA": Algorithm.ALMA,
    "OGD": Algorithm.OGD,
    "OGDLogistic": Algorithm.OGD_LOGISTIC,
    "OGDSquare": Algorithm.OGD_SQUARE,
    "OGDZeroOne": Algorithm.OGD_ZERO_ONE,
    "PA": Algorithm.PA,
    "PA1": Algorithm.PA1,
    "PA2": Algorithm.PA2,
    "SOP": Algorithm.SOP,
    "IELLIP": Algorithm.IELLIP,
    "AROW": Algorithm.AROW,
    "NAROW": Algorithm.NAROW,
    "NHERD": Algorithm.NHERD,
    "CW": Algorithm.CW,
    "SCW1": Algorithm.SCW1,
    "SCW2": Algorithm.SCW2,
}
# The learners with a multi-class form. All have a two-class form, in which the three
# perceptrons are the same.
MULTICLASS: Final = frozenset(
    {
        Algorithm.PERCEPTRON,
        Algorithm.PERCEPTRON_UNIFORM,
        Algorithm.PERCEPTRON_PROPORTIONAL,
        *(Algorithm.ROMMA, Algorithm.AGGRESSIVE_ROMMA, Algorithm.OGD),
        *(Algorithm.PA, Algorithm.PA1, Algorithm.PA2),
        *(Algorithm.AROW, Algorithm.CW, Algorithm.SCW1, Algorithm.SCW2),
    }
)

# Places in `LinearState.counts`.
ROUNDS: Final = 0
UPDATES: Final = 1

# c_1 of IELLIP.
_FIRST_C: Final = 0.1


def keeps_covariance(algorithm: Algorithm) -> bool:
    """Whether the learner is of second order."""
    return algorithm >= Algorithm.SOP


def make_algorithm(
    algorithm: Algorithm,
    *,
    two_class: bool,
    C: float | None = None,
    eta: float | None = None,
    alpha: float = 0.9,
    power: float = 2.0,
    b: float = 0.3,
    libol: bool = False,
) -> LinearAlgorithm:
    """Return a learner with its parameters; those not given are LIBOL's defaults.

    C is √2 for ALMA and 1 elsewhere. η is 0.70 for CW and 0.90 for SCW-II in their
    two-class forms, 0.75 elsewhere.

    Raises
    ------
    ValueError
        If the learner has no multi-class form and one is requested.
    """
    if not two_class and algorithm not in MULTICLASS:
        name = next(key for key, value in ALGORITHMS.items() if value == algorithm)
        raise ValueError(f"{name} has no multi-class form")
    if C is None:
        C = sqrt(2.0) if algorithm == Algorithm.ALMA else 1.0
    if eta is None:
        own = {Algorithm.CW: 0.70, Algorithm.SCW2: 0.90} if two_class else {}
        eta = own.get(algorithm, 0.75)
    return LinearAlgorithm(
        algorithm,
        bool(two_class),
        bool(libol),
        float(C),
        normal_quantile(eta),
        float(alpha),
        float(power),
        float(b),
    )


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
