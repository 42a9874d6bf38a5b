"""`prequential(..., labels="late")`: estimates do not depend on the chunks."""

from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.naive_bayes import BernoulliNB

import waiting_rows
from estimators.streams import small
from rpnb import PooledClassifier, baselines
from rpnb.drift import DriftAware
from rpnb.estimators.protocol import predict_later
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.evaluate import prequential
from rpnb.evaluate.confusion import log_losses
from rpnb.evaluate.evaluation import native_evaluation
from rpnb.evaluate.stream_blocks import blocks_of
from rpnb.evaluate.waiting import ErrorForecast, PriorCorrection, WaitingResult
from rpnb.evaluate.waiting.stream_watch import StreamWatch
from rpnb.labels import LabelIndex


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
@given(
    st.lists(st.integers(1, 2199), max_size=4),
    st.sampled_from([0, 30, 700]),
    st.booleans(),
)
def test_chunks_change_nothing(cuts: list[int], late: int, corrected: bool) -> None:
    X, y = stream(2200)
    times: dict[str, Any] = {"delay": "late", "labels": "late", "references": False}
    times["correct_class_mix"] = corrected
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


def mixes(n: int) -> tuple[Any, Any]:
    """Return rows of two classes whose shares change abruptly, and their classes."""
    rng = np.random.default_rng(4)
    share = 0.5 + 0.4 * np.sign(np.sin(np.arange(n) / 400))
    y = (rng.random(n) < share).astype(np.int64)
    return rng.normal(y[:, None] * 1.5, 1.0, (n, 2)), np.array(["ant", "bee"])[y]


def by_hand(model: Any, X: Any, y: Any, delays: Any) -> tuple[list[Any], Any]:
    """Predict, correct and learn row by row; return predictions and P."""
    correction = PriorCorrection()
    later = isinstance(model, PooledClassifier)
    numbers: dict[int, tuple[int, Any]] = {}
    columns: list[str] = []
    due = np.arange(len(y)) + delays
    arrivals = [int(i) for i in np.lexsort((np.arange(len(y)), due)) if due[i] < np.inf]
    labels: list[Any] = []
    table = np.full((len(y), 2), np.nan)
    for t in range(len(y)):
        while arrivals and due[arrivals[0]] <= t:
            i = arrivals.pop(0)
            number, waits = numbers.pop(i, (-1, None))
            if number >= 0 and y[i] in columns:
                correction.add_labelled([number], [columns.index(y[i])])
            if waits is not None:
                model.learn_later(waits, y[i : i + 1])
            elif isinstance(model, StreamClassifier):
                model.partial_fit(X[i : i + 1], y[i : i + 1])
            else:
                model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.unique(y))
        if not hasattr(model, "classes_"):
            labels.append(None)
            continue
        waits = None
        if later:
            found, P, waits = predict_later(model, X[t : t + 1])
        else:
            found, P = model.predict(X[t : t + 1]), model.predict_proba(X[t : t + 1])
        columns += [each for each in model.classes_ if each not in columns]
        order = [columns.index(each) for each in model.classes_]
        whole = np.zeros((1, len(columns)))
        whole[:, order] = P
        numbers[t] = correction.rows, waits
        now = correction.correct(whole)[:, order]
        same = (now == P).all()
        labels.append(found[0] if same else model.classes_[now[0].argmax()])
        table[t, np.searchsorted(np.unique(y), model.classes_)] = now[0]
    return labels, table


@pytest.mark.parametrize(
    "model",
    [
        baselines.GaussianNB(),
        small(combiner="vote"),
        PooledClassifier(members=["binned_bayes"], delays="varying", random_state=0),
        BernoulliNB(binarize=0.75),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_class_mix_is_corrected_as_by_hand(model: Any) -> None:
    X, y = mixes(3000)
    rows = np.arange(len(y))
    delays = np.where(rows % 7 == 0, np.inf, in_groups(len(y), 200) + rows % 3 - rows)
    delays[rows % 11 == 1] = 1  # learned right after the prediction
    given: dict[str, Any] = {
        "metrics": ["error", "log_loss"],
        "keep_answers": True,
        "references": False,
        "delay": delays,
        "labels": "late",
    }
    result = prequential({"it": model}, X, y, **given, correct_class_mix=True)
    plain = prequential({"it": model}, X, y, **given)
    labels, table = by_hand(deepcopy(model), X, y, delays)
    found = result["it"]
    assert found.answers is not None
    assert list(found.answers) == labels
    truth = table[rows, np.searchsorted(np.unique(y), y)]
    losses = log_losses(np.nan_to_num(truth), len(y))
    assert found.last("log_loss") == pytest.approx(losses.mean(), rel=1e-9)
    # It was applied.
    assert found.last("log_loss") != plain["it"].last("log_loss")
    assert found.last("error") != plain["it"].last("error")
    looks = result.waiting["it"]
    wrong = [a != b for a, b in zip(labels, y, strict=True)]
    at = int(looks.rows[2])
    waits = [i for i in range(at) if i + delays[i] > at - 1 and labels[i] is not None]
    assert looks.true[2] == pytest.approx(np.mean([wrong[i] for i in waits]))


def test_a_class_mix_that_cannot_be_corrected_is_refused() -> None:
    X, y = stream(50)
    given: dict[str, Any] = {"correct_class_mix": True}
    with pytest.raises(ValueError, match="correct_class_mix=True needs labels='late'"):
        prequential(baselines.GaussianNB(), X, y, delay=3, **given)
    with pytest.raises(ValueError, match="correct_class_mix=True needs delay or arr"):
        prequential(baselines.GaussianNB(), X, y, labels="late", **given)
    both = [baselines.GaussianNB(), baselines.PA()]
    with pytest.raises(ValueError, match=r"with probabilities, got PA$"):
        prequential(both, X, y, delay=3, labels="late", **given)


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


def test_labels_that_arrive_at_once_are_watched_as_a_report_watches_them() -> None:
    X, y = stream()
    result = prequential(baselines.GaussianNB(), X, y, labels="late")
    found = result.waiting["GaussianNB"]
    index = LabelIndex()
    model = {"GaussianNB": baselines.GaussianNB()}
    report = native_evaluation(model, labels=index, probabilities="truth")
    (participant,) = report.participants
    report.watch = StreamWatch({"GaussianNB": (0, participant.driver)}, index)
    report.run(blocks_of([(X, y)], index), [])
    same(found, report.watch.results()["GaussianNB"])
    assert {alarm.what for alarm in found.alarms} == {"inputs", "predictions", "errors"}
    assert found.last.waiting == 0


def test_evaluations_that_cannot_be_watched_are_refused() -> None:
    X, y = stream(50)
    learner = baselines.GaussianNB()
    for mix in (False, True):
        with pytest.raises(ValueError, match="cannot be combined with budget"):
            prequential(
                learner, X, y, delay=3, labels="late", budget=0.5, correct_class_mix=mix
            )
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
