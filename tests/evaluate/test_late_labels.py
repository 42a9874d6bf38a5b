"""Labels that arrive late: predictions equal those of events processed one by one."""

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.linear_model import SGDClassifier

from estimators.streams import Stream, blobs, cuts, seeds, small
from evaluate import naive
from rpnb import baselines
from rpnb.drift import DriftAware
from rpnb.evaluate import prequential

WORDS = np.array(["ant", "bee", "cat"])


def learners() -> dict[str, Any]:
    return {
        "RPNB": small(),
        "RPNB of counts": small(class_prior="frequency"),
        "RPNB of votes": small(combiner="vote"),
        "PA": baselines.PA(),
        "AROW": baselines.AROW(),
        "NB": baselines.GaussianNB(),
        "OnlineBayes": baselines.OnlineBayes(),
        "watched": DriftAware(small(update="all")),
        "majority": baselines.MajorityClass(),
        "last": baselines.NoChange(),
    }


@st.composite
def arrivals(draw: st.DrawFn, n: int) -> tuple[list[int], list[float]]:
    """Moments with ties, and arrival times: at once, together, late or never."""
    moment = np.cumsum(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    delay = st.one_of(st.integers(0, 9), st.just(np.inf))
    if draw(st.booleans()):
        delay = st.just(draw(st.integers(0, 12)))
    delays = draw(st.lists(delay, min_size=n, max_size=n))
    return moment.tolist(), (moment + np.array(delays)).tolist()


@settings(max_examples=15)
@given(seeds, st.data())
def test_predictions_are_those_of_the_event_loop(
    seed: int, data: st.DataObject
) -> None:
    X, numbers = blobs(seed, n=data.draw(st.integers(1, 40)))
    y = WORDS[numbers]
    moment, arrival = data.draw(arrivals(len(y)))
    declared = data.draw(st.sampled_from([None, WORDS]))
    leftover = data.draw(st.booleans())
    result = prequential(
        learners(),
        X,
        y,
        moment=moment,
        arrival=arrival,
        classes=declared,
        leftover="learn" if leftover else "drop",
        every=data.draw(st.integers(1, 40)),
        keep_answers=True,
    )
    for name, model in learners().items():
        expected = naive.process_late(
            model, X, y, moment, arrival, classes=declared, leftover=leftover
        )
        assert list(result[name].answers or ()) == expected, name
        fitted = hasattr(model, "classes_")
        assert result[name].updates[-1] == (model.n_updates_ if fitted else 0)
        if fitted:
            found = result.models[name]
            assert_array_equal(found.predict(X), model.predict(X))
            assert found.n_samples_seen_ == model.n_samples_seen_


@settings(max_examples=6)
@given(seeds, st.integers(0, 30), st.data())
def test_late_labels_are_the_same_in_chunks(
    seed: int, delay: int, data: st.DataObject
) -> None:
    X, y = blobs(seed)
    chunks = [(X[part], y[part]) for part in data.draw(cuts(len(y)))]
    table = prequential(learners(), X, y, delay=delay, keep_answers=True)
    parts = prequential(learners(), iter(chunks), delay=delay, keep_answers=True)
    for name in table:
        assert parts[name].answers == table[name].answers
        assert parts[name].updates[-1] == table[name].updates[-1]


@pytest.mark.parametrize("delay", [1, 2, 4])
@pytest.mark.parametrize("size", [1, 3])
def test_rows_are_kept_until_their_labels_arrive(delay: int, size: int) -> None:
    X, y = blobs(11, n=20)
    chunks = [(X[i : i + size], y[i : i + size]) for i in range(0, 20, size)]
    model = {"NB": baselines.GaussianNB()}
    table = prequential(model, X, y, delay=delay, keep_answers=True)
    parts = prequential(model, iter(chunks), delay=delay, keep_answers=True)
    assert parts["NB"].answers == table["NB"].answers
    assert_array_equal(parts.models["NB"].predict(X), table.models["NB"].predict(X))


def test_scikit_learn_estimators_wait_for_labels_too() -> None:
    X, y = blobs(1)
    model = SGDClassifier(random_state=0)
    result = prequential(model, X, y, delay=9, keep_answers=True)
    moments = range(len(y))
    expected = naive.process_late(
        SGDClassifier(random_state=0),
        X,
        y,
        moments,
        [t + 9 for t in moments],
        classes=np.unique(y),
    )
    assert list(result["SGDClassifier"].answers or ()) == expected


def test_no_delay_equals_a_delay_of_zero() -> None:
    X, y = blobs(2)
    plain = prequential(learners(), X, y, every=7, keep_answers=True)
    for delay in (0, 0.0, np.zeros(len(y))):
        late = prequential(learners(), X, y, every=7, keep_answers=True, delay=delay)
        for name in plain:
            assert late[name].answers == plain[name].answers
            assert_array_equal(late[name].updates, plain[name].updates)


def test_classes_are_declared_to_learners_that_have_begun() -> None:
    X, y = blobs(10)
    warm = small().partial_fit(X, y)
    result = prequential(warm, X, y, delay=5, classes=[0, 1, 2, 7], every=60)
    assert result.models["RPNBClassifier"].classes_.tolist() == [0, 1, 2, 7]


def test_a_late_label_makes_a_difference() -> None:
    X, y = blobs(3, n=200)
    plain, late = (prequential(small(), X, y, delay=d) for d in (0, 100))
    name = "RPNBClassifier"
    assert late[name].last("accuracy") < plain[name].last("accuracy") - 0.2
    # "Same as last" knows the last label to arrive, not that of the previous row.
    assert late["same as last"].last("kappa_temporal") != 0.0


def stamps(n: int) -> tuple[list[dt.datetime], list[dt.timedelta]]:
    begin = dt.datetime(2024, 2, 28, 22)
    rng = np.random.default_rng(0)
    moments = [begin + dt.timedelta(minutes=20 * i) for i in range(n)]
    waits = [dt.timedelta(minutes=int(m)) for m in rng.integers(0, 300, n)]
    return moments, waits


def test_time_stamps_durations_and_columns_are_equivalent() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, y = blobs(4)
    moments, waits = stamps(len(y))
    minutes = np.array([w.total_seconds() / 60 for w in waits])
    come = [m + w for m, w in zip(moments, waits, strict=True)]

    def found(*args: Any, **times: Any) -> Any:
        result = prequential(small(), *args, **times, keep_answers=True)
        return result["RPNBClassifier"].answers

    plain = found(X, y, moment=20.0 * np.arange(len(y)), delay=minutes)
    assert found(X, y, moment=moments, delay=waits) == plain
    assert found(X, y, moment=moments, arrival=come) == plain
    assert found(X, y, moment=np.array(moments, "M8[s]"), arrival=come) == plain
    names = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "d": X[:, 3]}
    waiting = {**names, "at": moments, "wait": waits}
    coming = {**names, "at": moments, "come": come}
    for make in (pandas.DataFrame, polars.DataFrame):
        assert found(make(waiting), y, moment="at", delay="wait") == plain
        assert found(make(coming), y, moment="at", arrival="come") == plain


