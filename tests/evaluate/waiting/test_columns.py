"""Columns that are watched: dates, texts, and columns that only move with time."""

from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from rpnb.core.columns.coding import date_numbers, text_numbers
from rpnb.evaluate.waiting import InputWatch, LearnerWatch
from rpnb.evaluate.waiting.table_columns import (
    TableColumns,
    column_distances,
    date_text,
)

N = 4000
RNG = np.random.default_rng(0)
SENT = np.datetime64("2026-01-01", "s") + np.sort(RNG.integers(0, 10**7, N))


def watched(table: Any, **given: Any) -> InputWatch:
    """Return a watch that has seen a table, in parts."""
    watch = InputWatch(**given)
    start = 0
    while start < len(table):
        end = min(start + watch.room(), len(table))
        part = table.iloc[start:end] if hasattr(table, "iloc") else table[start:end]
        watch.add_predicted(part, end - 1)
        start = end
    return watch


def test_a_clock_gives_no_alarm_and_hides_none() -> None:
    moved = RNG.normal(size=N)
    moved[2500:] += 1.0
    table = pd.DataFrame({"sent": SENT, "number": np.arange(N), "moved": moved})
    table["down"] = -2.0 * table["number"]
    watch = watched(table)
    assert watch.shifts.clocks == {"sent", "number", "down"}
    found = [
        (alarm.row, [c.name for c in alarm.changes]) for alarm in watch.shifts.alarms
    ]
    assert found == [(3000, ["moved"])]
    _, distances = watch.shifts.series()
    assert not column_distances(watch.shifts.names, distances)["sent"].any()


def test_a_clock_that_stops_is_compared_again() -> None:
    number = np.minimum(np.arange(N), 2000) + RNG.normal(size=N)
    watch = watched(pd.DataFrame({"number": number}))
    assert watch.shifts.clocks == set()
    assert [alarm.row for alarm in watch.shifts.alarms] == [2500]


@pytest.mark.parametrize("slope", [0.0, 0.001])
def test_what_moves_slowly_is_no_clock(slope: float) -> None:
    moving = RNG.normal(size=N) + slope * np.arange(N)
    watch = watched(pd.DataFrame({"moving": moving}))
    assert watch.shifts.clocks == set()
    assert bool(watch.shifts.alarms) == (slope > 0.0)


def test_alarms_are_counted_when_old_ones_are_no_longer_kept() -> None:
    moved = np.arange(125_000) // 500 % 4 // 2  # other values every 1,000 rows
    inputs = InputWatch()
    learner = LearnerWatch(inputs, own_alarms=True)
    for part in moved.reshape(-1, 500):
        sure, labels = np.full(500, 0.9), ["ash", "elm"]
        learner.add_predicted(part, sure, labels)
        inputs.add_predicted(part[:, None].astype(float), 0)
        inputs.add_labelled(part[:, None].astype(float), 0)
        at = np.full(500, inputs.rows)
        learner.add_labelled(part, part, sure, labels, at, alarms=[499])
    assert inputs.shifts.raised == learner.classes.raised == 124
    assert learner.raised == 124 + 250
    kept = inputs.shifts.alarms, learner.classes.alarms, learner.error_alarms
    assert [len(alarms) for alarms in kept] == [100, 100, 100]


def test_the_values_of_dates_are_named_as_dates() -> None:
    born = np.datetime64("1970-01-01", "D") + RNG.integers(0, 9000, N)
    born[2000:] += 4000
    watch = watched(pd.DataFrame({"born": born}))
    (change,) = watch.shifts.alarms[0].changes
    for cell in change.cells:
        for word in cell.cell.replace("below ", "").replace("above ", "").split(" to "):
            assert np.datetime64(word) >= born.min()
            assert np.datetime64(word) <= born.max()
    assert date_text(-0.5) == "1969-12-31 12:00"


def test_encoded_dates_and_texts_are_one_column_each() -> None:
    words = np.array(["please leave by the door", "fragile glass inside this box"])
    told = words[(RNG.random(N) < np.where(np.arange(N) < 2000, 0.2, 0.9)).astype(int)]
    size = RNG.normal(size=(N, 1))
    encoded = np.hstack([date_numbers(SENT), text_numbers(told), size])
    names, kinds = ["sent", "note", "size"], ["date", "text", "number"]
    watch = watched(encoded, names=names, kinds=kinds)
    assert set(watch.shifts.names) == set(names)
    assert watch.shifts.clocks == {"sent"}
    (alarm,) = watch.shifts.alarms
    (change,) = alarm.changes
    assert (alarm.row, change.name, change.cells) == (2500, "note", ())
    assert change.distance == pytest.approx(0.7, abs=0.1)
    _, distances = watch.shifts.series()
    found = column_distances(watch.shifts.names, distances)
    assert list(found) == names
    assert found["note"].max() == pytest.approx(change.distance)


def test_encoded_columns_are_those_of_the_table() -> None:
    columns = TableColumns(
        ["city", "sent", "size"], (), {7.0: "Oslo"}, ["category", "date", "number"]
    )
    encoded = np.hstack([np.full((N, 1), 7.0), date_numbers(SENT), np.ones((N, 1))])
    found = columns.numbers(encoded)
    assert columns.names == ("city", "sent", "size")
    assert columns.categorical == [True, False, False]
    np.testing.assert_array_equal(found, encoded[:, [0, 1, 8]])
    assert columns.labels(0) == {7.0: "Oslo"}
    assert columns.labels(1) is date_text
    assert columns.labels(2) is None
    frame = pd.DataFrame({"sent": SENT})
    np.testing.assert_array_equal(TableColumns().numbers(frame), encoded[:, [1]])


def test_rows_without_a_prediction_are_in_no_window_of_an_alarm_of_errors() -> None:
    """They are neither correct nor a class, whether first or in between."""
    rng = np.random.default_rng(1)
    n, labels = 1200, ["ash", "elm"]
    truth = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 2)) + truth[:, None]
    p = np.where(np.arange(n) < 1000, 0.3, 0.8)
    predicted = np.where(rng.random(n) < p, 1 - truth, truth)

    def alarms(unpredicted: Any) -> Any:
        inputs = InputWatch()
        learner = LearnerWatch(inputs, own_alarms=True)
        for i in range(0, n, 10):
            inputs.add_predicted(X[i : i + 10], i)
            rows = [(X[i : i + 10], truth[i : i + 10], predicted[i : i + 10])]
            if unpredicted(i):
                rows.insert(0, (np.full((10, 2), 9.0), np.ones(10, int), -np.ones(10)))
            for x, y, guess in rows:
                inputs.add_labelled(x, i)
                at, sure = np.full(10, i), np.full(10, 0.9)
                own = [9] if i == 1190 and guess[0] >= 0 else []
                learner.add_labelled(y, guess.astype(int), sure, labels, at, own)
        return learner.error_alarms

    plain = alarms(lambda i: False)
    changes = plain[0].changes
    assert {change.name for change in changes} == {
        *("true class", "predicted class", "x1", "x2")
    }
    for change in changes:
        assert change.kind == "error"
        assert all(cell.before < 0.45 < cell.after for cell in change.cells)
    assert alarms(lambda i: i % 50 == 0 or 900 < i < 1100) == plain
