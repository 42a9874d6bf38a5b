"""The operations of `plain` in LLVM's intermediate language, for compiled code.

An operation is an `intrinsic`, a function that tells the compiler the type of its
result and emits the instructions; `overload` substitutes it for the plain one. This
runs inside the compiler, where coverage cannot be measured: tests compare compiled with
plain.
"""

import operator
from collections.abc import Callable
from inspect import signature
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, overload, register_model

from rpnb.core.kernels.vectors import plain

_LANE = ir.IntType(32)
# The bits of 2⁵²: with an integer below 2⁵² in their lowest places, of the sum of both.
_BIG = 0x4330000000000000


class Vector(types.Type):
    """A vector's type, while the compiler works out types."""

    def __init__(self, name: str, lanes: int, of: Any, element: Any) -> None:
        super().__init__(name=name)
        self.of = of
        self.lanes = lanes
        self.code = ir.VectorType(element, lanes)


SINGLES = Vector("Singles", plain.SINGLES, types.float32, ir.FloatType())
DOUBLES = Vector("Doubles", plain.DOUBLES, types.float64, ir.DoubleType())


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    """A vector's type, once types are known."""

    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, kind.code)  # type: ignore[no-untyped-call]


def _all(builder: Any, value: Any, code: Any) -> Any:
    """Write: a vector of the number."""
    nothing = ir.Constant(code, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(_LANE, 0))
    first = ir.Constant(ir.VectorType(_LANE, code.count), [0] * code.count)
    return builder.shuffle_vector(one, nothing, first)


def _vector(context: Any, builder: Any, kind: Any, value: Any, vector: Vector) -> Any:
    """Write: the vector itself, or a vector of the number."""
    if isinstance(kind, Vector):
        return value
    return _all(builder, context.cast(builder, value, kind, vector.of), vector.code)


def _place(context: Any, builder: Any, kind: Any, values: Any, code: Any) -> Any:
    """Write: where in an array (values[0]) a vector from values[1] on lies."""
    array = context.make_array(kind)(context, builder, values[0])
    return builder.bitcast(builder.gep(array.data, [values[1]]), code.as_pointer())


def _call(builder: Any, name: str, code: Any, values: Any) -> Any:
    """Write: one of the compiler's own functions of vectors."""
    full = f"llvm.{name}.v{code.count}{code.element.intrinsic_name}"
    function = builder.module.globals.get(full)
    if function is None:
        kind = ir.FunctionType(code, [code] * len(values))
        function = ir.Function(builder.module, kind, full)
    return builder.call(function, values)


