"""Running figures, compared with a direct computation from the same rows."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpnb.estimators.drift.detectors import make_detector
from rpnb.serve.scores import WINDOW, Scores

LABELS = st.sampled_from(["a", "b", "c"])
ROWS = st.lists(
    st.tuples(LABELS, st.none() | LABELS, st.none() | st.floats(0, 1)), max_size=60
)


def plainly(rows: list[tuple[Any, Any, Any]]) -> dict[str, Any]:
    """The figures by definition."""
    wrong, majority, before = [], [], []
    for i, (label, predicted, _) in enumerate(rows):
        seen = Counter(each[0] for each in rows[:i])
        best = max(seen.values(), default=0)
        # Of equally frequent classes the one that was first to be that frequent.
        leaders = []
        counts: Counter[str] = Counter()
        for each in rows[:i]:
            counts[each[0]] += 1
            if counts[each[0]] == best:
                leaders.append(each[0])
        if predicted is None:
            continue  # it was learned, and nothing was predicted
        wrong.append(predicted != label)
        majority.append(not leaders or leaders[0] != label)
        before.append(i == 0 or rows[i - 1][0] != label)
    n = max(len(wrong), 1)
    return {
        "error": sum(wrong) / n,
        "majority": sum(majority) / n,
        "no_change": sum(before) / n,
        "window": np.mean(wrong[-WINDOW:]) if wrong else 0.0,
    }


@given(ROWS, st.integers(0, 60))
def test_figures_are_those_of_a_plain_reading(
    rows: list[tuple[Any, Any, Any]], cut: int
) -> None:
    scores = Scores()
    for part in (rows[:cut], rows[cut:]):
        if part:
            labels, predicted, confidence = map(list, zip(*part, strict=True))
            scores.add(labels, predicted, confidence, 1.0)
        # Saved and read again in between, nothing changes.
        scores = Scores.from_json(json.loads(json.dumps(scores.to_json())))
    expected = plainly(rows)
    assert scores.errors() == pytest.approx(
        [expected["error"], expected["majority"], expected["no_change"]]
    )
    assert scores.window_errors()[0] == pytest.approx(expected["window"])
    assert scores.balance == Counter(label for label, _, _ in rows)
    answered = [row for row in rows if row[1] is not None]
    assert scores.confusion == Counter((label, guess) for label, guess, _ in answered)
    known = [(p, guess == label) for label, guess, p in answered if p is not None]
    assert sum(cell[0] for cell in scores.calibration) == len(known)
    assert sum(cell[2] for cell in scores.calibration) == sum(r for _, r in known)
    details = scores.details()
    assert (details["learned"], details["scored"]) == (len(rows), len(answered))
    if answered:
        assert details["curve"][-1][0] == len(answered)
        right = {
            label: [g == label for t, g, _ in answered if t == label] for label in "abc"
        }
        recalls = [np.mean(each) for each in right.values() if each]
        assert details["balanced_accuracy"] == pytest.approx(np.mean(recalls))
        matrix = details["confusion"]
        assert matrix["classes"] == sorted(scores.balance)
        assert matrix["scored"] == [len(right[label]) for label in matrix["classes"]]
    else:
        assert details["balanced_accuracy"] is None


def test_the_window_and_the_curve_stay_small() -> None:
    scores = Scores()
    rng = np.random.default_rng(0)
    wrong = rng.random(5000) < 0.3
    for part in np.array_split(wrong, 7):
        scores.add(["a"] * len(part), ["b" if w else "a" for w in part], None, 0.0)
    assert scores.errors()[0] == pytest.approx(wrong.mean())
    assert scores.window_errors()[0] == pytest.approx(wrong[-WINDOW:].mean())
    assert len(scores.curve()) <= 402
    assert [point[0] for point in scores.curve()] == sorted(
        point[0] for point in scores.curve()
    )


def test_classes_of_the_matrix_are_the_most_frequent_by_value() -> None:
    scores = Scores()
    labels = [k for k in range(40) for _ in range(k + 1)]
    scores.add(labels, labels, None, 0.0)
    matrix = scores.details()["confusion"]
    assert matrix["classes"] == list(range(10, 40))
    assert matrix["left_out"] == 10
    assert [line[i] for i, line in enumerate(matrix["counts"])] == matrix["scored"]


def alarms(wrong: Iterable[bool]) -> list[int]:
    """Rows at which the service raises an alarm, counted from 0."""
    scores, before, found = Scores(), 0, []
    for i, each in enumerate(wrong):
        scores.add(["a"], ["ab"[each]], None, 0.0)
        if scores.raised > before:
            before = scores.raised
            found.append(i)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_alarms_are_those_of_drift_aware_unless_all_was_right(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # The rate changes where the first 30 predictions end, and later.
    rates = rng.random(6) * rng.random(6)
    wrong = rng.random(630) < np.repeat(rates, [30, 30, 90, 120, 180, 180])
    wrong[0] = True
    found = alarms(wrong.tolist())
    detector = make_detector("ddm")
    start = 0
    for i, each in enumerate(wrong.tolist()):
        detector.update(each)
        if detector.drift_detected and not wrong[start:i].any():
            return  # the departure: one error after none
        assert bool(detector.drift_detected) == (i in found)
        if detector.drift_detected:
            start = i + 1


def test_a_single_mistake_is_no_drift() -> None:
    assert not alarms(
        wrong for run in (100, 40, 200, 60) for wrong in [*[False] * run, True]
    )
    assert alarms([*[False] * 1000, *(i % 3 == 0 for i in range(12))])


def test_drift_is_noticed_and_a_steady_error_hardly_ever() -> None:
    rng = np.random.default_rng(1)
    steady = rng.random(3500) < 0.2
    found = alarms([*steady.tolist(), *(rng.random(1000) < 0.6).tolist()])
    # The first minimum is from 31 predictions: expect an early false alarm.
    assert sum(row < 3000 for row in found) <= 2
    assert not any(3000 <= row < 3500 for row in found)
    assert any(3500 <= row < 4000 for row in found)


def test_alarms_are_counted_when_old_ones_are_no_longer_kept() -> None:
    wrong = [row // 100 % 2 == 1 for row in range(40_000)]
    expected = len(alarms(wrong))
    assert expected > 150
    scores = Scores()
    for start in range(0, len(wrong), 8000):
        part = wrong[start : start + 8000]
        scores.add(["a"] * len(part), ["ab"[each] for each in part], None, 0.0)
        scores = Scores.from_json(json.loads(json.dumps(scores.to_json())))
    assert scores.summary()["alarms"] == expected
    assert len(scores.alarms) == 100
