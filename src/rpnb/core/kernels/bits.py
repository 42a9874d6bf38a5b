"""Sets of up to 64 things as bits of a word: comparing, counting, listing them.

Uncompiled, the functions are the plain ones; compiled code gets an instruction or two
for each, which the second half of this file emits.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from rpnb.core.kernels.arrays import FloatArray, SingleArray
from rpnb.core.kernels.compiling.operations import (
    emit_address,
    emit_instead,
    emit_repeated,
)


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


# What follows runs inside the compiler, where coverage cannot be measured.
def _type_count_bits(word: Any) -> Any:  # pragma: no cover
    def emit(_context: Any, builder: Any, shape: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.int64(types.uint64), emit


def _type_lowest_bit(word: Any) -> Any:  # pragma: no cover
    def emit(_context: Any, builder: Any, shape: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), emit


def _type_eight_below(array: Any, at: Any, threshold: Any) -> Any:  # pragma: no cover
    single = array.dtype == types.float32
    code = ir.VectorType(ir.FloatType() if single else ir.DoubleType(), 8)

    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        place = emit_address(context, builder, shape.args[0], values, code)
        eight = builder.load(place, align=4 if single else 8)
        bound = emit_repeated(builder, values[2], code)
        below = builder.fcmp_ordered("<=", eight, bound)
        return builder.zext(builder.bitcast(below, ir.IntType(8)), ir.IntType(64))

    return types.uint64(array, types.intp, array.dtype), emit


emit_instead(count_bits, _type_count_bits)
emit_instead(lowest_bit, _type_lowest_bit)
emit_instead(eight_below, _type_eight_below)
