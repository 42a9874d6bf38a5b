"""Functions that compiled code replaces by instructions of its own.

Kernels call a plain function, which runs as it is where nothing is compiled. Numba's
`overload` would compile a function around the instructions, for each operation and each
combination of types; here they are written straight into the caller. The rest runs
inside the compiler, where coverage cannot be measured.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, TypeAlias

from numba.core import types
from numba.extending import lower_builtin, type_callable

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
