"""Evaluating quadratic forms for a step of rows, and bounding their errors.

The rows of a step are the columns of an array, and sixteen of them are evaluated
together in registers. A polynomial is nested so that no product of two features is ever
formed:

    start + Σ_i x_i (b_i + Σ_{j ≥ i} c_ij x_j).
"""

from math import sqrt

import numpy as np

from rpnb.core.bayes.scoring import score_rounding
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import compiled, compiled_inline
from rpnb.core.kernels.vectors import (
    DOUBLES,
    Doubles,
    doubles,
    fused,
    load_doubles,
    store_doubles,
    where_greater,
)
from rpnb.core.passes.quadratic.record import DOUBLE, ROWS, QuadraticForms

# Far beyond this, terms of a double-precision score are limited (`core.bayes.scoring`).
_LARGEST = 1e294


@compiled
def centre_columns(
    X: FloatArray, origin: FloatArray, centred: FloatArray, lengths: FloatArray
) -> None:
    """Write x' = x − x₀ of rows X (n, p) as columns of `centred` (p, ≥ n), and |x'|."""
    n, p = X.shape
    lengths[:n] = 0.0
    for i in range(p):
        _centre_feature(X[:, i], origin[i], centred[i, :n], lengths[:n])
    for b in range(n):
        lengths[b] = sqrt(lengths[b])


@compiled
def _centre_feature(
    x: FloatArray, origin: float, out: FloatArray, square: FloatArray
) -> None:
    """Subtract the origin from one feature of all rows; add its squares."""
    for b in range(x.shape[0]):
        centred = x[b] - origin
        out[b] = centred
        square[b] += centred * centred


@compiled
def evaluate(
    quadratic: QuadraticForms, centred: FloatArray, n: int, values: FloatArray
) -> None:
    """Write the polynomials' values (M, ≥ n) for the first n columns of `centred`.

    Columns are taken sixteen at a time: both arrays are padded to a multiple of that.
    """
    M, L = quadratic.factors.shape
    p, step = centred.shape
    factors = quadratic.factors.reshape(M * L)
    x = centred.reshape(p * step)
    out = values.reshape(M * step)
    for first in range(0, n, ROWS):
        for m in range(0, M - 1, 2):
            start = quadratic.start[m], quadratic.start[m + 1]
            _two_classes(factors, m * L, p, start, x, step, first, out, m * step)
        if M % 2 == 1:
            m = M - 1
            _one_class(
                factors, m * L, p, quadratic.start[m], x, step, first, out, m * step
            )


