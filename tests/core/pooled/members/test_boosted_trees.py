"""Compiled boosted trees against their oracle, and the laws of a member."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray

from oracles.pooled.members import boosted_trees as oracle
from rpnb._core.boosted import CLOCKS
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.member import MemberRows, Shape, copy_state, same_state
from rpnb.core.pooled.members import boosted_trees as boosted
from rpnb.core.pooled.members.boosted_trees import BoostedTrees
from rpnb.core.pooled.model import new_model
from strategies import Stream

PHASES = ["waiting", "cutting", "growing", "applying", "off"]


def shape_of(p: int) -> Shape:
    return Shape(p=p, d=min(p, 32), E=0, dimension=0, D=0, dense=0, window=0)


def rows_of(X: FloatArray) -> MemberRows:
    nothing = np.zeros((X.shape[0], 0), np.float32)
    return MemberRows(np.ascontiguousarray(X), nothing, nothing, nothing)


def new_trees(p: int, M: int, seed: int = 3) -> BoostedTrees:
    return boosted.begin(shape_of(p), np.zeros(M, np.bool_), seed)


def learn(
    state: BoostedTrees, X: FloatArray, y: IntArray, weight: FloatArray | None = None
) -> FloatArray:
    """Learn rows, scored in advance; return the scores."""
    scores = np.zeros((X.shape[0], 1, state.rank.shape[0]))
    weight = np.ones(X.shape[0]) if weight is None else weight
    boosted.learn_rows(state, rows_of(X), y, weight, scores)
    return scores[:, 0]


def learn_in_parts(
    state: BoostedTrees, stream: Stream, cuts: list[int]
) -> tuple[BoostedTrees, FloatArray]:
    X, y, _ = stream
    ends = [0, *cuts, len(y)]
    parts = [
        learn(state, X[start:stop], y[start:stop]) for start, stop in pairwise(ends)
    ]
    return state, np.concatenate(parts)


def rules(
    seed: int, n: int, M: int = 3, p: int = 4, change: bool = False, nan: float = 0.0
) -> Stream:
    """Draw rows whose class follows thresholds of two features, with some noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[:, 0] = np.round(X[:, 0], 1)  # few distinct values
    y = (X[:, 0] > 0).astype(np.int64) + (X[:, -1] > 0.5) * (X[:, 0] < 1)
    y = np.where(rng.random(n) < 0.1, rng.integers(0, M, n), (y + y * (M > 3)) % M)
    if change:
        y[n // 2 :] = (y[n // 2 :] + 1) % M
    X[rng.random(X.shape) < nan] = np.nan
    return Stream(X, y, M)


def twin_scores(
    twin: oracle.BoostedTrees, X: FloatArray, y: IntArray, weight: FloatArray
) -> FloatArray:
    scores = []
    for x, c, w in zip(X, y.tolist(), weight.tolist(), strict=True):
        scores.append(twin.scores(x))
        if c >= 0:
            twin.learn(x, c, w)
    return np.array(scores)


def due(state: BoostedTrees) -> tuple[int, int]:
    """Return how often cut points became due again, and after which row they will."""
    return int(state.clock[8]), int(state.clock[9])


def assert_equal_to_twin(
    stream: Stream, weight: NDArray[np.float64] | None = None, seed: int = 3
) -> tuple[BoostedTrees, oracle.BoostedTrees]:
    X, y, M = stream
    weight = np.ones(len(y)) if weight is None else weight
    state = new_trees(X.shape[1], M, seed)
    twin = oracle.BoostedTrees(X.shape[1], np.zeros(M, np.bool_), seed)
    fast, slow = learn(state, X, y, weight), twin_scores(twin, X, y, weight)
    assert_array_equal(fast, slow)
    assert state.n_trees == len(twin.trees)
    assert state.n_rows == twin.end - twin.first
    assert_array_equal(state.born[: state.n_trees].max(initial=-1), twin.n_grown - 1)
    return state, twin


@pytest.mark.parametrize("M", [2, 3, 6])
def test_long_streams_equal_the_twins_to_the_bit(M: int) -> None:
    state, _ = assert_equal_to_twin(rules(M, 400, M, nan=0.02))
    assert state.n_trees >= 20


def test_a_change_is_followed_as_by_the_twin() -> None:
    state, twin = assert_equal_to_twin(rules(1, 700, 2, p=2, change=True))
    assert twin.first > 0
    assert state.clock[1] == twin.first


def test_a_change_of_wide_rows_is_followed_as_by_the_twin() -> None:
    state, twin = assert_equal_to_twin(rules(5, 660, 2, p=34, change=True))
    assert twin.first > 0
    # Cut points that would not be due again without the change are.
    assert (state.cuts_made == state.clock[8]).sum() >= 32


def test_wide_rows_equal_the_twins_to_the_bit() -> None:
    state, twin = assert_equal_to_twin(rules(5, 300, 3, p=36))
    assert twin.n_grown > 0
    assert (state.n_cuts > 0).sum() > 32


def test_weights_equal_the_twins_to_the_bit() -> None:
    rng = np.random.default_rng(0)
    weight = rng.choice([1e-6, 0.3, 1.0, 7.0], 300)
    assert_equal_to_twin(rules(8, 300, 4), weight)
    assert_equal_to_twin(rules(9, 300, 2), 10.0 ** rng.uniform(-12, 12, 300))


def test_classes_that_come_late_equal_the_twins_to_the_bit() -> None:
    X, y, _ = rules(4, 400, 7)
    y[:200] %= 2  # log odds at first, then four margins, then eight
    y[200:300] %= 4
    state, _ = assert_equal_to_twin(Stream(X, y, 7))
    assert state.margin.shape[1] == 8


@settings(max_examples=15)
@given(
    st.integers(0, 2**64 - 1),
    st.integers(100, 260),
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.2]),
)
def test_scores_equal_the_twins_to_the_bit(
    seed: int, n: int, M: int, p: int, share: float
) -> None:
    X, y, _ = rules(seed % 1000, n, M, p, nan=share)
    rng = np.random.default_rng(seed % 1000)
    y[rng.random(n) < share] = -1
    weight = rng.choice([0.0, 1.0, 2.5], n) if share else np.ones(n)
    y[weight == 0.0] = -1
    assert_equal_to_twin(Stream(X, y, M), weight, seed)


