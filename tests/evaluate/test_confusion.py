from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb.evaluate import confusion as tally
from rpnb.evaluate.confusion import CountHistory, ErrorCounts
from rpnb.evaluate.metrics import confusion_counts, error_rate
from rpnb.evaluate.running import ScoredRows

Cuts = list[int]


def parts(n: int, cuts: Cuts) -> list[slice]:
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    return [slice(a, b) for a, b in pairwise(edges) if a < b]


cuts = st.lists(st.integers(0, 60), max_size=5)


@pytest.fixture(autouse=True)
def _few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "_PLACES", 8)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), cuts)
def test_a_track_knows_the_counts_at_a_few_places_however_it_is_fed(
    numbers: list[int], where: Cuts
) -> None:
    values, track = np.array(numbers), CountHistory()
    for part in parts(len(values), where):
        track.add(values[part], int(values[: part.stop].max()) + 1)
    places, counts = track.course()
    assert len(places) <= 9
    assert places[-1] == track.rows == len(values)
    steps = np.diff([0, *places[:-1].tolist()])
    assert len(set(steps.tolist())) <= 1  # evenly along the stream
    for place, line in zip(places, counts, strict=True):
        assert_array_equal(line, np.bincount(values[:place], minlength=len(line)))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), min_size=1, max_size=60),
    cuts,
    st.integers(1, 70),
)
def test_a_tally_counts_as_the_metrics_do_while_classes_join(
    rows: list[tuple[int, int]], where: Cuts, window: int
) -> None:
    truth, answers = (np.array(column) for column in zip(*rows, strict=True))
    sums = ErrorCounts(window)
    M = 0
    for part in parts(len(rows), where):
        M = int(max(M, truth[part].max() + 1, answers[part].max() + 1))
        unused = np.zeros(len(truth[part]))
        sums.add(ScoredRows(truth[part], answers[part], unused > 0, unused), M)
    assert_array_equal(sums.counts, confusion_counts(truth, answers, M))
    assert sums.error == error_rate(sums.counts)
    wrong = truth != answers
    assert sums.mistakes == int(wrong.sum())
    assert sums.window_error == float(wrong[-window:].mean())
    assert sums.track.course()[1][-1].sum() == len(rows)
