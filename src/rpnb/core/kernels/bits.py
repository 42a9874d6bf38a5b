"""Sets of up to 64 things as bits of a word: comparing, counting, listing them.

Uncompiled, the functions are the plain ones; compiled code gets an instruction or two
for each, which the second half of this file emits.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from rpnb.core.kernels.arrays import FloatArray, SingleArray


def count_bits(word: np.uint64) -> int:
    """Return the number of bits that are set."""
    return int(word).bit_count()


def lowest_bit(word: np.uint64) -> int:
    """Return the place of the lowest bit that is set; there must be one."""
    value = int(word)
    return (value & -value).bit_length() - 1


def eight_below(
    values: FloatArray | SingleArray, at: int, threshold: float
) -> np.uint64:
    """Return, as bits, which of eight values from `at` on are ≤ the threshold."""
    below = values[at : at + 8] <= threshold
    return np.uint64(sum(1 << r for r in range(8) if below[r]))


# What follows runs inside the compiler, where no coverage tool can follow.
def _type_count_bits(_context: Any, word: Any) -> Any:  # pragma: no cover
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), emit


def _type_lowest_bit(_context: Any, word: Any) -> Any:  # pragma: no cover
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


def _type_eight_below(
    _context: Any, values: Any, at: Any, threshold: Any
) -> Any:  # pragma: no cover
    single = values.dtype == types.float32
    code = ir.VectorType(ir.FloatType() if single else ir.DoubleType(), 8)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(
            builder.gep(array.data, [arguments[1]]), code.as_pointer()
        )
        eight = builder.load(place, align=4 if single else 8)
        lane = ir.IntType(32)
        nothing = ir.Constant(code, ir.Undefined)
        one = builder.insert_element(nothing, arguments[2], ir.Constant(lane, 0))
        first = ir.Constant(ir.VectorType(lane, 8), [0] * 8)
        bound = builder.shuffle_vector(one, nothing, first)
        below = builder.fcmp_ordered("<=", eight, bound)
        return builder.zext(builder.bitcast(below, ir.IntType(8)), ir.IntType(64))

    return types.uint64(values, types.intp, values.dtype), emit


_count_bits: Any = intrinsic(_type_count_bits)
_lowest_bit: Any = intrinsic(_type_lowest_bit)
_eight_below: Any = intrinsic(_type_eight_below)


@overload(count_bits, strict=False)
def _overload_count_bits(word: Any) -> Any:  # pragma: no cover
    return lambda word: _count_bits(word)


@overload(lowest_bit, strict=False)
def _overload_lowest_bit(word: Any) -> Any:  # pragma: no cover
    return lambda word: _lowest_bit(word)


@overload(eight_below, strict=False)
def _overload_eight_below(
    values: Any, at: Any, threshold: Any
) -> Any:  # pragma: no cover
    return lambda values, at, threshold: _eight_below(values, at, threshold)
