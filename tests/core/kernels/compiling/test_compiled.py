"""Kernels are called from Python and from kernels, whichever comes first."""

from typing import Any

import pytest
from llvmlite import ir
from numba.core import types

from rpnb.core.kernels.compiling.compiled import compiled, fused_multiply_add
from rpnb.core.kernels.compiling.operations import emit_instead

pytestmark = pytest.mark.slow_uncompiled


@compiled
def inner(x: float) -> float:
    return fused_multiply_add(x, x, 1.0)


@compiled
def outer(x: float) -> float:
    return inner(x) + inner(x + 1.0)


def test_a_kernel_may_be_called_by_a_kernel_first_and_then_from_python() -> None:
    assert outer(2.0) == 15.0
    assert inner(2.0) == 5.0
    assert outer(3.0) == 27.0
    assert inner(2) == 5.0  # other types, compiled anew


@compiled
def rounding_of_square(x: float) -> float:
    return fused_multiply_add(x, x, -(x * x))


def test_a_multiply_add_is_rounded_once() -> None:
    x = 1.0 + 2.0**-30
    assert rounding_of_square(x) == 2.0**-60  # x² = 1 + 2⁻²⁹ + 2⁻⁶⁰


def twice(x: float) -> float:
    return 2.0 * x


@compiled
def call_twice(x: float) -> float:
    return twice(x)


def test_an_operation_replaces_the_plain_function_in_compiled_code() -> None:
    def typed(_x: Any) -> Any:
        def emit(_context: Any, builder: Any, _shape: Any, values: Any) -> Any:
            return builder.fmul(values[0], ir.Constant(ir.DoubleType(), 3.0))

        return types.float64(types.float64), emit

    emit_instead(twice, typed)
    assert twice(1.5) == 3.0
    assert call_twice(1.5) == 4.5
