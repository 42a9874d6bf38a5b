from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from evaluate import naive
from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.running import (
    METRICS,
    Metric,
    RunningMetrics,
    ScoredRows,
    log_losses,
)
from rpnb.labels import LabelIndex


class History(NamedTuple):
    truth: list[str]
    answers: list[str | None]
    chance: FloatArray
    cuts: list[int]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Rows with answers, some of them none, and places at which calls end."""
    letters = "abcde"[: draw(st.integers(1, 5))]
    truth = draw(st.lists(st.sampled_from(letters), min_size=1, max_size=40))
    answer = st.sampled_from([*letters, "z", None])
    n = len(truth)
    answers = draw(st.lists(answer, min_size=n, max_size=n))
    chance = draw(st.lists(st.floats(0.0, 1.0), min_size=n, max_size=n))
    inner = draw(st.sets(st.integers(1, n), max_size=5))
    return History(truth, answers, np.array(chance), sorted({*inner, n}))


def rows_of(
    history: History, begin: int, end: int, numbering: LabelIndex
) -> ScoredRows:
    truth = numbering.of(history.truth)
    repeats = truth == np.concatenate([[-1], truth[:-1]])
    part = slice(begin, end)
    answers = numbering.of(history.answers)
    loss = log_losses(history.chance, len(truth))
    return ScoredRows(truth[part], answers[part], repeats[part], loss[part])


@settings(max_examples=30)
@given(histories(), st.integers(1, 45), st.sampled_from([1.0, 0.999, 0.8, 0.25]))
def test_measures_are_those_of_the_whole_history(
    history: History, window: int, fading: float
) -> None:
    running = RunningMetrics(METRICS, window, fading)
    numbering, begin = LabelIndex(), 0
    for end in history.cuts:
        truth, answers, chance, _ = history
        seen = History(truth[:end], answers[:end], chance[:end], [])
        rows = rows_of(seen, begin, end, numbering)
        running.add(rows, len(numbering))
        found = running.measure()
        begin = end
        ones = np.ones(end)
        faded = fading ** np.arange(end - 1.0, -1.0, -1.0)
        for name in METRICS:
            args = (name, seen.truth, seen.answers)
            expected = {
                "cumulative": naive.measure(*args, ones, seen.chance),
                "window": naive.measure(
                    *args, ones, seen.chance, first=max(end - window, 0)
                ),
                "fading": naive.measure(*args, faded, seen.chance),
            }
            for span, values in found.items():
                assert_allclose(
                    values[name],
                    expected[span],
                    rtol=1e-9,
                    atol=1e-9,
                    err_msg=f"{span} {name}",
                )


@pytest.mark.parametrize("alpha", [0.9, 0.99])
def test_the_faded_error_follows_the_recursion_of_gama(alpha: float) -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random(200) < np.repeat([0.1, 0.6], 100)
    names: list[Metric] = ["error"]
    running = RunningMetrics(names, 10, alpha)
    S = N = 0.0
    for mistake in wrong:
        truth, answer = np.array([0]), np.array([1 if mistake else 0])
        rows = ScoredRows(truth, answer, np.array([True]), np.array([0.0]))
        running.add(rows, 2)
        S, N = float(mistake) + alpha * S, 1.0 + alpha * N
    assert_allclose(running.measure()["fading"]["error"], S / N, rtol=1e-12)
    # What it must not be: the plain mean, which forgets nothing.
    assert abs(S / N - wrong.mean()) > 0.1


def test_losses_are_bounded_where_a_true_class_was_impossible() -> None:
    losses = log_losses(np.array([1.0, 0.5, 0.0, np.nan]), 4)
    assert_allclose(losses, [0.0, np.log(2.0), 52 * np.log(2.0), 52 * np.log(2.0)])
    assert np.isnan(log_losses(None, 2)).all()


def test_labels_that_are_equal_are_one_class_whoever_gives_them() -> None:
    numbering = LabelIndex()
    numbers = numbering.of([1, np.int64(1), 1.0, True, None, 0])
    assert numbers.tolist() == [0, 0, 0, 0, -1, 1]
    assert len(numbering) == 2


def test_nothing_counted_is_not_a_number() -> None:
    found = RunningMetrics(["accuracy", "kappa"], 5, 0.9).measure()
    assert all(np.isnan(v) for values in found.values() for v in values.values())
