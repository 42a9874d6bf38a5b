"""a·b + c is rounded once: compared with exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpnb.core.kernels.compiling import fused_numpy as module
from rpnb.core.kernels.compiling.fused_numpy import (
    fused_doubles,
    fused_singles,
    has_fused_instruction,
)

# Few bits and far exponents: ties, and errors that cancel.
number = st.builds(
    lambda m, e: float(m) * 2.0**e,
    st.one_of(st.integers(-9, 9), st.integers(-(2**53), 2**53)),
    st.integers(-60, 60),
)
single = st.builds(
    lambda m, e: float(m) * 2.0**e,
    st.one_of(st.integers(-9, 9), st.integers(-(2**24), 2**24)),
    st.integers(-30, 30),
)


@given(number, number, number)
def test_doubles_are_rounded_once(a: float, b: float, c: float) -> None:
    for third in (c, -a * b):  # the second cancels all but the product's error
        exact = Fraction(a) * Fraction(b) + Fraction(third)
        found = fused_doubles(np.array([a]), np.array([b]), np.array([third]))
        assert found[0] == float(exact)


def test_the_error_of_a_product_of_whole_numbers_is_exact() -> None:
    """The halves of 53 bits have to be of 26 and 27: with others, digits are lost."""
    a, b = np.random.default_rng(0).integers(2**52, 2**53, (2, 2000))
    product = a.astype(np.float64) * b
    found = fused_doubles(a.astype(np.float64), b.astype(np.float64), -product)
    pairs = zip(a.tolist(), b.tolist(), product.tolist(), strict=True)
    assert found.tolist() == [float(i * j - int(k)) for i, j, k in pairs]


def test_two_roundings_would_differ() -> None:
    a, c = 1.0 + 2.0**-30, -1.0 - 2.0**-29
    assert a * a + c == 0.0
    assert fused_doubles(np.array([a]), np.array([a]), np.array([c]))[0] == 2.0**-60


@given(single, single, single)
def test_singles_are_rounded_once(a: float, b: float, c: float) -> None:
    if not has_fused_instruction():
        return
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    values = [np.array([value], np.float32) for value in (a, b, c)]
    found = float(fused_singles(*values)[0])
    low, high = (
        np.nextafter(np.float32(found), np.float32(e)) for e in (-np.inf, np.inf)
    )
    error = abs(Fraction(found) - exact)
    for other in (low, high):
        beside = abs(Fraction(float(other)) - exact)
        even = not int(np.float32(found).view(np.int32)) & 1  # ties go there
        assert error < beside or (error == beside and even)


def test_infinities_and_nan_stay() -> None:
    a = np.array([np.inf, 1.0, np.nan])
    b = np.ones(3)
    c = np.array([1.0, -np.inf, 1.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(fused_doubles(a, b, c), a * b + c)
        few = [value.astype(np.float32) for value in (a, b, c)]
        np.testing.assert_array_equal(fused_singles(*few), a * b + c)


def test_without_the_instruction_singles_are_rounded_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "has_fused_instruction", lambda: False)
    a = np.array([1.0 + 2.0**-12], np.float32)
    c = np.array([-1.0 - 2.0**-11], np.float32)
    assert fused_singles(a, a, c)[0] == 0.0


@pytest.mark.parametrize(
    ("machine", "features", "found"),
    [("arm64", {}, True), ("x86_64", {"fma": True}, True), ("x86_64", {}, False)],
)
def test_which_processors_have_the_instruction(
    machine: str,
    features: dict[str, bool],
    found: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(
        "llvmlite.binding.get_host_cpu_features", lambda: features, raising=True
    )
    has_fused_instruction.cache_clear()
    assert has_fused_instruction() is found
    monkeypatch.undo()
    has_fused_instruction.cache_clear()
