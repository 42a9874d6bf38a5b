"""Symmetric matrices as lower triangles: quadratic forms, products, inverses.

A triangle is kept row by row: entry (j, k), k ≤ j, has the number j(j + 1)/2 + k. The
matrices of four classes lie side by side, entry by entry, as the lanes of a vector.
"""

from math import log, sqrt
from typing import Final

from rpnb.core.kernels.arrays import BoolArray, FloatArray
from rpnb.core.kernels.compiling.compiled import (
    compiled_borrowing,
    compiled_borrowing_inline,
)
from rpnb.core.kernels.vectors import (
    doubles,
    fused,
    greater,
    load_doubles,
    store_doubles,
)

#: A pivot is at least this part of its diagonal entry. Less is rounding error, which a
#: row of huge weight makes larger than what all others have added.
LEAST_PIVOT: Final = 2.0**-52


@compiled_borrowing
def fill_forms(
    entries: FloatArray,
    means: FloatArray,
    chosen: BoolArray,
    x: FloatArray,
    m0: FloatArray,
    shares: FloatArray,
    rests: FloatArray,
    factors: FloatArray,
    delta: FloatArray,
    forms: FloatArray,
) -> None:
    """Set 1 + q of the classes of all groups chosen, group by group.

    `entries` and `means` are the inverses and means as flat arrays.
    """
    for group in range(chosen.shape[0]):
        if chosen[group]:
            _fill_group(
                entries, means, group, x, m0, shares, rests, factors, delta, forms
            )


@compiled_borrowing_inline
def _fill_group(
    entries: FloatArray,
    means: FloatArray,
    group: int,
    x: FloatArray,
    m0: FloatArray,
    shares: FloatArray,
    rests: FloatArray,
    factors: FloatArray,
    delta: FloatArray,
    forms: FloatArray,
) -> None:
    """Set 1 + q of the four classes of a group."""
    d = x.shape[0]
    share = load_doubles(shares, 4 * group)
    rest = load_doubles(rests, 4 * group)
    at = 4 * d * group
    for j in range(d):
        centre = share * load_doubles(means, at) + rest * doubles(m0[j])
        store_doubles(delta, 4 * j, doubles(x[j]) - centre)
        at += 4
    first = 2 * d * (d + 1) * group
    squares = doubles(0.0)
    products = doubles(0.0)
    fours = d - d % 4
    for j in range(0, fours, 4):
        # Four rows of the triangle at once.
        p = first + 2 * j * (j + 1)
        q = p + 4 * (j + 1)
        r = q + 4 * (j + 2)
        s = r + 4 * (j + 3)
        a = doubles(0.0)
        b = doubles(0.0)
        c = doubles(0.0)
        e = doubles(0.0)
        for k in range(0, 4 * j, 4):
            there = load_doubles(delta, k)
            a = fused(load_doubles(entries, p + k), there, a)
            b = fused(load_doubles(entries, q + k), there, b)
            c = fused(load_doubles(entries, r + k), there, c)
            e = fused(load_doubles(entries, s + k), there, e)
        k = 4 * j
        x0 = load_doubles(delta, k)
        x1 = load_doubles(delta, k + 4)
        x2 = load_doubles(delta, k + 8)
        x3 = load_doubles(delta, k + 12)
        b = fused(load_doubles(entries, q + k), x0, b)
        c = fused(load_doubles(entries, r + k), x0, c)
        c = fused(load_doubles(entries, r + k + 4), x1, c)
        e = fused(load_doubles(entries, s + k), x0, e)
        e = fused(load_doubles(entries, s + k + 4), x1, e)
        e = fused(load_doubles(entries, s + k + 8), x2, e)
        products = fused(a, x0, products)
        products = fused(b, x1, products)
        products = fused(c, x2, products)
        products = fused(e, x3, products)
        squares = fused(load_doubles(entries, p + k) * x0, x0, squares)
        squares = fused(load_doubles(entries, q + k + 4) * x1, x1, squares)
        squares = fused(load_doubles(entries, r + k + 8) * x2, x2, squares)
        squares = fused(load_doubles(entries, s + k + 12) * x3, x3, squares)
    for j in range(fours, d):
        p = first + 2 * j * (j + 1)
        x0 = load_doubles(delta, 4 * j)
        a = doubles(0.0)
        for k in range(0, 4 * j, 4):
            a = fused(load_doubles(entries, p + k), load_doubles(delta, k), a)
        products = fused(a, x0, products)
        squares = fused(load_doubles(entries, p + 4 * j) * x0, x0, squares)
    form = squares + products * doubles(2.0)
    form = form * load_doubles(factors, 4 * group)
    store_doubles(forms, 4 * group, doubles(1.0) + greater(form, doubles(0.0)))


@compiled_borrowing
def form(
    entries: FloatArray, at: int, step: int, delta: FloatArray, v: FloatArray
) -> float:
    """Set v to matrix · delta; return ⟨delta, v⟩.

    The triangle of the matrix is entries[at], entries[at + step], …
    """
    d = delta.shape[0]
    for j in range(d):
        here = delta[j]
        total = 0.0
        for k in range(j):
            entry = entries[at]
            total += entry * delta[k]
            v[k] += entry * here
            at += step
        v[j] = total + entries[at] * here
        at += step
    product = 0.0
    for j in range(d):
        product += delta[j] * v[j]
    return product


@compiled_borrowing
def invert(
    prior: FloatArray,
    scatter: FloatArray,
    entries: FloatArray,
    at: int,
    step: int,
    space: FloatArray,
) -> float:
    """Invert Λ = prior + scatter, by Cholesky's factor; return log |Λ|.

    Where Λ is singular but for rounding errors, pivots are raised to `LEAST_PIVOT` of
    the diagonal: the result is finite, whatever the weights were. The triangle of the
    inverse goes to entries[at], entries[at + step], … `space` is working space of
    (2, d, d).
    """
    work, inverse = space[0], space[1]
    d = work.shape[0]
    # L below the diagonal of `work`, row by row.
    number = 0
    for i in range(d):
        for j in range(i + 1):
            work[j, i] = prior[number] + scatter[number]
            number += 1
    volume = 0.0
    for k in range(d):
        number = k * (k + 3) // 2
        least = LEAST_PIVOT * (prior[number] + scatter[number])
        if not work[k, k] >= least:
            work[k, k] = least
        root = sqrt(work[k, k])
        volume += 2.0 * log(root)
        for i in range(k, d):
            work[k, i] /= root
        for i in range(k + 1, d):
            factor = work[k, i]
            for j in range(i, d):
                work[i, j] -= factor * work[k, j]
    # Row k of `work`, from the diagonal on, is column k of L. Inverse of L, by rows.
    for i in range(d):
        for j in range(d):
            inverse[i, j] = 1.0 if i == j else 0.0
    for k in range(d):
        pivot = work[k, k]
        for j in range(k + 1):
            inverse[k, j] /= pivot
        for i in range(k + 1, d):
            factor = work[k, i]
            for j in range(k + 1):
                inverse[i, j] -= factor * inverse[k, j]
    # (L Lᵀ)⁻¹ = L⁻ᵀ L⁻¹
    work[:] = 0.0
    for k in range(d):
        for i in range(k + 1):
            factor = inverse[k, i]
            for j in range(i + 1):
                work[i, j] += factor * inverse[k, j]
    for i in range(d):
        for j in range(i + 1):
            entries[at] = work[i, j]
            at += step
    return volume
