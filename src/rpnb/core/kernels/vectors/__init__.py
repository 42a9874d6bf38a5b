"""Vectors of eight singles or four doubles, with which kernels keep sums in registers.

The compiler vectorises a simple loop by itself, but not one over many arrays, which it
must assume may overlap, and it never keeps a tile of sums in registers across a loop.
Kernels that gain from either are written with these vectors: numbers and vectors mix in
``+ - * /``, lane by lane.

`plain` defines each operation in NumPy and is used uncompiled; `emitted` implements it
with LLVM's generic vectors, which take one instruction on one machine and two on
another, with the same bits.
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
