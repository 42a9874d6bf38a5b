"""How kernels are compiled: one place for the options, typed for callers."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import types
from numba.extending import intrinsic, is_jitted, overload

from rpnb.core.kernels.disk_cache import keep_on_disk

P = ParamSpec("P")
R = TypeVar("R")


def _compile(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if is_jitted(dispatcher):  # else NUMBA_DISABLE_JIT is set
        keep_on_disk(dispatcher)
    return cast(Callable[P, R], dispatcher)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with strict IEEE arithmetic, cached on disk.

    Without fast-math the compiler may vectorise across independent elements but
    never reorders a sum, so a result does not depend on the caller, on how many rows
    are handled at once, or on the width of the machine's vectors.
    """
    return _compile(function)


def compiled_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as `compiled` does, inlined into its callers.

    For short functions with many array arguments: a call passes seven words for each
    array, and a model has twenty arrays.
    """
    return _compile(function, forceinline=True)


def compiled_approximate(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with sums in any order and fused operations.

    Only for results that carry an error bound and are recomputed where it matters.
    NaN and infinities keep their meaning: a comparison with NaN is false.
    """
    return _compile(function, fastmath={"reassoc", "contract", "nsz", "arcp"})


def fused_multiply_add(a: float, b: float, c: float) -> float:
    """Return a·b + c, rounded once when compiled."""
    return a * b + c


# The rest runs inside the compiler, where coverage cannot be measured.
def _type_fma(_context: Any, a: Any, b: Any, c: Any) -> Any:  # pragma: no cover
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), emit


_fma: Any = intrinsic(_type_fma)


@overload(fused_multiply_add)
def _overload_fma(a: Any, b: Any, c: Any) -> Any:  # pragma: no cover
    def implementation(a: Any, b: Any, c: Any) -> Any:
        return _fma(a, b, c)

    return implementation
