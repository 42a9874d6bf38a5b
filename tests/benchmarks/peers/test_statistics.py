"""Medians, ranges and power laws of measured times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.statistics import fit_power_law, spread

values = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=9)


@given(values)
def test_the_median_lies_between_the_extremes(
    numbers: list[float],
) -> None:
    found = spread(numbers)
    assert (found.low, found.high) == (min(numbers), max(numbers))
    assert sum(v < found.median for v in numbers) <= len(numbers) / 2
    assert sum(v > found.median for v in numbers) <= len(numbers) / 2


@given(
    st.floats(-3.0, 3.0),
    st.floats(1e-3, 1e3),
    st.lists(st.integers(1, 10_000), min_size=2, max_size=8, unique=True),
)
def test_an_exact_power_law_is_found(
    exponent: float, factor: float, sizes: list[int]
) -> None:
    law = fit_power_law(sizes, [factor * size**exponent for size in sizes])
    assert law.exponent == pytest.approx(exponent, abs=1e-6)
    for size in sizes:
        assert law(size) == pytest.approx(factor * size**exponent, rel=1e-5)


def test_a_constant_cost_flattens_the_exponent() -> None:
    sizes = [1.0, 10.0, 100.0]
    assert fit_power_law(sizes, [5.0 + size for size in sizes]).exponent < 0.7


def test_the_fit_weighs_relative_not_absolute_departures() -> None:
    # Twice too high at one end, twice too low at the other: symmetric in logarithms.
    law = fit_power_law([1.0, 10.0, 100.0, 1000.0], [2.0, 10.0, 100.0, 500.0])
    assert law.exponent == pytest.approx(1.0 - 3 * 2 * 0.30103 / 10, abs=1e-3)


def test_one_size_has_no_exponent() -> None:
    with pytest.raises(ValueError, match=r"two different values, got \[3\.0, 3\.0\]"):
        fit_power_law([3.0, 3.0], [1.0, 2.0])
