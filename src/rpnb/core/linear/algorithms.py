r"""The linear learners: their names, codes and parameters, their triggers and steps.

These are the learners of LIBOL (Hoi, Wang & Zhao 2014, "LIBOL: a library for online
learning algorithms"), which the paper compares with. A learner is an integer code here,
so that one compiled pass serves all; `make_algorithm` puts the code and the parameters
together. To add one: a code, its name in `ALGORITHMS`, its trigger in `is_triggered`
and its step in `step_of`, all in this file.

A round is described by a few numbers. In the two-class form the margin is m = y·f with
f = w·x and y = ±1; in the multi-class form it is F_y − F_s, the score of the row's
class minus that of its strongest rival s. v is xᵀΣx, l = max(0, 1 − m) the hinge loss,
t the number of the round, `sides` the number of weight rows that a step changes: 1 or
2. A step is

    w ← keep·w + α·y·g,    Σ ← (Σ − β·(Σx)(Σx)ᵀ)/divisor,

with g = x (first order, SOP) or g = Σx; in the multi-class form row y moves by +α·g and
row s by −α·g. The formulas are LIBOL's, which departs in places from the articles that
the learners come from; where it does, the function says so.
"""

from math import sqrt
from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtri

from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.linear.confidence import (
    arow,
    confidence,
    cw_multiclass,
    cw_two_class,
    iellip,
    narow,
    nherd,
    scw2_multiclass,
    scw2_two_class,
)

# The codes before SOP are of first order: a step along x. Those from SOP on keep a
# covariance; the last three compare the margin with its standard deviation.
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


# Share of ‖x‖²‖w‖² below which ROMMA takes x and w for parallel.
_PARALLEL = 2.0**-40


class LinearAlgorithm(NamedTuple):
    """A learner's code and parameters. Made by `make_algorithm`."""

    algorithm: int
    two_class: bool
    """Whether one weight vector tells two classes apart, or M rows compete."""
    libol: bool
    """Whether to reproduce LIBOL also where it is not sound: see `linear_pass`."""
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


