"""Slower code is used until compiling the fast kernel would have been cheaper."""

from typing import Any

import pytest

from rpnb.core.kernels.compiling import budget as module
from rpnb.core.kernels.compiling.budget import CompilingBudget


class Kernel:
    """A kernel as Numba holds it, of which nothing is compiled yet."""

    def __init__(self) -> None:
        self.signatures: list[str] = []


@pytest.fixture(autouse=True)
def kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_ready", lambda kernel: bool(kernel.signatures))


@pytest.mark.parametrize(
    ("found", "price"), [("on disk", 300.0), ("to be compiled", 1000.0)]
)
def test_cost_is_added_up_until_it_reaches_the_price(
    found: str, price: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Any] = []

    def look(kernel: Any) -> str:
        looked.append(kernel)
        return found

    monkeypatch.setattr(module, "readiness", look)
    budget = CompilingBudget(Kernel(), compiling=1000.0, reading=300.0)
    assert not budget.pays(price / 2)
    assert not budget.pays(price / 2 - 1.0)
    assert budget.pays(1.0)
    assert budget.pays(0.0)
    assert len(looked) == 1  # the disk is not looked at for every row
    assert CompilingBudget(Kernel(), 1000.0, 300.0).pays(2.0 * price)


def test_what_is_on_disk_is_read_at_once_if_reading_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "readiness", lambda _: "on disk")
    assert CompilingBudget(Kernel(), compiling=1000.0).pays(0.0)
    monkeypatch.setattr(module, "readiness", lambda _: "to be compiled")
    assert not CompilingBudget(Kernel(), compiling=1000.0).pays(0.0)


def test_a_compiled_kernel_is_used_at_once() -> None:
    kernel = Kernel()
    budget = CompilingBudget(kernel, compiling=1000.0)
    assert not budget.pays(10.0)
    kernel.signatures.append("f8")
    assert budget.pays(10.0)


def test_the_python_function_works_until_the_kernel_pays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "readiness", lambda _: "to be compiled")
    kernel: Any = Kernel()
    kernel.py_func = object()
    budget = CompilingBudget(kernel, compiling=1000.0)
    assert budget.function(999.0) is kernel.py_func
    assert budget.function(1.0) is kernel