def test_columns_of_times_are_not_shown_to_learners() -> None:
    X, y = blobs(5)
    rows = [
        ({**dict(zip("abcd", x, strict=True)), "at": i, "wait": 4}, t)
        for i, (x, t) in enumerate(zip(X.tolist(), y.tolist(), strict=True))
    ]
    result = prequential(
        small(), iter(rows), moment="at", delay="wait", keep_answers=True
    )
    plain = prequential(small(), X, y, delay=4, keep_answers=True)
    name = "RPNBClassifier"
    assert result[name].answers == plain[name].answers
    assert result.models[name].n_features_in_ == 4


def test_labels_that_never_arrive_are_never_learned() -> None:
    X, y = blobs(6)
    delay = np.where(np.arange(len(y)) % 3 == 0, 0.0, np.inf)
    result = prequential(baselines.GaussianNB(), X, y, delay=delay)
    assert result["GaussianNB"].updates[-1] == len(y[::3])
    lost = np.array(["NaT"] * len(y), "M8[ns]")
    moment = np.arange(len(y)).astype("M8[D]")
    result = prequential(small(), X, y, moment=moment, arrival=lost, keep_answers=True)
    assert result["RPNBClassifier"].answers == (None,) * len(y)
    assert result["RPNBClassifier"].last("accuracy") == 0.0


