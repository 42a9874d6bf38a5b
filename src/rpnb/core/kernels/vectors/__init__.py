"""Vectors of eight singles or four doubles, by which kernels keep sums in registers.

The compiler turns a simple loop into vector operations by itself, but not one over many
arrays, of which it cannot know that they do not overlap, and it never keeps a tile of
sums in registers across a loop. Kernels that gain from either are written in terms of
these vectors: numbers and vectors mix in ``+ - * /``, lane by lane.

`plain` says in NumPy what each operation does, and is what runs uncompiled; `emitted`
says it in the compiler's language, whose generic vectors take one instruction on one
machine and two on another, with the same bits.
"""

from rpnb.core.kernels.vectors import emitted as emitted  # teaches the compiler
from rpnb.core.kernels.vectors.plain import (
    DOUBLES,
    SINGLES,
    Doubles,
    Singles,
    doubles,
    exponent,
    fused,
    greater,
    lesser,
    limit,
    load_doubles,
    load_singles,
    load_widened,
    mantissa,
    multiply_add,
    narrowed,
    singles,
    store_doubles,
    store_singles,
    sum_doubles,
    sum_singles,
    where_greater,
)

__all__ = [
    "DOUBLES",
    "SINGLES",
    "Doubles",
    "Singles",
    "doubles",
    "exponent",
    "fused",
    "greater",
    "lesser",
    "limit",
    "load_doubles",
    "load_singles",
    "load_widened",
    "mantissa",
    "multiply_add",
    "narrowed",
    "singles",
    "store_doubles",
    "store_singles",
    "sum_doubles",
    "sum_singles",
    "where_greater",
]
