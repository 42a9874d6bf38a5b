"""The pool without the compiler, for the first rows on a new machine.

Compiling the kernels takes 40 s, and 150 rows in Python a few seconds. Until the
time in Python has reached that of compiling, models of up to 256 rows learn and predict
by the kernels' Python source, with the products and factors of matrices in NumPy, as
below. Labels and state have the same bits: each entry is the same chain of operations.
"""

from collections.abc import Callable
from math import lgamma
from typing import Any, Final, TypeVar

import numpy as np

from rpnb.core.kernels import vectors
from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiling.budget import CompilingBudget
from rpnb.core.kernels.compiling.fused_numpy import fused_doubles, fused_singles
from rpnb.core.kernels.compiling.interpreted import Interpreter, library_function
from rpnb.core.pooled import features, pool
from rpnb.core.pooled.algebra import blocks, outer_products, row_products
from rpnb.core.pooled.algebra.outer_products import STEPS
from rpnb.core.pooled.members import neighbours

F = TypeVar("F", bound=Callable[..., Any])

#: Rows learnt up to which a model may run without the compiler.
MOST_ROWS: Final = 256
# Nanoseconds of compiling all kernels, 4e10, times what the costs below are too high
# by where rows are wide: 1.0 for 4 features, 1.9 for 30.
_COMPILING: Final = 70e9
# Nanoseconds in Python: to begin a model, and for each of its features; for a row that
# is learnt or predicted, for each of its features, and for each class.
_BEGINNING: Final = (1e8, 3e7)
_LEARNING: Final = (2.5e7, 2e6, 5e5)
_PREDICTING: Final = (2e6, 8e5, 1e5)


def multiply_rows(
    rows: SingleArray, matrix: SingleArray, start: SingleArray, out: SingleArray
) -> None:
    """Do what `row_products.multiply_rows` does."""
    total = np.broadcast_to(start, out.shape)
    for i in range(rows.shape[1]):
        total = fused_singles(matrix[i], rows[:, i, None], total)
    out[:] = total


def inner_products(
    packed: SingleArray, capacity: int, first: int, last: int, gram: SingleArray
) -> None:
    """Do what `row_products.inner_products` does."""
    columns = packed.reshape(-1, capacity, 16)[:, :last]
    total = np.zeros((last - first, last, 16), np.float32)
    for block in columns:
        total = fused_singles(block[first:, None], block, total)
    wide = (total[:, :, :8] + total[:, :, 8:]).astype(np.float64)
    four = wide[:, :, :4] + wide[:, :, 4:]
    product = ((four[:, :, 0] + four[:, :, 1]) + four[:, :, 2]) + four[:, :, 3]
    for r in range(first, last):
        gram[r, : r + 1] = product[r - first, : r + 1]


def combine_rows(
    packed: SingleArray, capacity: int, rows: int, factors: FloatArray, out: FloatArray
) -> None:
    """Do what `row_products.combine_rows` does."""
    columns = packed.reshape(-1, capacity, 16).transpose(1, 0, 2)
    wide = columns[:rows].reshape(rows, -1).astype(np.float64)
    total = np.zeros(out.shape)
    for r in range(rows):
        total = fused_doubles(wide[r], factors[r, :, None], total)
    out[:] = total


