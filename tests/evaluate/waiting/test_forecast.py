"""The expected error of rows that wait: against loops, and on known streams."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from oracles.waiting import expected
from rpnb.evaluate.waiting import ErrorForecast, WaitingCounts

seeds = st.integers(0, 2**32 - 1)


def predictions(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities, some of them coarse, and mistakes that differ."""
    rng = np.random.default_rng(seed)
    c = np.round(rng.uniform(0.3, 1.0, n), rng.integers(1, 6))
    drift = rng.uniform(-0.4, 0.4) * (np.arange(n) > rng.integers(0, n))
    return c, rng.random(n) < 1.0 - c + drift


@settings(max_examples=8, deadline=None)
@given(seeds, st.integers(1, 200), st.integers(0, 1400), st.sampled_from([700, 20_000]))
def test_forecasts_are_those_of_plain_loops(
    seed: int, waiting: int, labelled: int, history: int
) -> None:
    c, wrong = predictions(seed, labelled + waiting)
    forecast = ErrorForecast(history)
    forecast.add_labelled(c[:labelled], wrong[:labelled])
    found = forecast.expected(c[labelled:])
    pairs = list(zip(c[:labelled].tolist(), wrong[:labelled].tolist(), strict=True))
    error, low, high, windows = expected(pairs, c[labelled:].tolist(), history)
    figures = (found.expected, found.low, found.high, found.windows)
    assert_allclose(figures, (error, low, high, windows), rtol=1e-12, atol=1e-12)
    assert found.known == (windows >= 5)


@settings(max_examples=20)
@given(seeds, st.lists(st.integers(0, 900), max_size=5))
def test_cuts_into_calls_change_nothing(seed: int, cuts: list[int]) -> None:
    c, wrong = predictions(seed, 900)
    whole, parts = ErrorForecast(700), ErrorForecast(700)
    whole.add_labelled(c, wrong)
    for begin, end in zip([0, *sorted(cuts)], [*sorted(cuts), 900], strict=True):
        parts.add_labelled(c[begin:end], wrong[begin:end])
    assert whole.expected(c[:60]) == parts.expected(c[:60])
    counts = WaitingCounts.of(c[:20]).plus(WaitingCounts.of(c[20:70]))
    counts = counts.plus(WaitingCounts.of(c[60:70]), -1)
    assert whole.expected(counts) == whole.expected(c[:60])


def test_without_drift_the_band_has_its_target_coverage() -> None:
    rng = np.random.default_rng(1)
    c = rng.uniform(0.4, 1.0, 30_000)
    for truth in (1.0 - c, (1.0 - c) ** 2, np.minimum(1.6 * (1.0 - c), 1.0)):
        wrong = rng.random(len(c)) < truth
        forecast, held, apart = ErrorForecast(), [], []
        for start in range(0, len(c) - 400, 400):
            found = forecast.expected(c[start : start + 400])
            actual = wrong[start : start + 400].mean()
            if found.known:
                held.append(found.low <= actual <= found.high)
                apart.append(abs(found.expected - actual))
            forecast.add_labelled(c[start : start + 400], wrong[start : start + 400])
        assert len(held) > 60
        assert np.mean(held) >= 0.92
        assert np.mean(apart) < 0.03


@pytest.mark.parametrize("informative", [True, False])
def test_the_more_accurate_forecasts_count_more(informative: bool) -> None:
    rng = np.random.default_rng(2)
    # Probabilities of mistakes go up and down; the last rows wait.
    mistakes = np.repeat([0.1, 0.3, 0.2, 0.4] * 3, 500)
    wrong = rng.random(6000) < (mistakes if informative else 0.25)
    forecast = ErrorForecast()
    forecast.add_labelled(1.0 - mistakes[:5500], wrong[:5500])
    found = forecast.expected(1.0 - mistakes[5500:])
    truth, other = (0.4, 0.25) if informative else (0.25, 0.4)
    assert abs(found.expected - truth) < 0.4 * abs(found.expected - other)


def test_too_few_labels_give_no_forecast() -> None:
    c, wrong = predictions(0, 9000)
    forecast = ErrorForecast()
    assert forecast.expected([]).reason == "no row waits for its label"
    assert "no row" in str(forecast.expected([]))
    forecast.add_labelled(c[:2000], wrong[:2000])
    few = forecast.expected(c[2000:3000])
    assert (few.low, few.high, few.known) == (0.0, 1.0, False)
    assert str(few) == (
        "expected error unknown: too few labels have arrived (2,000 of about 5,250)"
    )
    forecast.add_labelled(c[2000:8000], wrong[2000:8000])
    usual = forecast.expected(c[8000:])
    wider = forecast.expected(c[8000:], outside=0.1)
    assert usual.known
    assert wider.known
    assert wider.expected == usual.expected
    assert wider.high == min(usual.high + 0.1, 1.0)
    left = forecast.expected(c[8000:], outside=0.6)
    assert left.reason == "the inputs are unlike those with labels"
    assert (left.low, left.high) == (0.0, 1.0)


def test_bad_input_is_refused_and_changes_nothing() -> None:
    forecast = ErrorForecast()
    with pytest.raises(ValueError, match="one value per row, got shapes"):
        forecast.add_labelled([0.5, 0.6], [True])
    assert forecast.labelled == 0
    with pytest.raises(ValueError, match="coverage"):
        forecast.expected([0.5], coverage=1.0)
    with pytest.raises(ValueError, match="history"):
        ErrorForecast(10)