@pytest.mark.parametrize(
    "stream",
    [
        rules(1, 1500, 2, change=True, nan=0.05),
        rules(2, 1100, 5),
        rules(3, 600, 3, p=50),
    ],
    ids=["two classes", "five classes", "wide"],
)
def test_cutting_the_stream_into_calls_changes_nothing(stream: Stream) -> None:
    n, p = stream.X.shape
    whole, scores = learn_in_parts(new_trees(p, stream.M), stream, [])
    for cuts in (list(range(1, n)), list(range(7, n, 37)), [n // 2]):
        parts, others = learn_in_parts(new_trees(p, stream.M), stream, cuts)
        assert_array_equal(scores, others)
        assert same_state(parts, whole)


@pytest.mark.parametrize("way", ["arrays", "copy", "pickle"])
def test_a_copy_goes_on_to_the_bit_from_anywhere(way: str) -> None:
    X, y, M = rules(6, 900, 3, change=True, nan=0.02)
    whole, state = (new_trees(4, M + 1) for _ in range(2))  # a class never comes
    scores = learn(whole, X, y)
    found, phases = [], set()
    for start in range(0, 900, 11):
        part = slice(start, start + 11)
        found.append(learn(state, X[part], y[part]))
        phases.add(PHASES[state.clock[2]])
        before = state
        if way == "arrays":
            state = BoostedTrees(*state)
        elif way == "copy":
            state = copy_state(state)
        else:
            state = pickle.loads(pickle.dumps(state))  # noqa: S301
        assert same_state(before, state)
    assert_array_equal(np.concatenate(found), scores)
    assert same_state(state, whole)
    assert {"growing", "applying"} <= phases


def test_a_row_pays_for_bounded_work() -> None:
    """The credit is never far below zero: no piece of work is large."""
    X, y, M = rules(7, 3000, 3, p=6)
    state = new_trees(6, M)
    lowest = 0
    for start in range(0, 3000, 3):
        learn(state, X[start : start + 3], y[start : start + 3])
        lowest = min(lowest, int(state.clock[3]))
    # The cut points of a feature are the largest piece.
    assert -(12 * 3000 + 40 * 2048 + 1000) < lowest <= 0


@pytest.mark.parametrize(("n", "units"), [(2048, 40_000), (4096, 20_000)])
def test_the_first_rows_pay_for_twice_the_work(n: int, units: int) -> None:
    X, y, M = rules(7, n + 400, 3, p=6)
    state = new_trees(6, M)
    learn(state, X[:n], y[:n])
    paid = set()
    for x, label in zip(X[n:], y[n:], strict=True):
        before = int(state.clock[3])
        learn(state, x[None], np.array([label]))
        if before <= -40_000:  # cut points are still being paid for
            paid.add(int(state.clock[3]) - before)
    assert paid == {units}


@pytest.mark.parametrize("n", [3000, 1000])
def test_after_a_change_a_quarter_of_the_rows_is_kept_but_not_too_few(n: int) -> None:
    X, y, M = rules(1, 2 * n, 2, p=2, change=True)
    state = new_trees(2, M)
    learn(state, X[:n], y[:n])
    assert state.n_rows == n
    for end in range(n + 1, 2 * n):
        learn(state, X[end - 1 : end], y[end - 1 : end])
        if state.n_rows < end:
            break
    assert end - n <= 512  # at the end of a block of 256 rows, or of the next one
    assert state.n_rows == max(512, end // 4)


def test_a_stream_without_change_keeps_its_rows() -> None:
    """Losses of a parity rise by themselves while trees are replaced."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(13_312, 10))
    y = np.floor(4 * X[:, :3]).sum(axis=1).astype(np.int64) % 2
    state = new_trees(10, 2)
    highest = 0.0
    for start in range(0, len(y), 256):
        learn(state, X[start : start + 256], y[start : start + 256])
        reference, now = state.loss[2], state.loss[0] / max(state.clock[10], 1)
        highest = max(highest, now - reference)
    assert highest > 0.05
    assert state.n_rows == len(y)


def spread(mean: float, deviation: float, reference: float) -> FloatArray:
    """Return the sums of 255 values, and a reference of their mean."""
    return np.array([255 * mean, 255 * (mean**2 + deviation**2), reference])


HIGH, WIDE = spread(0.5, 0.1, 0.3), spread(0.3, 0.1, 0.1)
SAME = spread(0.3, 0.1, 0.35)


@pytest.mark.parametrize(
    ("loss", "gap", "blocks", "cuts", "quiet", "is_alarm"),
    [
        (HIGH, WIDE, 5, 0, 0, True),
        (HIGH, WIDE, 0, 0, 0, False),  # nothing to compare with
        (spread(0.5, 2.0, 0.42), WIDE, 5, 0, 0, False),  # within four standard errors
        (spread(0.5, 0.1, 0.46), WIDE, 5, 0, 0, False),  # less than 15 %
        (HIGH, SAME, 5, 0, 0, False),  # on older rows as well
        (HIGH, SAME, 5, 1, 0, True),  # right after a cut
        (HIGH, WIDE, 5, 0, 1920, True),
        (HIGH, WIDE, 5, 0, 1921, False),  # not long after a cut
        (HIGH, SAME, 5, 1, 1921, True),
        (spread(0.5, 0.1, 0.46), WIDE, 5, 1, 0, False),
    ],
)
def test_when_rows_are_forgotten(
    loss: FloatArray,
    gap: FloatArray,
    blocks: int,
    cuts: int,
    quiet: int,
    is_alarm: bool,
) -> None:
    X, y, M = rules(1, 1920, 2)
    state = new_trees(4, M)
    learn(state, X[:-1], y[:-1])
    clock = state.clock
    assert clock[10] == 255
    clock[11:14] = blocks, cuts, quiet
    state = state._replace(loss=loss, gap=gap, clock=clock)
    learn(state, X[-1:], y[-1:])
    assert state.n_rows == (512 if is_alarm else 1920)
    if is_alarm:  # detection starts again
        assert state.clock[10:14].tolist() == [0, 0, 0, 1920 + 512]
        assert not state.loss.any()
    else:
        assert state.clock[10:14].tolist() == [0, blocks + 1, 0, quiet]
        own = loss[2] + 0.1 * (0.5 - loss[2]) if blocks else 0.5
        assert_allclose(state.loss, [0, 0, own], atol=0.02)


def test_after_a_cut_alarms_rest_until_as_many_rows_have_been_learned() -> None:
    X, y, M = rules(1, 6000, 2, p=2, change=True)
    state = new_trees(2, M)
    learn(state, X[:3000], y[:3000])
    end = 3000
    while state.n_rows == end:
        end += 1
        learn(state, X[end - 1 : end], y[end - 1 : end])
    assert state.clock[10:14].tolist() == [0, state.clock[11], 1, end + end // 4]


def test_an_attribute_equals_the_array_among_all_of_them() -> None:
    state = new_trees(4, 3)
    X, y, _ = rules(1, 700, 3)
    for start in range(0, 700, 7):
        learn(state, X[start : start + 7], y[start : start + 7])
        whole = state._asdict()
        for name in state._fields:
            found = getattr(state, name)
            assert found.dtype == whole[name].dtype
            assert_array_equal(found, whole[name], strict=True)
    assert state.n_trees > 10


def test_rows_that_are_only_scored_leave_no_trace() -> None:
    X, y, M = rules(8, 500)
    hidden = np.random.default_rng(0).random(500) < 0.3
    state, labelled, silent = (new_trees(4, M) for _ in range(3))
    scores = learn(state, X, np.where(hidden, -1, y))
    assert_array_equal(learn(labelled, X[~hidden], y[~hidden]), scores[~hidden])
    assert same_state(state, labelled)
    nothing = np.zeros((0, 1, M))
    labels = np.where(hidden, -1, y)
    boosted.learn_rows(silent, rows_of(X), labels, np.ones(500), nothing)
    assert same_state(state, silent)


def test_rows_without_weight_teach_nothing() -> None:
    X, y, M = rules(8, 400)
    state, others = new_trees(4, M), new_trees(4, M)
    weight = np.where(np.arange(400) % 5 == 0, 0.0, 1.0)
    learn(state, X, y, weight)
    learn(others, X[weight > 0], y[weight > 0])
    assert same_state(state, others)


@given(st.integers(0, 3), st.integers(0, 400))
@settings(max_examples=10)
def test_classes_may_come_in_any_order_at_any_time(position: int, cut: int) -> None:
    X, y, M = rules(3, 400)
    declared = boosted.begin(shape_of(4), np.zeros(M + 1, np.bool_), 3)
    moved = y + (y >= position)
    expected = learn(declared, X, moved)
    late = new_trees(4, M)
    learn(late, X[:cut], y[:cut])
    untouched = late.copy()
    source = np.insert(np.arange(M), position, -1)
    grown = boosted.grow_classes(late, source, np.insert(late.active, position, False))
    assert_array_equal(learn(grown, X[cut:], moved[cut:]), expected[cut:])
    assert same_state(grown, declared)
    assert same_state(late, untouched)
    source, active = np.insert(np.arange(M), position, -1), grown.active
    own = boosted.grow_classes(untouched, source, active)
    assert boosted.arrange_classes(late, source, active) is late
    assert same_state(late, own)


def test_it_learns_what_a_line_cannot_tell_and_what_comes_after_it() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (8000, 2))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(np.int64)
    y[5000:] = 1 - y[5000:]
    wrong = learn(new_trees(2, 2), X, y).argmax(axis=1) != y
    assert wrong[2000:5000].mean() < 0.03
    assert wrong[5000:5020].mean() > 0.5  # the concept was reversed
    assert wrong[7000:].mean() < 0.05


def test_a_new_scale_of_a_feature_gets_new_bins() -> None:
    X, y, M = rules(2, 6000, 3)
    X[3000:] = 7.0 * X[3000:] + 300.0
    wrong = learn(new_trees(4, M), X, y).argmax(axis=1) != y
    assert wrong[5000:].mean() < wrong[2000:3000].mean() + 0.05


def test_missing_values_may_be_told_apart_from_all_others() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 1))
    y = (rng.random(800) < 0.4).astype(np.int64)
    X[y == 1] = np.nan
    wrong = learn(new_trees(1, 2), X, y).argmax(axis=1) != y
    assert not wrong[300:].any()


def test_rare_classes_do_not_take_over() -> None:
    X, y, _ = rules(3, 3000, 3)
    y[::300] = 3
    scores = learn(new_trees(4, 4), X, y)
    assert (scores[1000:].argmax(axis=1) == 3).mean() < 0.02
    assert np.isfinite(scores).all()


def test_features_that_never_vary_give_class_frequencies() -> None:
    y = np.arange(400) % 3
    scores = learn(new_trees(2, 3), np.ones((400, 2)), y)
    assert np.ptp(scores[200:], axis=1).max() < 0.1


def test_too_many_classes_leave_class_frequencies() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 2)), rng.integers(0, 70, 900)
    state = new_trees(2, 70)
    scores = learn(state, X, y)
    assert PHASES[state.clock[2]] == "off"
    assert state.n_rows == state.n_trees == 0
    share = (np.bincount(y[:-1], minlength=70) + 0.5) / (899 + 35)
    assert_allclose(scores[-1], np.log(share), rtol=1e-12)
    again = BoostedTrees(*state)
    assert same_state(again, state)


def test_memory_has_a_limit() -> None:
    p = 4096
    limit = boosted.rows_kept(p, 1)
    rng = np.random.default_rng(0)
    state = new_trees(p, 2)
    X = rng.normal(size=(256, p))
    sizes = []
    for _ in range(80):
        learn(state, X, rng.integers(0, 2, 256))
        sizes.append(state.nbytes)
    # Rows that arrive while a tree grows are added.
    assert limit <= state.n_rows < limit + 4096
    assert max(sizes) < 1.6 * 2**26
    assert state.raw.shape[0] <= 512


@pytest.mark.parametrize(
    ("p", "C", "rows"),
    [
        (10, 1, 131_072),
        (100, 28, 131_072),
        (100, 64, 2**26 // 732),
        (4096, 4, 2**26 // 4248),
    ],
)
def test_as_many_rows_are_kept_as_the_formula_has_it(p: int, C: int, rows: int) -> None:
    assert boosted.rows_kept(p, C) == rows


def test_values_that_are_no_longer_kept_are_replaced_within_their_bins() -> None:
    p = 4096
    X, y, _ = rules(1, 1280, 2, p, nan=0.05)
    one, two = new_trees(p, 2), new_trees(p, 2)
    learn(one, X[:680], y[:680])
    learn(two, X[680:], y[680:])
    merged = boosted.merge([one, two])
    # Of each state the newest two blocks of 256 rows have their values.
    raw, n_cuts, cuts = merged.raw, two.n_cuts, two.cuts
    assert (len(raw), len(two.raw), two.n_rows) == (512, 344, 600)
    values, bins = raw[:168], two.bins[88:256]
    assert (n_cuts > 0).sum() > 100
    for j in np.flatnonzero(n_cuts):
        found = np.searchsorted(cuts[j, : n_cuts[j]], values[:, j]) + 1
        assert_array_equal(np.where(np.isnan(values[:, j]), 0, found), bins[:, j])
    assert np.isnan(values[:, n_cuts == 0]).all()
    assert_array_equal(raw[168:], X[680 + 256 :].astype(np.float32))


def test_a_merged_state_computes_the_cut_points_that_are_due() -> None:
    X, y, M = rules(1, 2400)
    one, two = new_trees(4, M), new_trees(4, M)
    learn(one, X[:1100], y[:1100])
    learn(two, X[1100:2200], y[1100:2200])
    merged = boosted.merge([one, two])
    assert (merged.cuts_made == 3).all()  # after 128, 256, 512 and 1,024 rows
    learn(merged, X[2200:], y[2200:])
    assert (merged.cuts_made == 4).all()  # after 2,048


def test_merged_states_without_trees_give_the_class_frequencies_of_all_rows() -> None:
    X, y, M = rules(1, 40)
    one, two = new_trees(4, M), new_trees(4, M)
    learn(one, X[:25], y[:25])
    learn(two, X[25:], y[25:])
    merged = boosted.merge([one, two])
    scores = np.zeros((40, 1, M))
    boosted.score_rows(merged, rows_of(X), scores)
    share = (np.bincount(y, minlength=M) + 0.5) / (40 + 0.5 * M)
    assert_allclose(scores[:, 0], np.tile(np.log(share), (40, 1)), rtol=1e-12)
    fresh, labels, _ = rules(2, 1000)
    found = learn(merged, fresh, labels)
    assert (found[500:].argmax(axis=1) != labels[500:]).mean() < 0.2


def test_after_4096_rows_cut_points_are_due_only_after_a_change_to_few_rows() -> None:
    X, y, M = rules(1, 2500, 2, 1)
    state = new_trees(1, M)
    learn(state, X, y)
    assert due(state) == (4, 4096)  # after 128, 256, …, 2,048 rows
    for n in (5000, 10_000, 20_000):
        state = boosted.merge([state, state.copy()])
        assert (state.n_rows, *due(state)) == (n, 5, -1)
    for start in range(0, 1000, 10):
        learn(state, X[start : start + 10], 1 - y[start : start + 10])
        if state.n_rows < 20_000:
            break
    assert 5000 <= state.n_rows < 5100
    assert due(state) == (5, -1)


def test_a_merged_state_has_the_rows_of_all() -> None:
    one, two = new_trees(4, 3), new_trees(4, 3)
    X, y, _ = rules(1, 2200)
    learn(one, X[:1200], y[:1200])
    learn(two, X[1200:], y[1200:])
    copies = one.copy(), two.copy()
    merged = boosted.merge([two, one])
    assert same_state(one, copies[0])
    assert same_state(two, copies[1])
    assert merged.n_rows == one.n_rows + two.n_rows
    assert_array_equal(merged.class_weight, one.class_weight + two.class_weight)
    assert merged.born.max() + 1 == merged.clock[6] >= one.clock[6]
    fresh, labels, _ = rules(2, 2000)
    scores = np.zeros((2000, 1, 3))
    boosted.score_rows(merged, rows_of(fresh), scores)
    assert (scores[:, 0].argmax(axis=1) != labels).mean() < 0.2
    learn(merged, fresh, labels)  # and it goes on
    many = boosted.begin(shape_of(2), np.zeros(70, np.bool_), 3)
    few = many.copy()
    rng = np.random.default_rng(0)
    learn(many, rng.normal(size=(500, 2)), rng.integers(0, 70, 500))
    learn(few, rng.normal(size=(600, 2)), rng.integers(0, 3, 600))
    for states in ([few, many], [many, few]):
        both = boosted.merge(states)
        assert both.n_rows == 0
        assert both.total_weight[0] == 1100


def test_threads_score_rows_of_one_state_side_by_side() -> None:
    X, y, M = rules(3, 900)
    state = new_trees(4, M)
    learn(state, X, y)

    def score(_: int) -> FloatArray:
        scores = np.zeros((900, 1, M))
        boosted.score_rows(state, rows_of(X), scores)
        return scores

    expected = score(0)
    with ThreadPoolExecutor(4) as threads:
        for scores in threads.map(score, range(16)):
            assert_array_equal(scores, expected)


def test_what_does_not_fit_is_refused() -> None:
    X, y, M = rules(1, 300)
    state = new_trees(4, M)
    learn(state, X, y)
    untouched = state.copy()
    with pytest.raises(ValueError, match="length"):
        learn(state, X[:, :3], y)
    with pytest.raises(ValueError, match="length"):
        boosted.score_rows(state, rows_of(X[:, :3]), np.zeros((300, 1, M)))
    with pytest.raises(ValueError, match="itself"):
        state.add_rows_of(state)
    for other in (new_trees(3, 3), new_trees(4, 2)):
        with pytest.raises(ValueError, match="length"):
            state.add_rows_of(other)
    with pytest.raises(ValueError, match="an invalid class"):
        state.arrange_classes(np.array([3]), np.ones(1, np.bool_))
    with pytest.raises(ValueError, match="active"):
        state.arrange_classes(np.array([0, 1]), np.ones(1, np.bool_))
    with pytest.raises(TypeError, match="no field"):
        state._replace(other=np.zeros(1))
    assert same_state(state, untouched)
    model = new_model(["boosted_trees"], 4, 8, 0, state.active, 3)
    model.replace_state(0, state)
    with pytest.raises(ValueError, match="boosted_trees"):
        model.replace_state(0, new_trees(3, 3))


#: Changes of arrays that keep their type but contradict other arrays.
WRONG: Final[list[tuple[str, Callable[[NDArray[Any]], NDArray[Any]]]]] = [
    ("rank", lambda a: a[::-1] * 0),
    ("base", lambda a: a[:1].copy()),
    ("n_cuts", lambda a: a + 1),
    ("cuts", lambda a: -a),
    ("cuts_made", lambda a: a + 100),
    ("bins", lambda a: a * 0 + 255),
    ("label", lambda a: a + 3),
    ("row_weight", lambda a: a * 0 + 2**31),
    ("margin", lambda a: a * 0 + 2**30),
    ("leaf", lambda a: a * 0 + 200),
    ("raw", lambda a: a[1:].copy()),
    ("raw", lambda a: np.full_like(a, np.inf)),
    ("slot", lambda a: a * 0),
    ("born", lambda a: a * 0 - 1),
    ("n_nodes", lambda a: a + 1),
    ("feature", lambda a: a * 0 + 4),
    ("threshold", lambda a: a * np.nan),
    ("child", lambda a: a * 0),
    ("value", lambda a: a * 0 + 2**20),
    ("features", lambda a: a * 0 + 4),
    ("features", lambda a: a[:0].copy()),
    ("replaced", lambda a: a * 0 + 99),
    *[
        ("clock", lambda a, i=i: np.where(np.arange(CLOCKS) == i, -7, a))
        for i in (0, 1, 2, *range(5, 17))
    ],
    ("clock", lambda a: np.where(np.arange(CLOCKS) == 5, 10**9, a)),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_arrays_that_contradict_each_other_are_refused(case: int) -> None:
    field, change = WRONG[case]
    X, y, M = rules(1, 2000)
    state = new_trees(4, M)
    for start in range(0, 2000, 10):
        learn(state, X[start : start + 10], y[start : start + 10])
        if start > 900 and PHASES[state.clock[2]] == "growing":
            break
    assert len(state.replaced) > 0
    wrong = np.ascontiguousarray(change(getattr(state, field)))
    with pytest.raises(ValueError, match=f"{field}|contradicts"):
        state._replace(**{field: wrong.astype(getattr(state, field).dtype)})


def test_a_tree_that_is_applied_to_all_rows_is_in_use() -> None:
    X, y, M = rules(1, 2000)
    state = new_trees(4, M)
    for start in range(0, 2000, 10):
        learn(state, X[start : start + 10], y[start : start + 10])
        if PHASES[state.clock[2]] == "applying":
            break
    clock = state.clock.copy()
    assert clock[1] <= clock[4] < clock[0]
    clock[4] = clock[0]
    with pytest.raises(ValueError, match="clock"):
        state._replace(clock=clock)


def test_what_a_state_is_made_of() -> None:
    state = new_trees(4, 3)
    assert len(state) == len(state._fields) == len(list(state))
    assert isinstance(state.begin_again(shape_of(4), state.active, 3), BoostedTrees)
    assert boosted.OUTPUTS == ("boosted_trees",)
    assert not boosted.MERGEABLE
    assert not boosted.USES_SCALE
