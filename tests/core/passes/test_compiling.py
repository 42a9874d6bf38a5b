"""Short streams go through the exact pass while the others are not compiled."""

import pytest

from rpnb.core.passes import compiling
from rpnb.core.passes.compiling import CompilingBudget
from rpnb.core.passes.costs import exact_cost
from strategies import make_model


@pytest.mark.parametrize("found", ["on disk", "to be compiled"])
def test_rows_are_counted_until_compiling_would_have_been_cheaper(
    found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "readiness", lambda _: found)
    price = compiling._READING if found == "on disk" else compiling._COMPILING
    model = make_model(4, 3)
    rows = int(price / exact_cost(4, model.F, 3))
    budget = CompilingBudget(None)
    assert not budget.fast_pass_pays(model, rows // 2)
    assert not budget.fast_pass_pays(model, rows // 2 - 1)
    assert budget.fast_pass_pays(model, 3)
    assert CompilingBudget(None).fast_pass_pays(model, 2 * rows)


def test_compiled_kernels_are_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "readiness", lambda _: "ready")
    assert CompilingBudget(None).fast_pass_pays(make_model(4, 3), 16)
