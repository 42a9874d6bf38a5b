"""Products of rows with a matrix, for the kernels of `features`."""

from rpnb.core.kernels.arrays import SingleArray
from rpnb.core.kernels.compiling.compiled import compiled_borrowing
from rpnb.core.kernels.vectors import (
    load_singles,
    multiply_add,
    singles,
    store_singles,
)


@compiled_borrowing
def multiply_rows(
    rows: SingleArray, matrix: SingleArray, start: SingleArray, out: SingleArray
) -> None:
    """Set out (n, C) to start (C,) + rows (n, E) · matrix (E, C), C a multiple of 8.

    Each entry is one chain in single precision, in the order of the E terms, so that a
    row gets the same bits whatever rows are with it.
    """
    n, E = rows.shape
    C = matrix.shape[1]
    x = rows.reshape(n * E)
    v = matrix.reshape(E * C)
    o = out.reshape(n * C)
    fours = n - n % 4
    wide = C - C % 32
    for r in range(0, fours, 4):
        for c in range(0, wide, 32):
            _four_rows(x, r * E, v, E, C, c, start, o, r * C)
        for c in range(wide, C, 8):
            _four_rows_narrow(x, r * E, v, E, C, c, start, o, r * C)
    for r in range(fours, n):
        for c in range(0, wide, 32):
            _one_row(x, r * E, v, E, C, c, start, o, r * C)
        for c in range(wide, C, 8):
            a = load_singles(start, c)
            for i in range(E):
                w = load_singles(v, i * C + c)
                a = multiply_add(w, singles(x[r * E + i]), a)
            store_singles(o, r * C + c, a)


@compiled_borrowing
def _four_rows(
    x: SingleArray,
    at: int,
    v: SingleArray,
    E: int,
    C: int,
    c: int,
    start: SingleArray,
    o: SingleArray,
    to: int,
) -> None:
    """Multiply four rows with 32 columns from c on."""
    s0 = load_singles(start, c)
    s1 = load_singles(start, c + 8)
    s2 = load_singles(start, c + 16)
    s3 = load_singles(start, c + 24)
    a0 = s0
    a1 = s1
    a2 = s2
    a3 = s3
    b0 = s0
    b1 = s1
    b2 = s2
    b3 = s3
    d0 = s0
    d1 = s1
    d2 = s2
    d3 = s3
    e0 = s0
    e1 = s1
    e2 = s2
    e3 = s3
    for i in range(E):
        w0 = load_singles(v, i * C + c)
        w1 = load_singles(v, i * C + c + 8)
        w2 = load_singles(v, i * C + c + 16)
        w3 = load_singles(v, i * C + c + 24)
        y = singles(x[at + i])
        a0 = multiply_add(w0, y, a0)
        a1 = multiply_add(w1, y, a1)
        a2 = multiply_add(w2, y, a2)
        a3 = multiply_add(w3, y, a3)
        y = singles(x[at + E + i])
        b0 = multiply_add(w0, y, b0)
        b1 = multiply_add(w1, y, b1)
        b2 = multiply_add(w2, y, b2)
        b3 = multiply_add(w3, y, b3)
        y = singles(x[at + 2 * E + i])
        d0 = multiply_add(w0, y, d0)
        d1 = multiply_add(w1, y, d1)
        d2 = multiply_add(w2, y, d2)
        d3 = multiply_add(w3, y, d3)
        y = singles(x[at + 3 * E + i])
        e0 = multiply_add(w0, y, e0)
        e1 = multiply_add(w1, y, e1)
        e2 = multiply_add(w2, y, e2)
        e3 = multiply_add(w3, y, e3)
    store_singles(o, to + c, a0)
    store_singles(o, to + c + 8, a1)
    store_singles(o, to + c + 16, a2)
    store_singles(o, to + c + 24, a3)
    to += C
    store_singles(o, to + c, b0)
    store_singles(o, to + c + 8, b1)
    store_singles(o, to + c + 16, b2)
    store_singles(o, to + c + 24, b3)
    to += C
    store_singles(o, to + c, d0)
    store_singles(o, to + c + 8, d1)
    store_singles(o, to + c + 16, d2)
    store_singles(o, to + c + 24, d3)
    to += C
    store_singles(o, to + c, e0)
    store_singles(o, to + c + 8, e1)
    store_singles(o, to + c + 16, e2)
    store_singles(o, to + c + 24, e3)


@compiled_borrowing
def _four_rows_narrow(
    x: SingleArray,
    at: int,
    v: SingleArray,
    E: int,
    C: int,
    c: int,
    start: SingleArray,
    o: SingleArray,
    to: int,
) -> None:
    """Multiply four rows with 8 columns from c on."""
    a = load_singles(start, c)
    b = a
    d = a
    e = a
    for i in range(E):
        w = load_singles(v, i * C + c)
        a = multiply_add(w, singles(x[at + i]), a)
        b = multiply_add(w, singles(x[at + E + i]), b)
        d = multiply_add(w, singles(x[at + 2 * E + i]), d)
        e = multiply_add(w, singles(x[at + 3 * E + i]), e)
    store_singles(o, to + c, a)
    store_singles(o, to + C + c, b)
    store_singles(o, to + 2 * C + c, d)
    store_singles(o, to + 3 * C + c, e)


@compiled_borrowing
def _one_row(
    x: SingleArray,
    at: int,
    v: SingleArray,
    E: int,
    C: int,
    c: int,
    start: SingleArray,
    o: SingleArray,
    to: int,
) -> None:
    """Multiply a row with 32 columns from c on."""
    a0 = load_singles(start, c)
    a1 = load_singles(start, c + 8)
    a2 = load_singles(start, c + 16)
    a3 = load_singles(start, c + 24)
    for i in range(E):
        y = singles(x[at + i])
        a0 = multiply_add(load_singles(v, i * C + c), y, a0)
        a1 = multiply_add(load_singles(v, i * C + c + 8), y, a1)
        a2 = multiply_add(load_singles(v, i * C + c + 16), y, a2)
        a3 = multiply_add(load_singles(v, i * C + c + 24), y, a3)
    store_singles(o, to + c, a0)
    store_singles(o, to + c + 8, a1)
    store_singles(o, to + c + 16, a2)
    store_singles(o, to + c + 24, a3)