@compiled
def evaluate_one(
    quadratic: QuadraticForms,
    m: int,
    centred: FloatArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Write class m's values for the columns first … last − 1 of `centred`.

    Columns are taken sixteen at a time; others in the first and last group are written
    too.
    """
    M, L = quadratic.factors.shape
    p, step = centred.shape
    factors = quadratic.factors.reshape(M * L)
    x = centred.reshape(p * step)
    out = values.reshape(M * step)
    start = quadratic.start[m]
    for k in range(first - first % ROWS, last, ROWS):
        _one_class(factors, m * L, p, start, x, step, k, out, m * step)


@compiled_inline
def _two_classes(
    factors: FloatArray,
    at: int,
    p: int,
    start: tuple[float, float],
    x: FloatArray,
    step: int,
    first: int,
    values: FloatArray,
    to: int,
) -> None:
    """Evaluate the polynomials of two classes for sixteen columns from `first` on.

    The classes' factors start at `at`; the rows are loaded once for both. Values are
    written from `to` on, the second class's `step` places later.
    """
    products = p * (p + 1) // 2
    next_class = products + p
    a0 = doubles(start[0])
    a1, a2, a3 = a0, a0, a0
    b0 = doubles(start[1])
    b1, b2, b3 = b0, b0, b0
    place = at
    for i in range(p):
        c0 = doubles(factors[at + products + i])
        c1, c2, c3 = c0, c0, c0
        d0 = doubles(factors[at + next_class + products + i])
        d1, d2, d3 = d0, d0, d0
        for j in range(i, p):
            c = doubles(factors[place])
            d = doubles(factors[place + next_class])
            place += 1
            here = j * step + first
            v = load_doubles(x, here)
            c0 = fused(c, v, c0)
            d0 = fused(d, v, d0)
            v = load_doubles(x, here + 4)
            c1 = fused(c, v, c1)
            d1 = fused(d, v, d1)
            v = load_doubles(x, here + 8)
            c2 = fused(c, v, c2)
            d2 = fused(d, v, d2)
            v = load_doubles(x, here + 12)
            c3 = fused(c, v, c3)
            d3 = fused(d, v, d3)
        here = i * step + first
        v = load_doubles(x, here)
        a0 = fused(c0, v, a0)
        b0 = fused(d0, v, b0)
        v = load_doubles(x, here + 4)
        a1 = fused(c1, v, a1)
        b1 = fused(d1, v, b1)
        v = load_doubles(x, here + 8)
        a2 = fused(c2, v, a2)
        b2 = fused(d2, v, b2)
        v = load_doubles(x, here + 12)
        a3 = fused(c3, v, a3)
        b3 = fused(d3, v, b3)
    _store_sixteen(values, to + first, a0, a1, a2, a3)
    _store_sixteen(values, to + step + first, b0, b1, b2, b3)


@compiled_inline
def _one_class(
    factors: FloatArray,
    at: int,
    p: int,
    start: float,
    x: FloatArray,
    step: int,
    first: int,
    values: FloatArray,
    to: int,
) -> None:
    """Do what `_two_classes` does, for one class."""
    products = p * (p + 1) // 2
    a0 = doubles(start)
    a1, a2, a3 = a0, a0, a0
    place = at
    for i in range(p):
        c0 = doubles(factors[at + products + i])
        c1, c2, c3 = c0, c0, c0
        for j in range(i, p):
            c = doubles(factors[place])
            place += 1
            here = j * step + first
            c0 = fused(c, load_doubles(x, here), c0)
            c1 = fused(c, load_doubles(x, here + 4), c1)
            c2 = fused(c, load_doubles(x, here + 8), c2)
            c3 = fused(c, load_doubles(x, here + 12), c3)
        here = i * step + first
        a0 = fused(c0, load_doubles(x, here), a0)
        a1 = fused(c1, load_doubles(x, here + 4), a1)
        a2 = fused(c2, load_doubles(x, here + 8), a2)
        a3 = fused(c3, load_doubles(x, here + 12), a3)
    _store_sixteen(values, to + first, a0, a1, a2, a3)


@compiled
def add_linear(
    start: float,
    linear: FloatArray,
    centred: FloatArray,
    first: int,
    last: int,
    values: FloatArray,
) -> None:
    """Add start + Σ linear_i x_i to the values (≥ last,) of columns first … last − 1.

    Columns are taken sixteen at a time; others in the first and last group get it too.
    """
    p, step = centred.shape
    x = centred.reshape(p * step)
    for k in range(first - first % ROWS, last, ROWS):
        a0 = load_doubles(values, k) + start
        a1 = load_doubles(values, k + 4) + start
        a2 = load_doubles(values, k + 8) + start
        a3 = load_doubles(values, k + 12) + start
        for i in range(p):
            c = doubles(linear[i])
            here = i * step + k
            a0 = fused(c, load_doubles(x, here), a0)
            a1 = fused(c, load_doubles(x, here + 4), a1)
            a2 = fused(c, load_doubles(x, here + 8), a2)
            a3 = fused(c, load_doubles(x, here + 12), a3)
        _store_sixteen(values, k, a0, a1, a2, a3)


@compiled_inline
def _store_sixteen(
    values: FloatArray, first: int, a: Doubles, b: Doubles, c: Doubles, d: Doubles
) -> None:
    """Write four vectors of four values from `first` on."""
    store_doubles(values, first, a)
    store_doubles(values, first + 4, b)
    store_doubles(values, first + 8, c)
    store_doubles(values, first + 12, d)


@compiled
def bound_errors(
    quadratic: QuadraticForms,
    m: int,
    constant: float,
    lengths: FloatArray,
    first: int,
    last: int,
    error_bounds: FloatArray,
) -> None:
    """Bound |value + constant − score| of class m, with the precisions of its form.

    Written to `error_bounds` for rows first … last − 1, four at a time. `lengths` are
    the rows' |x'|, `constant` is the class's log density at the mean. A class prior
    adds `score_rounding` times its absolute value to the bound.
    """
    p = quadratic.origin.shape[0]
    rows = quadratic.staleness.rows[m]
    trace_root = quadratic.trace_root[m]
    near = 1.01 * (p + 2) * DOUBLE * trace_root
    # Each `shift_means` rounds the linear factors and the means.
    _bound_rows(
        0.5 * quadratic.gamma + 1.01 * rows * (p + 8) * DOUBLE,
        near,
        2.0 * near * quadratic.origin_norm
        + 1.01 * rows * (p + 16) * DOUBLE * quadratic.norm_bound[m],
        score_rounding(quadratic.centre.shape[0]),
        trace_root,
        quadratic.mean_norm[m],
        abs(constant) + 1.0,
        lengths,
        first,
        last,
        error_bounds,
    )


@compiled
def _bound_rows(
    rounding: float,
    near: float,
    far: float,
    lost: float,
    trace_root: float,
    mean_norm: float,
    constant: float,
    lengths: FloatArray,
    first: int,
    last: int,
    error_bounds: FloatArray,
) -> None:
    """Write the error bounds of one class, four rows at a time; see `bound_errors`."""
    for b in range(first - first % DOUBLES, last, DOUBLES):
        length = load_doubles(lengths, b)
        # √(Σ w (z − μ)²) is at most `size`; with z in double precision, at most `most`.
        size = length * trace_root + mean_norm
        # |x| + |x₀| is at most |x'| + 2|x₀|.
        projection_error = length * near + far
        most = size + projection_error
        square = size * size
        bound = square * rounding + projection_error * most
        bound = bound + (most * most * 0.5 + constant) * lost
        known = where_greater(doubles(_LARGEST), square, bound, doubles(np.inf))
        store_doubles(error_bounds, b, known)