def _full(vector: Vector) -> Any:
    def typed(_context: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            return _vector(context, builder, shape.args[0], values[0], vector)

        return vector(value), emit

    return intrinsic(typed)


def _load(vector: Vector, stored: Any) -> Any:
    """Return the operation that reads a vector of `stored` numbers."""
    code = ir.VectorType(stored, vector.lanes)
    size = 4 if isinstance(stored, ir.FloatType) else 8

    def typed(_context: Any, array: Any, start: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            place = _place(context, builder, shape.args[0], values, code)
            loaded = builder.load(place, align=size)
            same = stored == vector.code.element
            return loaded if same else builder.fpext(loaded, vector.code)

        return vector(array, types.intp), emit

    return intrinsic(typed)


def _store(vector: Vector) -> Any:
    size = 4 if vector is SINGLES else 8

    def typed(_context: Any, array: Any, start: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            place = _place(context, builder, shape.args[0], values, vector.code)
            builder.store(values[2], place, align=size)
            return context.get_dummy_value()

        return types.void(array, types.intp, vector), emit

    return intrinsic(typed)


def _ternary(vector: Vector, name: str) -> Any:
    def typed(_context: Any, a: Any, b: Any, c: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            return _call(builder, name, vector.code, values)

        return vector(vector, vector, vector), emit

    return intrinsic(typed)


def _arithmetic(instruction: str) -> Any:
    """Return an operation of two vectors, or of a vector and a number."""

    def typed(_context: Any, a: Any, b: Any) -> Any:
        vector = a if isinstance(a, Vector) else b

        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            left, right = (
                _vector(context, builder, kind, value, vector)
                for kind, value in zip(shape.args, values, strict=True)
            )
            return getattr(builder, instruction)(left, right)

        return vector(a, b), emit

    return intrinsic(typed)


def _sum(vector: Vector) -> Any:
    def typed(_context: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            wide = values[0]
            if vector is SINGLES:
                halves = [_half(builder, wide, first) for first in (0, DOUBLES.lanes)]
                wide = builder.fadd(*halves)
            total = builder.extract_element(wide, ir.Constant(_LANE, 0))
            for lane in range(1, DOUBLES.lanes):
                one = builder.extract_element(wide, ir.Constant(_LANE, lane))
                total = builder.fadd(total, one)
            return total

        return types.float64(vector), emit

    return intrinsic(typed)


def _half(builder: Any, value: Any, first: int) -> Any:
    """Write: four lanes of eight singles, as doubles."""
    lanes = list(range(first, first + DOUBLES.lanes))
    chosen = ir.Constant(ir.VectorType(_LANE, DOUBLES.lanes), lanes)
    nothing = ir.Constant(SINGLES.code, ir.Undefined)
    return builder.fpext(builder.shuffle_vector(value, nothing, chosen), DOUBLES.code)


def _type_narrowed(_context: Any, first: Any, second: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        half = ir.VectorType(ir.FloatType(), DOUBLES.lanes)
        halves = [builder.fptrunc(value, half) for value in values]
        lanes = ir.Constant(ir.VectorType(_LANE, SINGLES.lanes), list(range(8)))
        return builder.shuffle_vector(*halves, lanes)

    return SINGLES(DOUBLES, DOUBLES), emit


def _type_limit(_context: Any, value: Any, low: Any, high: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        floor, ceiling = values[1:]
        if isinstance(value, Vector):
            floor = _vector(context, builder, low, floor, value)
            ceiling = _vector(context, builder, high, ceiling, value)
        above = builder.fcmp_ordered(">", values[0], floor)
        raised = builder.select(above, values[0], floor)
        below = builder.fcmp_ordered("<", raised, ceiling)
        return builder.select(below, raised, ceiling)

    return value(value, types.float64, types.float64), emit


def _chosen(comparison: str) -> Any:
    """Return the operation that takes, lane by lane, a where it compares so, else b."""

    def typed(_context: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
            return builder.select(builder.fcmp_ordered(comparison, *values), *values)

        return DOUBLES(DOUBLES, DOUBLES), emit

    return intrinsic(typed)


def _type_where_greater(_context: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        greater = builder.fcmp_ordered(">", *values[:2])
        return builder.select(greater, *values[2:])

    return DOUBLES(DOUBLES, DOUBLES, DOUBLES, DOUBLES), emit


def _type_exponent(_context: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, shape: Any, values: Any) -> Any:
        same, code = _bits_of(value)
        big = same(_BIG)
        bits = builder.lshr(builder.bitcast(values[0], big.type), same(52))
        raised = builder.bitcast(builder.or_(bits, big), code)
        return builder.fsub(raised, builder.bitcast(big, code))

    return value(value), emit


def _type_mantissa(_context: Any, value: Any) -> Any:
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
    if not isinstance(kind, Vector):
        return lambda bits: ir.Constant(word, bits), ir.DoubleType()
    words = ir.VectorType(word, kind.lanes)
    return lambda bits: ir.Constant(words, [bits] * kind.lanes), kind.code


def _replace(function: Callable[..., Any], operation: Any) -> None:
    """Let compiled code that calls `function` call the operation instead."""
    replacements: tuple[Callable[..., Any], ...] = (
        lambda a: operation(a),
        lambda a, b: operation(a, b),
        lambda a, b, c: operation(a, b, c),
        lambda a, b, c, d: operation(a, b, c, d),
    )
    replacement = replacements[len(signature(function).parameters) - 1]
    overload(function, strict=False)(lambda *_: replacement)


def _extend(symbol: Callable[..., Any], operation: Any) -> None:
    """Let an operator of numbers also take vectors."""

    def typed(a: Any, b: Any) -> Any:
        if isinstance(a, Vector) or isinstance(b, Vector):
            return lambda a, b: operation(a, b)
        return None

    overload(symbol, strict=False)(typed)


_replace(plain.singles, _full(SINGLES))
_replace(plain.doubles, _full(DOUBLES))
_replace(plain.load_singles, _load(SINGLES, ir.FloatType()))
_replace(plain.load_doubles, _load(DOUBLES, ir.DoubleType()))
_replace(plain.load_widened, _load(DOUBLES, ir.FloatType()))
_replace(plain.store_singles, _store(SINGLES))
_replace(plain.store_doubles, _store(DOUBLES))
_replace(plain.multiply_add, _ternary(SINGLES, "fmuladd"))
_replace(plain.fused, _ternary(DOUBLES, "fma"))
_replace(plain.sum_singles, _sum(SINGLES))
_replace(plain.sum_doubles, _sum(DOUBLES))
_replace(plain.narrowed, intrinsic(_type_narrowed))
_replace(plain.limit, intrinsic(_type_limit))
_replace(plain.lesser, _chosen("<"))
_replace(plain.greater, _chosen(">"))
_replace(plain.where_greater, intrinsic(_type_where_greater))
_replace(plain.exponent, intrinsic(_type_exponent))
_replace(plain.mantissa, intrinsic(_type_mantissa))
_extend(operator.add, _arithmetic("fadd"))
_extend(operator.sub, _arithmetic("fsub"))
_extend(operator.mul, _arithmetic("fmul"))
_extend(operator.truediv, _arithmetic("fdiv"))
