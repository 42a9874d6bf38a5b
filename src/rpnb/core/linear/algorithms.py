"""The linear learners by name: their codes, their parameters, their defaults.

These are the learners of LIBOL (Hoi, Wang & Zhao 2014, "LIBOL: a library for online
learning algorithms"), which the paper compares with. A learner is an integer code here,
so that one compiled pass serves all; `rule` puts the code and the parameters together.
"""

from math import sqrt
from typing import Final, NamedTuple

from scipy.special import ndtri

# First order: a step along x. The codes from SOP on keep a covariance; the last three
# compare the margin with the confidence in it.
PERCEPTRON: Final = 0
PERCEPTRON_UNIFORM: Final = 1
PERCEPTRON_PROPORTIONAL: Final = 2
ROMMA: Final = 3
AGGRESSIVE_ROMMA: Final = 4
ALMA: Final = 5
OGD: Final = 6
OGD_LOGISTIC: Final = 7
OGD_SQUARE: Final = 8
OGD_ZERO_ONE: Final = 9
PA: Final = 10
PA1: Final = 11
PA2: Final = 12
SOP: Final = 13
IELLIP: Final = 14
AROW: Final = 15
NAROW: Final = 16
NHERD: Final = 17
CW: Final = 18
SCW1: Final = 19
SCW2: Final = 20

ALGORITHMS: Final[dict[str, int]] = {
    "Perceptron": PERCEPTRON,
    "PerceptronUniform": PERCEPTRON_UNIFORM,
    "PerceptronProportional": PERCEPTRON_PROPORTIONAL,
    "ROMMA": ROMMA,
    "AggressiveROMMA": AGGRESSIVE_ROMMA,
    "ALMA": ALMA,
    "OGD": OGD,
    "OGDLogistic": OGD_LOGISTIC,
    "OGDSquare": OGD_SQUARE,
    "OGDZeroOne": OGD_ZERO_ONE,
    "PA": PA,
    "PA1": PA1,
    "PA2": PA2,
    "SOP": SOP,
    "IELLIP": IELLIP,
    "AROW": AROW,
    "NAROW": NAROW,
    "NHERD": NHERD,
    "CW": CW,
    "SCW1": SCW1,
    "SCW2": SCW2,
}
# The learners that have a multi-class form; all have a two-class form, in which the
# three perceptrons are one.
MULTICLASS: Final = frozenset(
    {
        *(PERCEPTRON, PERCEPTRON_UNIFORM, PERCEPTRON_PROPORTIONAL),
        *(ROMMA, AGGRESSIVE_ROMMA, OGD, PA, PA1, PA2, AROW, CW, SCW1, SCW2),
    }
)


class LinearAlgorithm(NamedTuple):
    """A learner's code and parameters. Made by `rule`, which keeps the types exact."""

    algorithm: int
    two_class: bool
    """Whether one weight vector tells two classes apart, or M rows compete."""
    libol: bool
    """Whether to do as the library where that is not sound: see `linear_pass`."""
    C: float
    """Largest step, step size, or trade-off: see the learner's step."""
    phi: float
    """φ = Φ⁻¹(η) of the confidence-weighted learners."""
    alpha: float
    """ALMA's α, the share of the largest margin aimed at."""
    power: float
    """ALMA's p."""
    b: float
    """IELLIP's b, the factor from each c_t to the next."""


def keeps_covariance(algorithm: int) -> bool:
    """Whether the learner is of second order."""
    return algorithm >= SOP


def rule(
    algorithm: int,
    *,
    two_class: bool,
    C: float | None = None,
    eta: float | None = None,
    alpha: float = 0.9,
    power: float = 2.0,
    b: float = 0.3,
    libol: bool = False,
) -> LinearAlgorithm:
    """Return a learner's rule; what is not given is LIBOL's default.

    C is √2 for ALMA and 1 elsewhere. η is 0.70 for CW and 0.90 for SCW-II in their
    two-class forms, 0.75 elsewhere.

    Raises
    ------
    ValueError
        If a multi-class form is asked for that does not exist.
    """
    if not two_class and algorithm not in MULTICLASS:
        name = next(key for key, code in ALGORITHMS.items() if code == algorithm)
        raise ValueError(f"{name} has no multi-class form")
    if C is None:
        C = sqrt(2.0) if algorithm == ALMA else 1.0
    if eta is None:
        own = {CW: 0.70, SCW2: 0.90} if two_class else {}
        eta = own.get(algorithm, 0.75)
    return LinearAlgorithm(
        int(algorithm),
        bool(two_class),
        bool(libol),
        float(C),
        float(ndtri(eta)),
        float(alpha),
        float(power),
        float(b),
    )
