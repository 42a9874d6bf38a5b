"""Products of rows in single precision: with a matrix, with each other, combined.

Each entry of a result is one chain of operations, in an order that does not depend on
what is computed beside it: a row gets the same bits whatever rows are with it.
"""

from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled_borrowing
from rpnb.core.kernels.vectors import (
    doubles,
    fused,
    load_singles,
    load_widened,
    multiply_add,
    singles,
    store_doubles,
    store_singles,
    sum_singles,
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


@compiled_borrowing
def inner_products(
    packed: SingleArray, capacity: int, first: int, last: int, gram: SingleArray
) -> None:
    """Set gram[r, s] to ⟨φ_r, φ_s⟩ for all s ≤ r, r from `first` to `last` − 1.

    Rows are packed: [block of 16 columns][row][16].
    """
    for r in range(first, last):
        s = 0
        while s + 4 <= r + 1:
            _four_products(packed, capacity, r, s, gram[r])
            s += 4
        for k in range(s, r + 1):
            a0 = singles(0.0)
            a1 = singles(0.0)
            for b in range(0, packed.shape[0], 16 * capacity):
                x = b + 16 * r
                y = b + 16 * k
                a0 = multiply_add(load_singles(packed, x), load_singles(packed, y), a0)
                a1 = multiply_add(
                    load_singles(packed, x + 8), load_singles(packed, y + 8), a1
                )
            gram[r, k] = sum_singles(a0 + a1)


@compiled_borrowing
def _four_products(
    packed: SingleArray, capacity: int, r: int, s: int, out: SingleArray
) -> None:
    """Set out[s … s + 3] to the inner products of row r with rows s … s + 3."""
    a0 = singles(0.0)
    a1 = singles(0.0)
    c0 = singles(0.0)
    c1 = singles(0.0)
    d0 = singles(0.0)
    d1 = singles(0.0)
    e0 = singles(0.0)
    e1 = singles(0.0)
    for b in range(0, packed.shape[0], 16 * capacity):
        x0 = load_singles(packed, b + 16 * r)
        x1 = load_singles(packed, b + 16 * r + 8)
        y = b + 16 * s
        a0 = multiply_add(x0, load_singles(packed, y), a0)
        a1 = multiply_add(x1, load_singles(packed, y + 8), a1)
        c0 = multiply_add(x0, load_singles(packed, y + 16), c0)
        c1 = multiply_add(x1, load_singles(packed, y + 24), c1)
        d0 = multiply_add(x0, load_singles(packed, y + 32), d0)
        d1 = multiply_add(x1, load_singles(packed, y + 40), d1)
        e0 = multiply_add(x0, load_singles(packed, y + 48), e0)
        e1 = multiply_add(x1, load_singles(packed, y + 56), e1)
    out[s] = sum_singles(a0 + a1)
    out[s + 1] = sum_singles(c0 + c1)
    out[s + 2] = sum_singles(d0 + d1)
    out[s + 3] = sum_singles(e0 + e1)


@compiled_borrowing
def combine_rows(
    packed: SingleArray, capacity: int, rows: int, factors: FloatArray, out: FloatArray
) -> None:
    """Set out (C, E) to Σ_r factors[r, c] φ_r over the first rows; C a multiple of 4.

    Rows are packed as above; sums are in double precision.
    """
    C, E = out.shape
    x = factors.reshape(factors.shape[0] * C)
    o = out.reshape(C * E)
    for b in range(E // 16):
        for c in range(0, C, 4):
            _combine_block(packed, 16 * b * capacity, rows, x, C, c, E, o, 16 * b)


@compiled_borrowing
def _combine_block(
    packed: SingleArray,
    p: int,
    rows: int,
    x: FloatArray,
    C: int,
    c: int,
    E: int,
    o: FloatArray,
    to: int,
) -> None:
    """Combine rows in a block of 16 columns from p on, for four columns of x."""
    a0 = doubles(0.0)
    a1 = doubles(0.0)
    a2 = doubles(0.0)
    a3 = doubles(0.0)
    b0 = doubles(0.0)
    b1 = doubles(0.0)
    b2 = doubles(0.0)
    b3 = doubles(0.0)
    d0 = doubles(0.0)
    d1 = doubles(0.0)
    d2 = doubles(0.0)
    d3 = doubles(0.0)
    e0 = doubles(0.0)
    e1 = doubles(0.0)
    e2 = doubles(0.0)
    e3 = doubles(0.0)
    for r in range(rows):
        y0 = load_widened(packed, p + 16 * r)
        y1 = load_widened(packed, p + 16 * r + 4)
        y2 = load_widened(packed, p + 16 * r + 8)
        y3 = load_widened(packed, p + 16 * r + 12)
        w = doubles(x[C * r + c])
        a0 = fused(y0, w, a0)
        a1 = fused(y1, w, a1)
        a2 = fused(y2, w, a2)
        a3 = fused(y3, w, a3)
        w = doubles(x[C * r + c + 1])
        b0 = fused(y0, w, b0)
        b1 = fused(y1, w, b1)
        b2 = fused(y2, w, b2)
        b3 = fused(y3, w, b3)
        w = doubles(x[C * r + c + 2])
        d0 = fused(y0, w, d0)
        d1 = fused(y1, w, d1)
        d2 = fused(y2, w, d2)
        d3 = fused(y3, w, d3)
        w = doubles(x[C * r + c + 3])
        e0 = fused(y0, w, e0)
        e1 = fused(y1, w, e1)
        e2 = fused(y2, w, e2)
        e3 = fused(y3, w, e3)
    to += E * c
    store_doubles(o, to, a0)
    store_doubles(o, to + 4, a1)
    store_doubles(o, to + 8, a2)
    store_doubles(o, to + 12, a3)
    to += E
    store_doubles(o, to, b0)
    store_doubles(o, to + 4, b1)
    store_doubles(o, to + 8, b2)
    store_doubles(o, to + 12, b3)
    to += E
    store_doubles(o, to, d0)
    store_doubles(o, to + 4, d1)
    store_doubles(o, to + 8, d2)
    store_doubles(o, to + 12, d3)
    to += E
    store_doubles(o, to, e0)
    store_doubles(o, to + 4, e1)
    store_doubles(o, to + 8, e2)
    store_doubles(o, to + 12, e3)
