"""Labels, probabilities and model files have the same bits on every processor."""

import sys
from importlib.util import find_spec

import pytest

import rpnb._core
from rpnb._core._processor import supported_levels
from same_bits import FEW, PYTHON, other_routines, outcomes


@pytest.mark.parametrize("level", supported_levels())
def test_every_level_computes_the_same_bits(level: str) -> None:
    if level == rpnb._core.level:
        pytest.skip("this is the level of all other tests")
    if find_spec(f"rpnb._core._{level}") is None:
        pytest.skip("only some levels were built")
    ours = outcomes(sys.executable, chosen=FEW)
    assert len(ours) >= 12
    assert outcomes(sys.executable, level, FEW) == ours


def test_routines_of_other_libraries_do_not_change_bits() -> None:
    ours = outcomes(sys.executable, chosen=PYTHON)
    assert len(ours) >= 7
    others = outcomes(sys.executable, chosen=PYTHON, variables=other_routines())
    assert others == ours
