"""The linear learners by name, and their parameters.

These are the learners of LIBOL (Hoi, Wang & Zhao 2014, "LIBOL: a library for online
learning algorithms"), which the paper compares with. Their formulas and sources are
beside their steps, in ``cpp/linear/algorithms.cpp`` and ``cpp/linear/confidence.h``.
"""

from math import sqrt
from typing import Final

from scipy.special import ndtri

from rpnb._core.linear import Algorithm, LinearAlgorithm

__all__ = [
    "ALGORITHMS",
    "MULTICLASS",
    "Algorithm",
    "LinearAlgorithm",
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
        float(ndtri(eta)),
        float(alpha),
        float(power),
        float(b),
    )
