"""Kernels are called from Python and from kernels, whichever comes first."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest
from llvmlite import ir
from numba.core import types
from numba.core.errors import NumbaError

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.compiling.compiled import (
    compiled,
    compiled_borrowing,
    fused_multiply_add,
)
from rpnb.core.kernels.compiling.operations import emit_instead
from rpnb.core.kernels.prefetch import prefetch

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


class Pair(NamedTuple):
    rows: FloatArray
    sums: FloatArray


@compiled_borrowing
def add_row(pair: Pair, i: int) -> float:
    row = pair.rows[i]
    prefetch(pair.rows, row.size * (i + 1))  # beyond the end, for the last row
    for j in range(row.shape[0]):
        pair.sums[j] += row[j]
    return pair.sums[0]


@compiled
def add_rows(pair: Pair) -> float:
    total = 0.0
    for i in range(pair.rows.shape[0]):
        total += add_row(Pair(pair.rows, pair.sums), i)
    return total


@compiled_borrowing
def make_array(n: int) -> int:
    return np.empty(n).shape[0]


def test_arrays_that_a_kernel_borrows_stay_their_owner_s() -> None:
    pair = Pair(np.arange(6.0).reshape(3, 2), np.zeros(2))
    held = [sys.getrefcount(array) for array in pair]
    assert add_rows(pair) == 0.0 + 2.0 + 6.0
    assert add_row(pair, 2) == 10.0
    assert list(pair.sums) == [10.0, 14.0]
    assert [sys.getrefcount(array) for array in pair] == held


def test_a_kernel_that_borrows_can_make_no_arrays() -> None:
    with pytest.raises(NumbaError, match="array"):
        make_array(3)


@compiled
def refuse_negative(x: float) -> float:
    if x < 0.0:
        raise ValueError("negative", x)
    return x


@compiled
def print_and_refuse(x: float) -> float:
    print("got", x)  # noqa: T201 - needs the environment that Numba gives a function
    return refuse_negative(x)


@compiled
def call_both(x: float) -> float:
    return print_and_refuse(x) + 1.0


def test_what_is_linked_raises_and_prints(capfd: pytest.CaptureFixture[str]) -> None:
    assert call_both(2.0) == 3.0
    with pytest.raises(ValueError, match="negative") as caught:
        call_both(-2.0)
    assert caught.value.args[1] == -2.0
    sys.stdout.flush()
    assert capfd.readouterr().out.split() == ["got", "2.0", "got", "-2.0"]


def test_a_kernel_that_kernels_call_has_no_machine_code_of_its_own() -> None:
    kernel: Any = refuse_negative
    kernel._linked.compile((types.float64,))  # unless a kernel that calls it was
    (part,) = kernel._linked.overloads.values()
    assert part.entry_point is None
    assert "fcmp" in part.library.get_llvm_str()  # intermediate code
