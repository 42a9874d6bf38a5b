"""How kernels are compiled: one place for the options, typed for callers."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import types
from numba.core.registry import CPUDispatcher

from rpnb.core.kernels.compiling.disk_cache import keep_on_disk
from rpnb.core.kernels.compiling.linked import KernelCompiler, LinkedKernel
from rpnb.core.kernels.compiling.operations import emit_instead

P = ParamSpec("P")
R = TypeVar("R")


class Kernel(CPUDispatcher):
    """A function that is compiled when it is first called.

    Kernels that call it have it as a part of their own code (`LinkedKernel`), without
    what Numba adds so that Python can call a function, and not kept on the disk by
    itself.
    """

    @cached_property
    def _linked(self) -> Any:
        return LinkedKernel(self.py_func, self.targetoptions)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return what a kernel that calls this one must know about it."""
        return self._linked.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return the code for a kernel that calls this one with these types."""
        return self._linked.get_overload(sig)


def _compile(function: Callable[P, R], **options: Any) -> Callable[P, R]:
    settings: Any = numba.config
    if settings.DISABLE_JIT:
        return function
    fixed = {"nopython": True, "nogil": True, "error_model": "numpy"}
    fixed |= {"boundscheck": None, "no_cfunc_wrapper": True, "_nrt": True}
    kernel: Any = Kernel(
        function, targetoptions=fixed | options, pipeline_class=KernelCompiler
    )
    keep_on_disk(kernel)
    return cast(Callable[P, R], kernel)


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


def compiled_borrowing(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as `compiled` does, without counting references to arrays.

    For functions that are called for each row, and neither make arrays nor return any:
    arrays are the caller's, and outlive the call. Counting takes an atomic instruction
    for each array of a record, at the beginning of a call and at its end.
    """
    return _compile(function, _nrt=False)


def compiled_borrowing_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` as `compiled_borrowing` does, inlined into its callers."""
    return _compile(function, forceinline=True, _nrt=False)


def compiled_approximate(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with sums in any order and fused operations.

    Only for results that carry an error bound and are recomputed where it matters.
    NaN and infinities keep their meaning: a comparison with NaN is false.
    """
    return _compile(function, fastmath={"reassoc", "contract", "nsz", "arcp"})


def fused_multiply_add(a: float, b: float, c: float) -> float:
    """Return a·b + c, rounded once when compiled."""
    return a * b + c


def _type_fma(a: Any, b: Any, c: Any) -> Any:  # pragma: no cover - in the compiler
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), emit


emit_instead(fused_multiply_add, _type_fma)
