"""`prequential(..., labels="late")`: estimates do not depend on the chunks."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import waiting_rows
from estimators.streams import small
from rpnb import baselines
from rpnb.drift import DriftAware
from rpnb.evaluate import prequential
from rpnb.evaluate.waiting import ErrorForecast, WaitingResult


def stream(n: int = 4000, seed: int = 0) -> tuple[Any, Any]:
    """Return a stream whose inputs move at two thirds, and whose labels turn there."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 4)) + y[:, None]
    X[2 * n // 3 :, 1] += 3.0
    y[2 * n // 3 :] = 2 - y[2 * n // 3 :]
    return X, y


def in_groups(n: int, late: int) -> Any:
    """Return when labels arrive: those of 100 rows together, which is faster."""
    return (np.arange(n) // 100 + 1) * 100 + late


def same(one: WaitingResult, other: WaitingResult) -> None:
    for name in one.__slots__:
        first, second = getattr(one, name), getattr(other, name)
        if name == "distances":
            assert list(first) == list(second)
            for key in first:
                assert_array_equal(first[key], second[key])
        elif isinstance(first, np.ndarray):
            assert_array_equal(first, second, err_msg=name)
        else:
            assert first == second or (first.waiting == second.waiting == 0), name


def models() -> dict[str, Any]:
    return {
        "NB": baselines.GaussianNB(),
        "watched": DriftAware(small(update="all")),
    }


@settings(max_examples=2, deadline=None)
@given(st.lists(st.integers(1, 2199), max_size=4), st.sampled_from([0, 30, 700]))
def test_chunks_change_nothing(cuts: list[int], late: int) -> None:
    X, y = stream(2200)
    times: dict[str, Any] = {"delay": "late", "labels": "late", "references": False}
    frame = pd.DataFrame(X).assign(late=in_groups(2200, late) - np.arange(2200))
    whole = prequential(models(), frame, y, **times)
    edges = sorted({0, *cuts, 2200})
    chunks = [(frame[a:b], y[a:b]) for a, b in pairwise(edges)]
    parts = prequential(models(), chunks, **times)
    assert list(whole.waiting) == list(models())
    for name in whole.waiting:
        same(whole.waiting[name], parts.waiting[name])


def test_looks_are_those_of_the_events_one_by_one() -> None:
    X, y = stream()
    rows = np.arange(len(y))
    delays = np.where(rows % 7 == 0, np.inf, in_groups(len(y), 300) + rows % 3 - rows)
    result = prequential(
        {"NB": baselines.GaussianNB()},
        *(X, y),
        delay=delays,
        labels="late",
        keep_answers=True,
    )
    found = result.waiting["NB"]
    model, forecast = baselines.GaussianNB(), ErrorForecast()
    given: dict[int, tuple[Any, float]] = {}
    looks = []
    order = np.lexsort((np.arange(len(y)), np.arange(len(y)) + delays))
    arrivals = [int(i) for i in order if np.isfinite(delays[i])]
    for t in range(len(y)):
        while arrivals and arrivals[0] + delays[arrivals[0]] <= t:
            i = arrivals.pop(0)
            label, p = given.pop(i, (None, 0.0))
            if label is not None:
                forecast.add_labelled([p], [label != y[i]])
            model.partial_fit(X[i : i + 1], y[i : i + 1])
        if hasattr(model, "classes_"):
            P = model.predict_proba(X[t : t + 1])[0]
            label = model.predict(X[t : t + 1])[0]
            given[t] = label, float(P[list(model.classes_).index(label)])
        if (t + 1) % 500 == 0:
            error = forecast.expected([p for _, p in given.values()])
            wrong = [label != y[i] for i, (label, _) in given.items()]
            looks.append((t + 1, error.waiting, error.expected, np.mean(wrong)))
    rows, waiting, expected, true = map(np.array, zip(*looks, strict=True))
    assert_array_equal(found.rows, rows)
    assert_array_equal(found.waiting, waiting)
    np.testing.assert_allclose(found.expected, expected, rtol=1e-6)
    np.testing.assert_allclose(found.true, true)


def test_alarms_name_what_changed() -> None:
    X, y = stream(6000)
    result = prequential(models(), X, y, arrival=in_groups(6000, 50), labels="late")
    for name in models():
        alarms = result.waiting[name].alarms
        inputs = [alarm for alarm in alarms if alarm.what == "inputs"]
        assert [alarm.row for alarm in inputs] == [4500]
        assert [change.name for change in inputs[0].changes] == ["x2"]
        errors = [alarm for alarm in alarms if alarm.what == "errors"]
        assert errors
        assert 4000 < errors[0].row < 4700
        kinds = {change.kind for alarm in errors for change in alarm.changes}
        assert "error" in kinds
        assert "row 4,500, inputs: x2 moved by" in str(inputs[0])


def test_inputs_unlike_those_with_labels_are_reported() -> None:
    X, y = stream(9000)
    model, times = baselines.GaussianNB(), in_groups(9000, 550)
    found = prequential(model, X, y, arrival=times, labels="late").waiting["GaussianNB"]
    there = np.flatnonzero(found.rows == 6500)[0]
    assert found.outside[there] > 0.5
    assert not found.known[there]
    before = (found.rows > 4500) & (found.rows <= 6000)
    assert found.known[before].all()
    assert found.outside[before].max() < 0.15


def test_stationary_inputs_give_no_alarm() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 20_000)
    X = rng.normal(size=(20_000, 30)) + 0.3 * y[:, None]
    model, times = baselines.GaussianNB(), in_groups(20_000, 50)
    result = prequential(model, X, y, arrival=times, labels="late")
    alarms = result.waiting["GaussianNB"].alarms
    assert [alarm for alarm in alarms if alarm.what != "errors"] == []


def test_evaluations_that_cannot_be_watched_are_refused() -> None:
    X, y = stream(50)
    with pytest.raises(ValueError, match="needs delay or arrival"):
        prequential(baselines.GaussianNB(), X, y, labels="late")
    with pytest.raises(ValueError, match="needs a learner with probabilities"):
        prequential(baselines.PA(), X, y, delay=3, labels="late")
    with pytest.raises(ValueError, match="labels must be"):
        prequential(baselines.PA(), X, y, labels="never")  # type: ignore[arg-type]
    assert prequential(baselines.PA(), X, y, delay=3).waiting == {}


def test_the_benchmark_measures_a_small_stream() -> None:
    made = {name: (X, y) for name, X, y in waiting_rows.generated(2000)}
    assert len(made) == 8
    X, y = made["class mix, generated"]
    lines = [*waiting_rows.measure(X, y, 100, 0)]
    assert [name for name, _, _ in lines] == ["Pooled", "RPNB"]
    for name, error, found in lines:
        figures = waiting_rows.cells(found)
        assert 0.0 < error < 0.5
        assert len(figures) + 4 == len(waiting_rows.HEAD)
        assert figures[0] < 0.15, name
        assert figures[2] >= 0.5, name
