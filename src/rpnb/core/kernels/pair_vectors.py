"""Vectors of 16-bit integers in pairs, whose products are summed in 32 bits, exactly.

A vector has eight pairs; `add_pair_products` adds the two products of each pair of one
vector with those of another to eight sums, which is one instruction on processors with
AVX-512 VNNI and two with SSE2. Uncompiled, operations are those of NumPy below;
compiled code calls the instructions that the second half of this file emits.
"""

from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import types

from rpnb.core.kernels.arrays import CodeArray, WordArray
from rpnb.core.kernels.compiling.operations import (
    LANE,
    VectorType,
    emit_address,
    emit_instead,
    emit_repeated,
)

PAIRS = 8
"""pairs of a vector, and sums"""

# Compiled, a vector is a type of its own.
Pairs: TypeAlias = Any
Sums: TypeAlias = Any


def zero_sums(like: CodeArray) -> Sums:
    """Return eight sums that are zero; the argument is there for the compiler."""
    return np.zeros(PAIRS, np.int32)


def load_pairs(values: CodeArray, start: int) -> Pairs:
    """Return eight pairs, the sixteen values from `start` on; there must be as many."""
    return values[start : start + 2 * PAIRS].copy()


def repeat_pair(values: CodeArray, start: int) -> Pairs:
    """Return the pair of two values from `start` on, eight times."""
    return np.tile(values[start : start + 2], PAIRS)


def add_pair_products(a: Pairs, b: Pairs, sums: Sums) -> Sums:
    """Return, for each pair, its sum plus a₀·b₀ + a₁·b₁; all must fit in 32 bits."""
    products = a.astype(np.int32) * b.astype(np.int32)
    return sums + products[::2] + products[1::2]


def store_sums(values: WordArray, start: int, sums: Sums) -> None:
    """Write eight sums from `start` on; there must be as many."""
    values[start : start + PAIRS] = sums


# What follows runs inside the compiler, where coverage cannot be measured: tests
# compare compiled with plain.
_PAIRS = VectorType("Pairs", 2 * PAIRS, types.int16, ir.IntType(16))
_SUMS = VectorType("Sums", PAIRS, types.int32, LANE)


def _type_zero_sums(like: Any) -> Any:  # pragma: no cover
    def emit(_context: Any, builder: Any, shape: Any, values: Any) -> Any:
        return ir.Constant(_SUMS.code, [0] * PAIRS)

    return _SUMS(like), emit


def _type_load_pairs(array: Any, start: Any) -> Any:  # pragma: no cover
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        place = emit_address(context, builder, shape.args[0], values, _PAIRS.code)
        return builder.load(place, align=2)

    return _PAIRS(array, types.intp), emit


def _type_repeat_pair(array: Any, start: Any) -> Any:  # pragma: no cover
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        # Two values of 16 bits are one of 32.
        place = emit_address(context, builder, shape.args[0], values, LANE)
        repeated = emit_repeated(builder, builder.load(place, align=2), _SUMS.code)
        return builder.bitcast(repeated, _PAIRS.code)

    return _PAIRS(array, types.intp), emit


def _type_add_pair_products(  # pragma: no cover
    a: Any, b: Any, sums: Any
) -> Any:
    def emit(_context: Any, builder: Any, shape: Any, values: Any) -> Any:
        wide = ir.VectorType(LANE, 2 * PAIRS)
        products = builder.mul(*(builder.sext(value, wide) for value in values[:2]))
        nothing = ir.Constant(wide, ir.Undefined)
        halves = []
        for first in range(2):
            lanes = ir.Constant(_SUMS.code, list(range(first, 2 * PAIRS, 2)))
            halves.append(builder.shuffle_vector(products, nothing, lanes))
        return builder.add(values[2], builder.add(*halves))

    return _SUMS(_PAIRS, _PAIRS, _SUMS), emit


def _type_store_sums(  # pragma: no cover
    array: Any, start: Any, sums: Any
) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        place = emit_address(context, builder, shape.args[0], values, _SUMS.code)
        builder.store(values[2], place, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, _SUMS), emit


emit_instead(zero_sums, _type_zero_sums)
emit_instead(load_pairs, _type_load_pairs)
emit_instead(repeat_pair, _type_repeat_pair)
emit_instead(add_pair_products, _type_add_pair_products)
emit_instead(store_sums, _type_store_sums)
