"""Counts and metrics computed online are those of the whole history."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from evaluate import naive
from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate import confusion
from rpnb.evaluate.confusion import (
    Confusion,
    CountHistory,
    ProbabilityDetails,
    ScoredRows,
    confusion_counts,
    log_losses,
)
from rpnb.evaluate.metrics import METRICS, Metric, error_rate
from rpnb.evaluate.ranking import bin_scores
from rpnb.labels import LabelIndex

Cuts = list[int]


def parts(n: int, cuts: Cuts) -> list[slice]:
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    return [slice(a, b) for a, b in pairwise(edges) if a < b]


cuts = st.lists(st.integers(0, 60), max_size=5)


@pytest.fixture(autouse=True)
def _few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confusion, "_PLACES", 8)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), cuts)
def test_a_history_has_the_counts_at_a_few_places_for_any_chunking(
    numbers: list[int], where: Cuts
) -> None:
    values, history = np.array(numbers), CountHistory()
    for part in parts(len(values), where):
        history.add(values[part], int(values[: part.stop].max()) + 1)
    places, counts = history.places()
    assert len(places) <= 9
    assert places[-1] == history.rows == len(values)
    steps = np.diff([0, *places[:-1].tolist()])
    assert len(set(steps.tolist())) <= 1  # evenly spaced
    # With a step that is no longer than it must be.
    step = next(2**k for k in range(9) if len(values) // 2**k <= 8)
    assert_array_equal(places[:-1], np.arange(step, len(values), step))
    for place, line in zip(places, counts, strict=True):
        assert_array_equal(line, np.bincount(values[:place], minlength=len(line)))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), min_size=1, max_size=60),
    cuts,
    st.integers(1, 70),
)
def test_counts_are_those_of_all_rows_while_classes_join(
    rows: list[tuple[int, int]], where: Cuts, window: int
) -> None:
    truth, predicted = (np.array(column) for column in zip(*rows, strict=True))
    sums = Confusion(window)
    M = 0
    for part in parts(len(rows), where):
        M = int(max(M, truth[part].max() + 1, predicted[part].max() + 1))
        unused = np.zeros(len(truth[part]))
        sums.add(ScoredRows(truth[part], predicted[part], unused > 0, unused), M)
    assert_array_equal(sums.counts, confusion_counts(truth, predicted, M))
    assert sums.error == error_rate(sums.counts)
    wrong = truth != predicted
    assert sums.mistakes == int(wrong.sum())
    assert sums.window_error == float(wrong[-window:].mean())
    assert sums.history.places()[1][-1].sum() == len(rows)


class History(NamedTuple):
    truth: list[str]
    predicted: list[str | None]
    probability: FloatArray
    cuts: list[int]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Rows with predictions, some of them none, and places at which calls end."""
    letters = "abcde"[: draw(st.integers(1, 5))]
    truth = draw(st.lists(st.sampled_from(letters), min_size=1, max_size=40))
    label = st.sampled_from([*letters, "z", None])
    n = len(truth)
    predicted = draw(st.lists(label, min_size=n, max_size=n))
    probability = draw(st.lists(st.floats(0.0, 1.0), min_size=n, max_size=n))
    inner = draw(st.sets(st.integers(1, n), max_size=5))
    return History(truth, predicted, np.array(probability), sorted({*inner, n}))


def rows_of(history: History, begin: int, end: int, labels: LabelIndex) -> ScoredRows:
    truth = labels.of(history.truth)
    repeats = truth == np.concatenate([[-1], truth[:-1]])
    part = slice(begin, end)
    predicted = labels.of(history.predicted)
    # Of the probabilities one is drawn; here it stands for each that a row has.
    P = history.probability
    loss, brier, covered = log_losses(P, len(truth)), (1.0 - P) ** 2, 1.0 * (P > 0.5)
    names = list("abcde")
    # As in `naive.measure`.
    given = P[:, None] * np.arange(2.0, 7.0) % 1.0
    scores = bin_scores(given[part], names, history.truth[part], LabelIndex(names))
    probabilities: tuple[Any, ...] = (brier[part], P[part], covered[part], scores)
    columns: tuple[Any, ...] = (truth, predicted, repeats, loss)
    parts = [column[part] for column in columns]
    return ScoredRows(*[*parts, ProbabilityDetails(*probabilities)])


@settings(max_examples=12)
@given(histories(), st.integers(1, 45), st.sampled_from([1.0, 0.999, 0.8, 0.25]))
def test_metrics_are_those_of_the_whole_history(
    history: History, window: int, fading: float
) -> None:
    running = Confusion(window, fading)
    labels, begin = LabelIndex(), 0
    for end in history.cuts:
        truth, predicted, probability, _ = history
        seen = History(truth[:end], predicted[:end], probability[:end], [])
        rows = rows_of(seen, begin, end, labels)
        running.add(rows, len(labels))
        found = running.measure(list(METRICS))
        begin = end
        ones = np.ones(end)
        faded = fading ** np.arange(end - 1.0, -1.0, -1.0)
        for name in METRICS:
            args = (name, seen.truth, seen.predicted)
            expected = {
                "cumulative": naive.measure(*args, ones, seen.probability),
                "window": naive.measure(
                    *args, ones, seen.probability, first=max(end - window, 0)
                ),
                "fading": naive.measure(*args, faded, seen.probability),
            }
            for span, values in found.items():
                assert_allclose(
                    values[name],
                    expected[span],
                    rtol=1e-9,
                    atol=1e-9,
                    err_msg=f"{span} {name}",
                )


def test_metrics_of_all_rows_do_not_depend_on_blocks_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abc"), (2, 3000)).tolist()
    history = History(letters[0], letters[1], rng.random(3000), [])
    found = []
    for step in (3000, 997, 256, 1):
        running, labels = Confusion(), LabelIndex()
        whole = rows_of(history, 0, 3000, labels)
        assert whole.details is not None
        for begin in range(0, 3000, step):
            part = slice(begin, begin + step)
            columns: list[Any] = [column[part] for column in whole[:4]]
            columns.append(whole.details.some(part))
            running.add(ScoredRows(*columns), len(labels))
        found.append(running.measure(list(METRICS))["cumulative"])
    assert all(each == found[0] for each in found[1:])


@pytest.mark.parametrize("alpha", [0.9, 0.99])
def test_the_faded_error_follows_the_recursion_of_gama(alpha: float) -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random(200) < np.repeat([0.1, 0.6], 100)
    names: list[Metric] = ["error"]
    running = Confusion(10, alpha)
    S = N = 0.0
    for mistake in wrong:
        truth, predicted = np.array([0]), np.array([1 if mistake else 0])
        rows = ScoredRows(truth, predicted, np.array([True]), np.array([0.0]))
        running.add(rows, 2)
        S, N = float(mistake) + alpha * S, 1.0 + alpha * N
    assert_allclose(running.measure(names)["fading"]["error"], S / N, rtol=1e-12)
    # What it must not be: the plain mean, which forgets nothing.
    assert abs(S / N - wrong.mean()) > 0.1


def test_losses_are_bounded_where_a_true_class_was_impossible() -> None:
    losses = log_losses(np.array([1.0, 0.5, 0.0, np.nan]), 4)
    assert_allclose(losses, [0.0, np.log(2.0), 52 * np.log(2.0), 52 * np.log(2.0)])
    assert np.isnan(log_losses(None, 2)).all()


def test_nothing_counted_is_not_a_number() -> None:
    found = Confusion(5, 0.9).measure(["accuracy", "kappa"])
    assert len(found) == 3
    assert all(np.isnan(v) for values in found.values() for v in values.values())