def _entries(E: int) -> IntArray:
    """Return where each entry (i, j) of a matrix is; above the diagonal blocks, 0."""
    i, j = np.arange(E)[:, None], np.arange(E)
    H, J = i // 16, j // 16
    at = 256 * (H * (H + 1) // 2 + J) + 16 * (j % 16) + i % 16
    return np.where(J <= H, at, 0)


def _store(matrix: FloatArray, values: FloatArray) -> None:
    """Write the lower triangle of blocks of an array (E, E) as a matrix in blocks."""
    E = values.shape[0]
    below = np.arange(E) // 16 <= np.arange(E)[:, None] // 16
    matrix[_entries(E)[below]] = values[below]


def subtract_outer(
    matrix: FloatArray, left: FloatArray, right: FloatArray, count: int
) -> None:
    """Do what `blocks.subtract_outer` does."""
    E = left.shape[0] // count
    one, other = (
        side.reshape(-1, count, 16).transpose(1, 0, 2).reshape(count, E)
        for side in (left, right)
    )
    total = np.zeros((E, E))
    for c in range(count):
        total = fused_doubles(one[c, :, None], other[c], total)
    _store(matrix, matrix[_entries(E)] - total)


def cholesky(matrix: FloatArray, E: int) -> bool:
    """Do what `blocks.cholesky` does."""
    L = matrix[_entries(E)]
    for first in range(0, E, 16):
        last = first + 16
        total = np.zeros((E - first, 16))
        for k in range(first):
            total = fused_doubles(L[first:, k, None], L[first:last, k], total)
        L[first:last, first:last] -= total[:16]
        for j in range(first, last):
            for k in range(first, j):
                L[j:last, j] -= L[j, k] * L[j:last, k]
            if not L[j, j] > 0.0:
                _store(matrix, L)
                return False
            L[first:j, j] = 0.0
            L[j:last, j] /= np.sqrt(L[j, j])
        L[last:, first:last] -= total[16:]
        for j in range(first, last):
            for k in range(first, j):
                L[last:, j] = fused_doubles(-L[j, k, None], L[last:, k], L[last:, j])
            L[last:, j] /= L[j, j]
    _store(matrix, L)
    return True


def solve(factor: FloatArray, E: int, X: FloatArray) -> None:
    """Do what `blocks.solve` does."""
    L = factor[_entries(E)]
    for first in range(0, E, 16):
        last = first + 16
        total = np.zeros((16, X.shape[1]))
        for k in range(first):
            total = fused_doubles(X[k], L[first:last, k, None], total)
        X[first:last] -= total
        for i in range(first, last):
            for k in range(first, i):
                X[i] = fused_doubles(-L[i, k, None], X[k], X[i])
            X[i] /= L[i, i]
    for first in range(E - 16, -1, -16):
        last = first + 16
        for later in range(last, E, 16):
            total = np.zeros((16, X.shape[1]))
            for k in range(later, later + 16):
                total = fused_doubles(X[k], L[k, first:last, None], total)
            X[first:last] -= total
        for k in range(last - 1, first - 1, -1):
            for i in range(k + 1, last):
                X[k] = fused_doubles(-L[i, k, None], X[i], X[k])
            X[k] /= L[k, k]


def add_exact_products(
    matrix: FloatArray, packed: SingleArray, capacity: int, first: int, last: int
) -> None:
    """Do what `outer_products.add_exact_products` does: sums of integers, exact."""
    columns = packed.reshape(-1, capacity, 16)[:, first:last].transpose(1, 0, 2)
    rows = columns.reshape(last - first, -1).astype(np.float64)
    _store(matrix, matrix[_entries(rows.shape[1])] + rows.T @ rows)


def round_row(row: SingleArray) -> None:
    """Do what `features._round` does."""
    steps = np.floor(row * STEPS + np.float32(0.5))
    row[:] = np.minimum(steps, features.MOST_STEPS) / STEPS


def fill_distances(rows: SingleArray, x: SingleArray, distance: SingleArray) -> None:
    """Do what `neighbours._fill_distances` does."""
    total = np.zeros(distance.shape[0], np.float32)
    for j in range(x.shape[0]):
        difference = rows[j] - x[j]
        total = fused_singles(difference, difference, total)
    distance[:] = total


# Python's own differs in the last bit.
_lgamma = library_function("lgamma")

#: Turns a kernel, or a function that calls kernels, into one that compiles nothing.
plain = Interpreter(
    {
        lgamma: _lgamma or lgamma,
        vectors.fused: fused_doubles,
        vectors.multiply_add: fused_singles,
        row_products.multiply_rows: multiply_rows,
        row_products.inner_products: inner_products,
        row_products.combine_rows: combine_rows,
        blocks.subtract_outer: subtract_outer,
        blocks.cholesky: cholesky,
        blocks.solve: solve,
        outer_products.add_exact_products: add_exact_products,
        features._round: round_row,
        neighbours._fill_distances: fill_distances,
    },
    "rpnb.core",
)

# The kernel that every model needs stands for all of them.
_kernels = CompilingBudget(pool.pool_rows, compiling=_COMPILING)


def as_it_is(function: F) -> F:
    """Return the function: kernels are compiled."""
    return function


def code_for_beginning(p: int) -> Callable[[F], F]:
    """Return what turns functions into those that begin a model of p features."""
    cost = _BEGINNING[0] + _BEGINNING[1] * p
    return as_it_is if _lgamma is None or _kernels.pays(cost) else plain


def code_for_rows(n: int, learn: bool, learnt: int, p: int, M: int) -> Callable[[F], F]:
    """Return what turns functions into those that learn, or predict, n rows.

    The model has learnt `learnt` rows so far, and has p features and M classes.
    """
    if _lgamma is None or learnt + learn * n > MOST_ROWS:
        return as_it_is
    row, feature, label = _LEARNING if learn else _PREDICTING
    cost = n * (row + feature * p + label * M)
    return as_it_is if _kernels.pays(cost) else plain
