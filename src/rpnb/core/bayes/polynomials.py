"""A model's scores as quadratic polynomials of the features, in double precision.

They are computed once, for a model that no longer learns, to serve or export it; the
forms of ``cpp/rpnb/forms.h`` are built for each call.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from rpnb.core.bayes.model import Model
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.fixed_order import product, solve_semidefinite
from rpnb.core.projection.matrices import project

# Products of rows, classes and terms computed at once.
_ENTRIES = 1 << 17


class ClassPolynomials(NamedTuple):
    """Polynomials of M classes in x' = x − x₀."""

    origin: FloatArray
    """(p,) x₀"""
    factors: FloatArray
    """(M, p(p + 3)/2) coefficients of x'_i x'_j for i ≤ j, then of x'_i"""
    constant: FloatArray
    """(M,) the scores at the origin"""


def make_polynomials(model: Model, classes: IntArray) -> ClassPolynomials:
    """Return the scores of the named classes under the rule "log_sum" as polynomials.

    The origin minimises the sum of the classes' squared distances. It is computed
    twice, the second time relative to the first result, to keep the factors precise for
    data far from zero. Factors that overflow are not finite.
    """
    p = model.projection.R.shape[0]
    R = model.projection.R.astype(np.float64) * (1.0 / sqrt(model.projection.q))
    precision = model.gaussians.precision[classes]
    A = np.stack([product(R * weights, R.T) for weights in precision])
    whole = A.sum(axis=0)
    origin = np.zeros(p)
    for _ in range(2):
        b = _expand(model, classes, origin)[0].sum(axis=0)
        if np.isfinite(whole).all() and np.isfinite(b).all():
            origin = origin + solve_semidefinite(whole, b)
    b, distance = _expand(model, classes, origin)
    i, j = np.triu_indices(p)
    products = A[:, i, j] * np.where(i == j, -0.5, -1.0)
    known = model.gaussians.constant[classes] + model.classes.bias[classes]
    factors = np.concatenate([products, b], axis=1)
    return ClassPolynomials(origin, factors, known - 0.5 * distance)


def _expand(
    model: Model, classes: IntArray, origin: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return b (m, p) and the squared distances (m,) at the origin."""
    projection = model.projection
    scale = 1.0 / sqrt(projection.q)
    centre = np.empty((1, model.F))
    first = np.zeros(1, np.int64)
    project(origin[None, :], first, scale, projection.R, centre)
    R = projection.R.astype(np.float64) * scale
    w = model.gaussians.precision[classes]
    moved = model.gaussians.mean[classes] - centre[0]
    pull = w * moved
    return product(pull, R.T), (pull * moved).sum(axis=1)


def evaluate_polynomials(forms: ClassPolynomials, X: FloatArray) -> FloatArray:
    """Return the scores (n, M) of rows X (n, p)."""
    p = forms.origin.shape[0]
    i, j = np.triu_indices(p)
    out = np.empty((X.shape[0], forms.constant.shape[0]))
    size = max(_ENTRIES // forms.factors.size, 1)
    for start in range(0, X.shape[0], size):
        moved = X[start : start + size] - forms.origin
        terms = np.concatenate([moved[:, i] * moved[:, j], moved], axis=1)
        # The order of this sum is fixed; that of BLAS depends on the number of rows
        # and on the processor.
        scores = (terms[:, None, :] * forms.factors).sum(axis=2)
        out[start : start + size] = scores + forms.constant
    return out
