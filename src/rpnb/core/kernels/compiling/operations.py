"""Functions that compiled code replaces by instructions of its own.

Kernels call a plain function, which runs as it is where nothing is compiled. Numba's
`overload` would compile a function around the instructions, for each operation and each
combination of types; here they are written straight into the caller. The rest runs
inside the compiler, where coverage cannot be measured.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import types
from numba.extending import lower_builtin, models, register_model, type_callable

LANE = ir.IntType(32)
"""type of the number of a lane, and of 32-bit integers"""

#: Takes the arguments' types; returns a signature and what writes the instructions, or
#: None where the operation is not for these types.
Typed: TypeAlias = Callable[..., Any]


def emit_instead(
    function: Callable[..., Any], typed: Typed, *kinds: tuple[Any, ...]
) -> None:
    """Let compiled code that calls `function` have the instructions of `typed`.

    `kinds` are the combinations of types that it is for; all if there are none. A
    function may have several operations, each for types of its own, as an operator has.
    """
    arity = len(signature(function).parameters)

    def result(*arguments: Any) -> Any:  # pragma: no cover
        found = typed(*arguments)
        return None if found is None else found[0]

    typers: tuple[Callable[..., Any], ...] = (
        lambda a: result(a),
        lambda a, b: result(a, b),
        lambda a, b, c: result(a, b, c),
        lambda a, b, c, d: result(a, b, c, d),
    )
    typer = typers[arity - 1]
    type_callable(function)(lambda _context: typer)

    def emit(  # pragma: no cover
        context: Any, builder: Any, shape: Any, values: Any
    ) -> Any:
        return typed(*shape.args)[1](context, builder, shape, values)

    define: Any = lower_builtin
    for kind in kinds or ((types.Any,) * arity,):
        define(function, *kind)(emit)


class VectorType(types.Type):
    """A vector's type, while the compiler works out types.

    `element` is LLVM's type of a lane, and `of` Numba's.
    """

    def __init__(self, name: str, lanes: int, of: Any, element: Any) -> None:
        super().__init__(name=name)
        self.of = of
        self.lanes = lanes
        self.code = ir.VectorType(element, lanes)


@register_model(VectorType)
class _VectorModel(models.PrimitiveModel):  # pragma: no cover
    """A vector's type, once types are known."""

    def __init__(self, manager: Any, kind: VectorType) -> None:
        super().__init__(manager, kind, kind.code)  # type: ignore[no-untyped-call]


def emit_address(  # pragma: no cover
    context: Any, builder: Any, kind: Any, values: Any, code: Any
) -> Any:
    """Write: where in an array (values[0]) what begins at values[1] lies.

    `code` is LLVM's type of what lies there, a number or a vector.
    """
    array = context.make_array(kind)(context, builder, values[0])
    return builder.bitcast(builder.gep(array.data, [values[1]]), code.as_pointer())


def emit_repeated(builder: Any, value: Any, code: Any) -> Any:  # pragma: no cover
    """Write: a vector of one number."""
    nothing = ir.Constant(code, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(LANE, 0))
    first = ir.Constant(ir.VectorType(LANE, code.count), [0] * code.count)
    return builder.shuffle_vector(one, nothing, first)
