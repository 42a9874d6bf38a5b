"""Functions run as Python, with everything that they call, and change nothing."""

import ctypes
import math

import numpy as np
import pytest

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling import interpreted as module
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.compiling.interpreted import Interpreter, library_function


def doubled(x: float) -> float:
    return 2.0 * x


@compiled
def _inner(x: float) -> float:
    return np.log(x) + math.floor(x)


@compiled
def outer(values: FloatArray) -> None:
    for i in range(values.shape[0]):
        values[i] = _inner(values[i])


def caller(values: FloatArray) -> list[float]:
    outer(values)
    return [doubled(value) for value in values]


def test_callees_are_interpreted_too_and_some_replaced() -> None:
    interpret = Interpreter({doubled: lambda x: 3.0 * x}, __name__)
    values = np.array([1.5, 2.5, 10.0])
    expected = [math.log(x) + math.floor(x) for x in values]
    copy = interpret(caller)
    assert copy is interpret(caller)
    assert copy(values) == [3.0 * x for x in expected]
    assert caller(np.array([1.0])) == [2.0]  # the functions themselves are as before
    # Kernels too are copied, not called.
    scope = copy.__globals__["outer"].__globals__
    assert type(scope["_inner"]) is type(doubled)


def test_functions_of_other_packages_are_called_as_they_are() -> None:
    assert Interpreter({}, "another")(caller).__globals__["doubled"] is doubled


def test_functions_of_the_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert library_function("no_such_function_anywhere") is None
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    function = kind(lambda x: x + 1.0)
    address = ctypes.cast(function, ctypes.c_void_p).value
    monkeypatch.setattr("llvmlite.binding.address_of_symbol", lambda name: address)
    found = library_function("some")
    assert found is not None
    assert found(2.0) == 3.0


def test_kernels_have_the_logarithm_of_the_c_library() -> None:
    assert module._ARRAYS.log is math.log
    assert module._ARRAYS.zeros is np.zeros
