"""Kernels as the Python functions that they are made of, callees included.

A compiled kernel gives the same bits as its Python source, but for a·b + c rounded
once, and for logarithms that NumPy and Python compute in their own way. `Interpreter`
runs the source with these replaced, so that short streams need not wait for the
compiler. Functions are copied, with other globals: nothing changes for those who call
the kernels.
"""

import ctypes
import math
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import llvmlite.binding
import numpy as np
from numba.extending import is_jitted

F = TypeVar("F", bound=Callable[..., Any])


def library_function(name: str) -> Callable[[float], float] | None:
    """Return the C library's function of one number that compiled code calls."""
    find: Any = llvmlite.binding.address_of_symbol
    address = find(name)
    if not address:
        return None
    kind: Any = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    return cast(Callable[[float], float], kind(address))


class _ArrayModule:
    """NumPy, with the C library's logarithm, which compiled code calls."""

    log = staticmethod(math.log)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


_ARRAYS = _ArrayModule()


class Interpreter:
    """Copies of functions that run without the compiler.

    Parameters
    ----------
    replaced
        Functions and kernels that have a counterpart in NumPy, and these.
    package : str
        Functions of this package are copied, others called as they are.
    """

    def __init__(self, replaced: dict[Any, Callable[..., Any]], package: str) -> None:
        self._package = package
        self._copies: dict[int, Callable[..., Any]] = {}
        self._kept: list[Any] = []  # so that no other object gets its id
        for function, counterpart in replaced.items():
            self._copies[id(function)] = counterpart
            self._kept.append(function)

    def __call__(self, function: F) -> F:
        """Return a copy of a function or kernel; the same one each time."""
        found = self._copies.get(id(function))
        if found is None:
            self._kept.append(function)
            found = self._copies[id(function)] = self._copy(function)
        return cast(F, found)

    def _copy(self, function: Any) -> Callable[..., Any]:
        kernel = is_jitted(function)
        source = function.py_func if kernel else function
        scope = dict(source.__globals__)
        for name in {name for name in _names(source.__code__) if name in scope}:
            value: Any = scope[name]
            if self._belongs(value):
                scope[name] = self(value)
            else:
                scope[name] = _ARRAYS if value is np and kernel else value
        return FunctionType(
            source.__code__,
            scope,
            source.__name__,
            source.__defaults__,
            source.__closure__,
        )

    def _belongs(self, value: Any) -> bool:
        if id(value) in self._copies or is_jitted(value):
            return True
        return isinstance(value, FunctionType) and value.__module__.startswith(
            self._package
        )


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code reads, functions inside it included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
