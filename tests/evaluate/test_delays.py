"""Labels that arrive late: the order of predictions and labels."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from river.stream import simulate_qa

from rpnb.evaluate.delays import Event, WaitingRows


class Late(NamedTuple):
    moment: list[int]
    delay: list[int]
    cuts: list[int]


@st.composite
def late_labels(draw: st.DrawFn) -> Late:
    """Moments that stand still now and then, delays with many ties, and cuts."""
    steps = draw(st.lists(st.integers(0, 2), min_size=1, max_size=25))
    n = len(steps)
    delay = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    inner = draw(st.sets(st.integers(1, n), max_size=4))
    return Late(np.cumsum(steps).tolist(), delay, sorted({0, *inner, n}))


def spelt(events: Iterable[Event]) -> list[tuple[str, int]]:
    """Runs of events as single ones: "?" for a prediction, "!" for a label learned."""
    out = []
    for event in events:
        for row in event.rows.tolist():
            out += [("?", row)] * event.predict + [("!", row)] * event.learn
    return out


def order_of_events(case: Late) -> list[tuple[str, int]]:
    waiting, out = WaitingRows.none(), []
    moment, arrival = np.array(case.moment), np.array(case.moment) + case.delay
    for begin, end in pairwise(case.cuts):
        out += spelt(waiting.advance(begin, moment[begin:end], arrival[begin:end]))
    return out + spelt(waiting.rest())


def river(dataset: Any, moment: Any, delay: Any) -> list[tuple[str, int]]:
    events = simulate_qa(dataset, moment=moment, delay=delay)
    return [("?" if y is None else "!", i) for i, _, y in events]


@given(late_labels())
def test_events_have_the_order_of_river_for_any_chunking(
    case: Late,
) -> None:
    rows = zip(case.moment, case.delay, strict=True)
    dataset = [({"moment": m, "delay": d}, True) for m, d in rows]
    assert order_of_events(case) == river(dataset, "moment", "delay")


@given(st.integers(0, 8), st.integers(1, 20))
def test_delays_in_rows_are_those_of_river(delay: int, n: int) -> None:
    case = Late(list(range(n)), [delay] * n, [0, n])
    assert order_of_events(case) == river([({}, True)] * n, None, delay)


def test_a_delay_of_one_row_is_no_delay_and_two_rows_are() -> None:
    def order(delay: int) -> str:
        case = Late([0, 1, 2], [delay] * 3, [0, 3])
        return " ".join(f"{row}{what}" for what, row in order_of_events(case))

    assert order(0) == order(1) == "0? 0! 1? 1! 2? 2!"
    assert order(2) == "0? 1? 0! 2? 1! 2!"


def test_rows_and_labels_that_meet_are_run_together() -> None:
    events = WaitingRows.none().advance(5, np.arange(5, 9), np.array([5, 6, 9, 8]))
    assert [(e.predict, e.learn, e.rows.tolist()) for e in events] == [
        (True, True, [5, 6]),
        (True, False, [7]),
        (True, True, [8]),
    ]


def test_rows_whose_labels_never_arrive_are_not_kept() -> None:
    waiting = WaitingRows.none()
    events = waiting.advance(0, np.arange(3), np.array([np.inf, 7.0, np.inf]))
    assert spelt(events) == [("?", 0), ("?", 1), ("?", 2)]
    assert waiting.rows.tolist() == [1]
    assert spelt(waiting.rest()) == [("!", 1)]
    assert spelt(waiting.rest()) == []


def test_labels_that_came_with_the_last_row_of_a_call_are_learned_in_it() -> None:
    # So that a checkpoint sees what had arrived, with any number of rows in a call.
    waiting = WaitingRows.none()
    assert spelt(waiting.advance(0, np.array([0]), np.array([0]))) == [
        ("?", 0),
        ("!", 0),
    ]
    assert len(waiting.rows) == 0
