"""Each member's module has what the interface `Member` lists."""

import inspect
from types import ModuleType

import pytest

from rpnb.core.pooled.member import Member
from rpnb.core.pooled.model import MEMBERS

CONSTANTS = {"OUTPUTS": tuple, "MERGEABLE": bool, "USES_SCALE": bool}


def parameters(function: object) -> list[str]:
    """Return the names of the parameters that a caller must pass."""
    assert callable(function)
    found = inspect.signature(function).parameters.values()
    return [each.name for each in found if each.default is inspect.Parameter.empty]


@pytest.mark.parametrize("module", MEMBERS.values(), ids=list(MEMBERS))
def test_a_member_has_the_constants_and_functions_of_the_interface(
    module: ModuleType,
) -> None:
    for name, kind in CONSTANTS.items():
        assert isinstance(getattr(module, name), kind)
    assert not module.MERGEABLE or isinstance(module.SUMS, tuple)
    for name, function in inspect.getmembers(Member, inspect.isfunction):
        if name.startswith("_") or (name == "sum_rows" and not has_sums(module)):
            continue
        assert parameters(getattr(module, name)) == parameters(function)[1:]


def has_sums(module: ModuleType) -> bool:
    return module.MERGEABLE and bool(module.SUMS)


def test_the_interface_lists_these_constants() -> None:
    assert {*CONSTANTS, "SUMS"} == {*Member.__annotations__}
