"""The operations of `plain` in LLVM's intermediate language, for compiled code.

An operation is a function that tells the compiler the type of its result and returns
what writes the instructions; `emit_instead` substitutes it for the plain one. This runs
inside the compiler, where coverage cannot be measured: tests compare compiled with
plain.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from rpnb.core.kernels.compiling.operations import (
    LANE,
    VectorType,
    emit_address,
    emit_instead,
    emit_repeated,
)
from rpnb.core.kernels.vectors import plain

# The bits of 2⁵²: with an integer below 2⁵² in their lowest places, of the sum of both.
_BIG = 0x4330000000000000


SINGLES = VectorType("Singles", plain.SINGLES, types.float32, ir.FloatType())
DOUBLES = VectorType("Doubles", plain.DOUBLES, types.float64, ir.DoubleType())


def _vector(
    context: Any, builder: Any, kind: Any, value: Any, vector: VectorType
) -> Any:
    """Write: the vector itself, or a vector of the number."""
    if isinstance(kind, VectorType):
        return value
    return emit_repeated(
        builder, context.cast(builder, value, kind, vector.of), vector.code
    )


def _call(builder: Any, name: str, code: Any, values: Any) -> Any:
    """Write: one of the compiler's own functions of vectors."""
    full = f"llvm.{name}.v{code.count}{code.element.intrinsic_name}"
    function = builder.module.globals.get(full)
    if function is None:
        kind = ir.FunctionType(code, [code] * len(values))
        function = ir.Function(builder.module, kind, full)
    return builder.call(function, values)


