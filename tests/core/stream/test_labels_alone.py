"""References that use only labels, and counts of rows, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb._core.streams import count_majority, count_rows, repeat_last

# Rows of -1 have no label; classes of -1 were not declared.
labels = st.lists(st.integers(-1, 3), max_size=40)
states = st.lists(st.sampled_from([-1, 0]), min_size=4, max_size=4)


def majority(state: list[int], y: list[int]) -> list[int]:
    found = []
    for label in y:
        best = max(state)
        found.append(state.index(best) if best >= 0 else -1)
        if label >= 0:
            state[label] = max(state[label], 0) + 1
    return found


def no_change(state: list[int], y: list[int]) -> list[int]:
    found, seen, last = [], 0, state.index(0) if 0 in state else -1
    for label in y:
        found.append(last)
        if label >= 0:
            last, seen = label, seen + 1
    return found


@given(states, labels)
def test_the_majority_class_is_that_counted_most_before(
    state: list[int], y: list[int]
) -> None:
    held, found = np.array(state), np.empty(len(y), np.int64)
    count_majority(held, np.array(y, np.int64), found)
    assert_array_equal(found, majority(state, y))
    assert_array_equal(held, state)


@given(states, labels)
def test_no_change_repeats_the_label_of_the_row_before(
    state: list[int], y: list[int]
) -> None:
    held, found = np.array(state), np.empty(len(y), np.int64)
    repeat_last(held, np.array(y, np.int64), found)
    assert_array_equal(found, no_change(state, y))
    known = [label for label in y if label >= 0]
    if known:
        assert held[known[-1]] == len(known)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2)), max_size=30))
def test_rows_are_counted_by_class_and_prediction(rows: list[tuple[int, int]]) -> None:
    truth, predicted = np.array(rows, np.int64).reshape(-1, 2).T.copy()
    counts = np.zeros((3, 4), np.int64)
    count_rows(truth, predicted, counts)
    expected = np.zeros((3, 4), np.int64)
    np.add.at(expected, (truth, np.where(predicted < 0, 3, predicted)), 1)
    assert_array_equal(counts, expected)


def test_what_does_not_fit_is_refused() -> None:
    y = np.array([0, 2])
    with pytest.raises(ValueError, match="there must be a class"):
        count_majority(np.zeros(0, np.int64), y, np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="labels is not of shape"):
        repeat_last(np.zeros(3, np.int64), y, np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="class"):
        repeat_last(np.zeros(2, np.int64), y, np.zeros(2, np.int64))
    with pytest.raises(ValueError, match="counts is not of shape"):
        count_rows(y, y, np.zeros((3, 3), np.int64))