def test_labels_left_over_are_learned_at_the_end_or_dropped() -> None:
    X, y = blobs(7)
    for leftover, seen in (("learn", 60), ("drop", 20)):
        result = prequential(
            {"NB": baselines.GaussianNB()},
            X,
            y,
            delay=40,
            leftover=leftover,  # type: ignore[arg-type]
            every=30,
        )
        # The label of row 20 arrives with row 60, which does not exist.
        assert result["NB"].updates.tolist() == [0, seen]


def test_batches_of_late_labels_are_learned_when_full() -> None:
    X, y = blobs(8)
    result = prequential(
        SGDClassifier(random_state=0), X, y, batch_size=8, delay=10, every=25
    )
    # After 25 rows the labels of rows 0 … 14 have arrived, which is one batch.
    assert result["SGDClassifier"].updates.tolist() == [8, 40, 60]


@pytest.fixture
def rows() -> Stream:
    return blobs(9, n=6)


@pytest.mark.parametrize(
    ("times", "error", "message"),
    [
        ({"delay": -1}, ValueError, "delay must be at least 0, got -1 in row 0"),
        (
            {"delay": [0, 1, 2]},
            ValueError,
            "delay must have one value for each",
        ),
        (
            {"delay": [0, 1, np.nan, 0, 0, 0]},
            ValueError,
            "or inf for never, got nan in row",
        ),
        ({"delay": "wait"}, TypeError, "column 'wait' needs named features"),
        ({"delay": True}, TypeError, "delay must hold numbers"),
        ({"delay": dt.timedelta(1)}, TypeError, "delay must be durations where moment"),
        (
            {"delay": 1, "arrival": [1] * 6},
            ValueError,
            "delay and arrival cannot both be given",
        ),
        ({"arrival": 3}, TypeError, "arrival must hold one time per row"),
        (
            {"arrival": [0, 1, 1, 3, 4, 5]},
            ValueError,
            "moment of its row, got 1 in row 2",
        ),
        ({"moment": [0] * 6}, ValueError, "moment needs delay or arrival"),
        (
            {"moment": [0, 1, 5, 4, 6, 7], "delay": 1},
            ValueError,
            "not be earlier than in the previous row, got 4 in row 3",
        ),
        (
            {"moment": np.arange(6).astype("M8[D]"), "arrival": range(6)},
            TypeError,
            "must both hold time stamps or both numbers",
        ),
    ],
)
def test_times_that_cannot_be_are_refused_by_row(
    rows: Stream, times: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        prequential(small(), *rows, **times)


def test_moments_must_not_decrease_from_chunk_to_chunk() -> None:
    chunk = [({"a": 1.0, "at": 5}, 0), ({"a": 2.0, "at": 3}, 1)]
    with pytest.raises(ValueError, match=r"previous row, got 3 in row 1"):
        prequential(small(), iter(chunk), moment="at", delay=1)
    with pytest.raises(TypeError, match="the name of a column if the stream consists"):
        prequential(small(), iter([(np.ones((2, 2)), [0, 1])]), delay=[1, 2])
    with pytest.raises(ValueError, match="row 1 has no feature 'at'"):
        prequential(small(), iter([chunk[0], ({"a": 1.0}, 0)]), moment="at", delay=1)