def make_algorithm(
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
    """Return a learner's code and parameters; those not given are LIBOL's defaults.

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


class StepInputs(NamedTuple):
    """What a step is computed from. What a learner does not use is 0."""

    m: float
    t: int
    k: int
    """number of the update, from 1"""
    square: float
    """‖x‖²"""
    weight: float
    """‖w‖², of all rows together"""
    v: float
    c: float
    """IELLIP's c_t"""
    sides: int


class WeightStep(NamedTuple):
    """A step's four numbers; see the docstring of this module."""

    keep: float
    alpha: float
    beta: float
    divisor: float


@compiled
def is_triggered(
    rule: LinearAlgorithm, m: float, wrong: bool, v: float, k: int
) -> bool:
    """Whether a round counts as an update; v is read by IELLIP, CW and SCW only.

    These three need v > 0, which only rounding errors in Σ can violate.
    """
    algorithm = rule.algorithm
    if algorithm in (OGD, AGGRESSIVE_ROMMA, PA, PA1, PA2, AROW, NAROW, NHERD):
        return 1.0 - m > 0.0
    if algorithm >= CW:
        return v > 0.0 and rule.phi * float(np.sqrt(v)) - m > 0.0
    if algorithm == ALMA:
        gamma: float = np.sqrt(rule.power - 1.0) / (rule.alpha * np.sqrt(k))
        return (1.0 - rule.alpha) * gamma - m > 0.0
    if algorithm == OGD_LOGISTIC:
        return True
    if algorithm == OGD_SQUARE:
        return m != 1.0
    if algorithm == IELLIP:
        return wrong and v > 0.0
    return wrong


@compiled
def step_of(rule: LinearAlgorithm, inputs: StepInputs) -> WeightStep:
    """Return the learner's step in a round that counts as an update.

    The Perceptron (Rosenblatt 1958) and SOP, the second-order Perceptron (Cesa-Bianchi,
    Conconi & Gentile 2005), have α = 1.
    """
    algorithm = rule.algorithm
    keep, alpha, beta, divisor = 1.0, 1.0, 0.0, 1.0
    if algorithm in (ROMMA, AGGRESSIVE_ROMMA):
        keep, alpha = romma(inputs, rule.libol)
    elif algorithm == ALMA:
        alpha = alma(rule.C, rule.power, inputs.k)
    elif algorithm in (OGD, OGD_LOGISTIC, OGD_SQUARE, OGD_ZERO_ONE):
        alpha = ogd(algorithm, rule.C, inputs.m, inputs.t)
    elif algorithm == PA:
        alpha = pa(inputs.m, inputs.square, inputs.sides)
    elif algorithm == PA1:
        alpha = pa1(inputs.m, inputs.square, inputs.sides, rule.C)
    elif algorithm == PA2:
        alpha = pa2(inputs.m, inputs.square, inputs.sides, rule.C)
    elif algorithm == IELLIP:
        alpha, beta = iellip(inputs.m, inputs.v, inputs.c)
        divisor = 1.0 - inputs.c
    elif algorithm == AROW:
        alpha, beta = arow(inputs.m, inputs.v, rule.C)
    elif algorithm == NAROW:
        alpha, beta = narow(inputs.m, inputs.v, rule.C)
    elif algorithm == NHERD:
        alpha, beta = nherd(inputs.m, inputs.v, rule.C)
    elif algorithm >= CW:
        if algorithm > SCW1:
            if inputs.sides == 1:
                alpha = scw2_two_class(inputs.m, inputs.v, rule.phi, rule.C, rule.libol)
            else:
                alpha = scw2_multiclass(inputs.m, inputs.v, rule.phi, rule.C)
        elif inputs.sides == 1:
            alpha = cw_two_class(inputs.m, inputs.v, rule.phi)
        else:
            alpha = cw_multiclass(inputs.m, inputs.v, rule.phi)
        if algorithm == SCW1:
            alpha = min(alpha, rule.C)
        beta = confidence(alpha, inputs.v, rule.phi, inputs.sides)
    return WeightStep(keep, alpha, beta, divisor)


@compiled
def perceptron_shares(
    algorithm: int,
    scores: FloatArray,
    eligible: BoolArray,
    y: int,
    shares: FloatArray,
) -> None:
    """Set `shares` (M,) to the multiple of x for each row; Crammer & Singer (2003).

    Row y gains 1; the rows E = {i : F_i > F_y} of eligible classes lose 1 together:
    uniformly, 1/|E| each, or in proportion to F_i − F_y. E may be empty: of a class new
    in this round, or when the first of equals was predicted.
    """
    total = 0.0
    for i in range(scores.shape[0]):
        shares[i] = 0.0
        if eligible[i] and scores[i] > scores[y]:
            gap = scores[i] - scores[y]
            shares[i] = -1.0 if algorithm == PERCEPTRON_UNIFORM else -gap
            total -= shares[i]
    if total > 0.0:
        for i in range(scores.shape[0]):
            shares[i] /= total
    shares[y] = 1.0


@compiled
def romma(inputs: StepInputs, libol: bool) -> tuple[float, float]:
    """ROMMA, the relaxed online maximum margin algorithm; Li & Long (2002).

    With q = sides·‖x‖²‖w‖², D = q − m²: keep = (q − m)/D, α = ‖w‖²(1 − m)/D; from
    w = 0, w ← yx. The multi-class form of LIBOL scales rows y and s only.

    Nothing is done if D = 0, x and w being parallel. Departures, not made if `libol`:
    D below 2⁻⁴⁰·q counts as 0, being rounding error, and nothing is done if m ≥ 1,
    which a mistake can have when its class is new. In `libol`, multi-class, D = 0 gives
    NaN as in the library.
    """
    if inputs.weight == 0.0:
        return 1.0, 1.0
    q = inputs.sides * inputs.square * inputs.weight
    D = q - inputs.m * inputs.m
    if libol:
        if D == 0.0:
            return (1.0, 0.0) if inputs.sides == 1 else (np.nan, np.nan)
    elif not _PARALLEL * q < D or inputs.m >= 1.0:
        return 1.0, 0.0
    return (q - inputs.m) / D, inputs.weight * (1.0 - inputs.m) / D


@compiled
def alma(C: float, power: float, k: int) -> float:
    """ALMA_p(α), the approximate large margin algorithm; Gentile (2001).

    γ_k = (1/α)·√(p − 1)/√k, trigger (1 − α)·γ_k > m; w += C/(√(p − 1)·√k)·y·x, then
    w ← w/max(1, ‖w‖₂): see `project_to_ball`.
    """
    rate: float = C / (np.sqrt(power - 1.0) * np.sqrt(k))
    return rate


@compiled
def ogd(algorithm: int, C: float, m: float, t: int) -> float:
    """Online gradient descent; Zinkevich (2003). α = C/√t times minus the slope in m.

    Hinge, and 0-1 on mistakes: 1. Logistic: 1/(1 + eᵐ). Square: w −= C/√t·(f − y)·x,
    and y − f = y·(1 − m). t counts all rounds, those without an update too.
    """
    rate: float = C / np.sqrt(t)
    if algorithm == OGD_LOGISTIC:
        # Either form is 1/(1 + eᵐ); neither overflows on its side.
        if m > 0.0:
            decayed: float = np.exp(-m)
            return rate * (decayed / (1.0 + decayed))
        grown: float = np.exp(m)
        return rate / (1.0 + grown)
    if algorithm == OGD_SQUARE:
        return rate * (1.0 - m)
    return rate


@compiled
def pa(m: float, square: float, sides: int) -> float:
    """PA, passive-aggressive; Crammer et al. (2006). α = l/(sides·‖x‖²): then m = 1.

    x = 0 gives ∞, and `linear_pass` then takes no step. LIBOL's two-class form has
    α = 1 for x = 0, which changes nothing either.
    """
    if square == 0.0:
        return 1.0 if sides == 1 else np.inf
    return (1.0 - m) / (sides * square)


@compiled
def pa1(m: float, square: float, sides: int, C: float) -> float:
    """PA-I; Crammer et al. (2006). α = min(C, l/(sides·‖x‖²))."""
    return min(C, pa(m, square, sides))


@compiled
def pa2(m: float, square: float, sides: int, C: float) -> float:
    """PA-II; Crammer et al. (2006). α = l/(sides·‖x‖² + 1/(2C))."""
    return (1.0 - m) / (sides * square + 1.0 / (2.0 * C))