def _full(vector: VectorType) -> Any:
    def typed(value: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            return _vector(context, builder, shape.args[0], values[0], vector)

        return vector(value), emit

    return typed


def _load(vector: VectorType, stored: Any) -> Any:
    """Return the operation that reads a vector of `stored` numbers."""
    code = ir.VectorType(stored, vector.lanes)
    size = 4 if isinstance(stored, ir.FloatType) else 8

    def typed(array: Any, start: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            place = emit_address(context, builder, shape.args[0], values, code)
            loaded = builder.load(place, align=size)
            same = stored == vector.code.element
            return loaded if same else builder.fpext(loaded, vector.code)

        return vector(array, types.intp), emit

    return typed


def _store(vector: VectorType) -> Any:
    size = 4 if vector is SINGLES else 8

    def typed(array: Any, start: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            place = emit_address(context, builder, shape.args[0], values, vector.code)
            builder.store(values[2], place, align=size)
            return context.get_dummy_value()

        return types.void(array, types.intp, vector), emit

    return typed


def _ternary(vector: VectorType, name: str) -> Any:
    def typed(a: Any, b: Any, c: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            return _call(builder, name, vector.code, values)

        return vector(vector, vector, vector), emit

    return typed


def _arithmetic(instruction: str) -> Any:
    """Return an operation of two vectors, or of a vector and a number."""

    def typed(a: Any, b: Any) -> Any:
        vector = a if isinstance(a, VectorType) else b
        if not isinstance(vector, VectorType):
            return None

        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            left, right = (
                _vector(context, builder, kind, value, vector)
                for kind, value in zip(shape.args, values, strict=True)
            )
            return getattr(builder, instruction)(left, right)

        return vector(a, b), emit

    return typed


def _sum(vector: VectorType) -> Any:
    def typed(value: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            wide = values[0]
            if vector is SINGLES:
                halves = [_half(builder, wide, first) for first in (0, DOUBLES.lanes)]
                wide = builder.fadd(*halves)
            total = builder.extract_element(wide, ir.Constant(LANE, 0))
            for lane in range(1, DOUBLES.lanes):
                one = builder.extract_element(wide, ir.Constant(LANE, lane))
                total = builder.fadd(total, one)
            return total

        return types.float64(vector), emit

    return typed


def _half(builder: Any, value: Any, first: int) -> Any:
    """Write: four lanes of eight singles, as doubles."""
    lanes = list(range(first, first + DOUBLES.lanes))
    chosen = ir.Constant(ir.VectorType(LANE, DOUBLES.lanes), lanes)
    nothing = ir.Constant(SINGLES.code, ir.Undefined)
    return builder.fpext(builder.shuffle_vector(value, nothing, chosen), DOUBLES.code)


def _type_narrowed(first: Any, second: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        half = ir.VectorType(ir.FloatType(), DOUBLES.lanes)
        halves = [builder.fptrunc(value, half) for value in values]
        lanes = ir.Constant(ir.VectorType(LANE, SINGLES.lanes), list(range(8)))
        return builder.shuffle_vector(*halves, lanes)

    return SINGLES(DOUBLES, DOUBLES), emit


def _type_limit(value: Any, low: Any, high: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        floor, ceiling = values[1:]
        if isinstance(value, VectorType):
            floor = _vector(context, builder, low, floor, value)
            ceiling = _vector(context, builder, high, ceiling, value)
        above = builder.fcmp_ordered(">", values[0], floor)
        raised = builder.select(above, values[0], floor)
        below = builder.fcmp_ordered("<", raised, ceiling)
        return builder.select(below, raised, ceiling)

    return value(value, types.float64, types.float64), emit


def _chosen(comparison: str) -> Any:
    """Return the operation that takes, lane by lane, a where it compares so, else b."""

    def typed(a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            return builder.select(builder.fcmp_ordered(comparison, *values), *values)

        return DOUBLES(DOUBLES, DOUBLES), emit

    return typed


def _type_where_greater(a: Any, b: Any, x: Any, y: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        greater = builder.fcmp_ordered(">", *values[:2])
        return builder.select(greater, *values[2:])

    return DOUBLES(DOUBLES, DOUBLES, DOUBLES, DOUBLES), emit


def _type_exponent(value: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        same, code = _bits_of(value)
        big = same(_BIG)
        bits = builder.lshr(builder.bitcast(values[0], big.type), same(52))
        raised = builder.bitcast(builder.or_(bits, big), code)
        return builder.fsub(raised, builder.bitcast(big, code))

    return value(value), emit


def _type_mantissa(value: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        same, code = _bits_of(value)
        one = same(plain.ONE)
        bits = builder.bitcast(values[0], one.type)
        bits = builder.and_(bits, same(plain.MANTISSA))
        return builder.bitcast(builder.or_(bits, one), code)

    return value(value), emit


def _bits_of(kind: Any) -> tuple[Callable[[int], Any], Any]:
    """Return what makes 64 bits of a number, or of each lane, and the type of these."""
    word = ir.IntType(64)
    if not isinstance(kind, VectorType):
        return lambda bits: ir.Constant(word, bits), ir.DoubleType()
    words = ir.VectorType(word, kind.lanes)
    return lambda bits: ir.Constant(words, [bits] * kind.lanes), kind.code


emit_instead(plain.singles, _full(SINGLES))
emit_instead(plain.doubles, _full(DOUBLES))
emit_instead(plain.load_singles, _load(SINGLES, ir.FloatType()))
emit_instead(plain.load_doubles, _load(DOUBLES, ir.DoubleType()))
emit_instead(plain.load_widened, _load(DOUBLES, ir.FloatType()))
emit_instead(plain.store_singles, _store(SINGLES))
emit_instead(plain.store_doubles, _store(DOUBLES))
emit_instead(plain.multiply_add, _ternary(SINGLES, "fmuladd"))
emit_instead(plain.fused, _ternary(DOUBLES, "fma"))
emit_instead(plain.sum_singles, _sum(SINGLES))
emit_instead(plain.sum_doubles, _sum(DOUBLES))
emit_instead(plain.narrowed, _type_narrowed)
emit_instead(plain.limit, _type_limit)
emit_instead(plain.lesser, _chosen("<"))
emit_instead(plain.greater, _chosen(">"))
emit_instead(plain.where_greater, _type_where_greater)
emit_instead(plain.exponent, _type_exponent)
emit_instead(plain.mantissa, _type_mantissa)
# Operators of numbers take vectors too.
_WITH_VECTORS = (
    (VectorType, VectorType),
    (VectorType, types.Any),
    (types.Any, VectorType),
)
emit_instead(operator.add, _arithmetic("fadd"), *_WITH_VECTORS)
emit_instead(operator.sub, _arithmetic("fsub"), *_WITH_VECTORS)
emit_instead(operator.mul, _arithmetic("fmul"), *_WITH_VECTORS)
emit_instead(operator.truediv, _arithmetic("fdiv"), *_WITH_VECTORS)
