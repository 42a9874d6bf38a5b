"""The compiled window forest against its oracle, and the laws of a member."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.pooled.members.window_forest import WindowForest
from pooled_memory import size_of
from rpnb._core.forest import (
    CLOCKS,
    GROWN,
    LEARNED,
    START,
    TREES,
    WIDEST,
    kept_rows,
    units_per_row,
    window_rows,
)
from rpnb._core.forest import WindowForest as ForestState
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.member import MemberRows, Shape, copy_state, same_state
from rpnb.core.pooled.members import window_forest as forest
from rpnb.core.pooled.model import new_model
from strategies import Stream, streams


def shape_of(p: int, window: int = 0, d: int = 32) -> Shape:
    return Shape(p=p, d=d, E=0, dimension=0, D=0, dense=0, window=window)


def rows_of(X: FloatArray, d: int = 0) -> MemberRows:
    nothing = np.zeros((X.shape[0], d), np.float32)
    return MemberRows(X, nothing, nothing, nothing)


def new_forest(p: int, M: int, seed: int = 3, window: int = 0) -> ForestState:
    return forest.begin(shape_of(p, window), np.zeros(M, np.bool_), seed)


def learn(
    state: ForestState, X: FloatArray, y: IntArray, weight: FloatArray | None = None
) -> FloatArray:
    """Learn rows, scored in advance; return the scores."""
    scores = np.empty((X.shape[0], 2, state.active.shape[0]))
    weight = np.ones(X.shape[0]) if weight is None else weight
    forest.learn_rows(state, rows_of(X), y, weight, scores)
    return scores


def twin_scores(
    twin: WindowForest, X: FloatArray, y: IntArray, weight: FloatArray
) -> FloatArray:
    scores = []
    for x, c, w in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True):
        scores.append(twin.scores(x))
        if c >= 0:
            twin.learn(x, c, w)
    return np.array(scores)


def blobs(seed: int, n: int, M: int = 3, p: int = 4) -> Stream:
    """Draw M overlapping classes; three quarters of the way they move."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M, n)
    X = rng.normal(size=(n, p)) + 1.5 * rng.normal(size=(M, p))[y]
    X[3 * n // 4 :] += 2.0 * y[3 * n // 4 :, None]
    return Stream(X, y, M)


@given(streams(max_n=30), st.integers(0, 2**64 - 1), st.data())
def test_scores_equal_the_twins_to_the_bit(
    stream: Stream, seed: int, data: st.DataObject
) -> None:
    X, y, M = stream
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    X[rng.random(X.shape) < data.draw(st.sampled_from([0.0, 0.2]))] = np.nan
    y[rng.random(len(y)) < data.draw(st.sampled_from([0.0, 0.2]))] = -1
    weight = data.draw(st.sampled_from([np.ones(len(y)), rng.uniform(0.1, 3, len(y))]))
    fast = learn(new_forest(X.shape[1], M, seed), X, y, weight)
    slow = twin_scores(WindowForest(X.shape[1], M, seed), X, y, weight)
    assert_array_equal(fast, slow)


@pytest.mark.parametrize(
    ("n", "M", "p", "window"),
    [
        (900, 3, 4, 0),
        (400, 40, 2, 0),
        (500, 3, 2, 20),
        (300, 2, 30, 64),
        (200, 2, 1, 1),
    ],
)
def test_long_streams_equal_the_twins_to_the_bit(
    n: int, M: int, p: int, window: int
) -> None:
    X, y, M = blobs(1, n, M, p)
    state = new_forest(p, M, window=window)
    twin = WindowForest(p, M, 3, window)
    weight = np.random.default_rng(2).choice([0.5, 1.0, 2.0], n)
    assert_array_equal(learn(state, X, y, weight), twin_scores(twin, X, y, weight))
    assert state.clock[GROWN] == twin.n_grown
    assert state.n_nodes[state.place[:-1]].tolist() == [t.n_nodes for t in twin.trees]


def depth_of(state: ForestState, k: int) -> int:
    deepest, nodes = 0, [(0, 0)]
    while nodes:
        node, depth = nodes.pop()
        deepest = max(deepest, depth)
        if (left := int(state.child[k, node])) > 0:
            nodes += [(left, depth + 1), (left + 1, depth + 1)]
    return deepest


def test_leaves_are_divided_down_to_a_limit_as_by_the_twin() -> None:
    """Each row is beyond all earlier ones and has the class that the leaf does not."""
    n = 150
    X, y = np.exp2(-np.arange(n, dtype=np.float64))[:, None], np.arange(n) % 2
    state, twin = new_forest(1, 2), WindowForest(1, 2, 3)
    assert_array_equal(learn(state, X, y), twin_scores(twin, X, y, np.ones(n)))
    assert max(depth_of(state, k) for k in state.place) == 32


def test_without_features_scores_are_class_frequencies() -> None:
    y = np.random.default_rng(0).integers(0, 3, 200)
    scores = learn(new_forest(0, 3), np.zeros((200, 0)), y)
    expected = np.log(np.bincount(y[:-1]) / 199)
    assert_allclose(scores[-1, 0], expected, rtol=1e-2)


@given(streams(max_n=40), st.integers(1, 7))
def test_cutting_the_stream_into_calls_changes_nothing(
    stream: Stream, step: int
) -> None:
    X, y, M = stream
    whole = new_forest(X.shape[1], M)
    scores = learn(whole, X, y)
    parts = new_forest(X.shape[1], M)
    for first in range(0, len(y), step):
        cut = slice(first, first + step)
        expected = scores[cut]
        alone = np.empty_like(expected)
        forest.score_rows(parts, rows_of(X[cut]), alone)
        assert_array_equal(alone[0], expected[0])
        assert_array_equal(learn(parts, X[cut], y[cut]), expected)
    assert same_state(parts, whole)


def test_growing_is_cut_between_calls_as_well() -> None:
    X, y, M = blobs(5, 700)
    whole = new_forest(4, M)
    learn(whole, X, y)
    parts = new_forest(4, M)
    was_growing = False
    for i in range(len(y)):
        learn(parts, X[i : i + 1], y[i : i + 1])
        was_growing |= bool(parts.clock[START] >= 0)
    assert was_growing
    assert same_state(parts, whole)


def test_a_label_changes_later_scores_only() -> None:
    X, y, M = blobs(7, 400)
    scores = learn(new_forest(4, M), X, y)
    flipped = y.copy()
    flipped[200] = (y[200] + 1) % M
    others = learn(new_forest(4, M), X, flipped)
    assert_array_equal(scores[:201], others[:201])
    assert not np.array_equal(scores[201:], others[201:])


def test_rows_that_are_only_scored_leave_no_trace() -> None:
    n = 300
    X, y, M = blobs(8, n)
    hidden = np.random.default_rng(0).random(n) < 0.3
    state = new_forest(4, M)
    scores = learn(state, X, np.where(hidden, -1, y))
    labelled = new_forest(4, M)
    assert_array_equal(learn(labelled, X[~hidden], y[~hidden]), scores[~hidden])
    assert same_state(state, labelled)
    silent = new_forest(4, M)
    nothing = np.empty((0, 2, M))
    forest.learn_rows(silent, rows_of(X), np.where(hidden, -1, y), np.ones(n), nothing)
    assert same_state(state, silent)


def test_another_seed_gives_other_trees() -> None:
    X, y, M = blobs(9, 200)
    one, other = new_forest(4, M, 1), new_forest(4, M, 2)
    assert not np.array_equal(learn(one, X, y)[50:], learn(other, X, y)[50:])


def test_it_learns_what_no_line_can_tell_and_forgets_it_again() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (3000, 2))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(np.int64)
    y[1500:] = 1 - y[1500:]
    wrong = learn(new_forest(2, 2), X, y).argmax(axis=2) != y[:, None]
    assert wrong[1000:1500].mean() < 0.05
    assert wrong[1500:1520].mean() > 0.5  # the concept was reversed
    assert wrong[2200:].mean() < 0.06


@given(streams(max_n=40), st.integers(0, 4), st.data())
def test_classes_may_come_in_any_order_at_any_time(
    stream: Stream, position: int, data: st.DataObject
) -> None:
    X, y, M = stream
    cut = data.draw(st.integers(0, len(y)))
    position = min(position, M)
    declared = forest.begin(
        shape_of(X.shape[1]), np.insert(np.zeros(M, np.bool_), position, False), 3
    )
    moved = y + (y >= position)
    expected = learn(declared, X, moved)
    late = new_forest(X.shape[1], M)
    before = learn(late, X[:cut], y[:cut])
    untouched = copy_state(late)
    source = np.insert(np.arange(M), position, -1)
    grown = forest.grow_classes(late, source, declared.active & False)
    grown.active[:] = np.insert(late.active, position, False)
    after = learn(grown, X[cut:], moved[cut:])
    known = source >= 0
    assert_array_equal(before, expected[:cut][:, :, known])
    assert_array_equal(after[:, :, known], expected[cut:][:, :, known])
    assert same_state(grown, declared)
    assert same_state(late, untouched)


def test_an_active_class_without_rows_shares_in_the_prior() -> None:
    X, y, _ = blobs(3, 60, M=2)
    two = learn(forest.begin(shape_of(4), np.ones(2, np.bool_), 3), X, y)
    three = learn(forest.begin(shape_of(4), np.ones(3, np.bool_), 3), X, y)
    assert np.isfinite(three).all()
    assert_allclose(np.exp(two[0]), 0.5 + 1e-4)
    assert_allclose(np.exp(three[0]), 1 / 3 + 1e-4)


def test_a_row_of_weight_two_counts_as_two_rows_at_its_leaf() -> None:
    state = new_forest(1, 2)
    learn(state, np.zeros((2, 1)), np.array([0, 1]), np.array([2.0, 0.5]))
    k = state.place[0]
    assert_array_equal(state.slow_count[k, 0], [2.0, 0.5])
    assert_array_equal(state.class_weight, [2.0, 0.5])


def test_memory_depends_neither_on_rows_nor_on_very_many_classes() -> None:
    state = new_forest(4, 3)
    before = size_of(state)
    learn(state, *blobs(1, 500)[:2])
    assert size_of(state) == before
    sixteen, thousand = size_of(new_forest(4, 16)), size_of(new_forest(4, 1000))
    assert thousand - sixteen == 984 * (8 + 1)


def test_many_classes_push_rare_ones_off_a_full_leaf() -> None:
    y = np.arange(60) % 40
    y[:10] = 0
    X = np.zeros((60, 1))  # nothing to split by: one leaf sees all
    weight = np.ones(60)
    twin = WindowForest(1, 40, 3)
    fast = learn(new_forest(1, 40), X, y)
    assert_array_equal(fast, twin_scores(twin, X, y, weight))
    assert len(twin.trees[0].root.slow.entries) == 8
    assert fast[-1, 0].argmax() == 0


def test_missing_values_go_right_and_give_no_threshold() -> None:
    X = np.array([[0.0], [1.0], [np.nan], [np.nan]] * 20)
    y = np.array([0, 0, 1, 1] * 20)
    state = new_forest(1, 2)
    scores = learn(state, X, y)
    assert (scores[20:].argmax(axis=2) == y[20:, None]).all()
    assert np.isfinite(state.threshold).all()


def test_rows_too_wide_to_keep_are_read_as_their_projection() -> None:
    p = WIDEST + 1
    X, y, M = blobs(2, 80, M=2, p=3)
    shape = shape_of(p, d=3)
    state = forest.begin(shape, np.zeros(M, np.bool_), 3)
    assert size_of(state) < 1.2e7
    low = X.astype(np.float32)
    none = np.zeros((80, 0), np.float32)
    scores = np.empty((80, 2, M))
    rows = MemberRows(np.zeros((80, 0)), none, low, none)
    forest.learn_rows(state, rows, y, np.ones(80), scores)
    narrow = new_forest(3, M)
    assert_array_equal(scores, learn(narrow, low.astype(np.float64), y))
    forest.score_rows(state, rows, scores)
    assert np.isfinite(scores).all()


@given(st.lists(st.integers(0, 120), min_size=1, max_size=4), st.integers(0, 9))
def test_merged_forests_know_the_rows_of_all(sizes: list[int], seed: int) -> None:
    parts = [blobs(seed + i, n) for i, n in enumerate(sizes)]
    states = []
    for X, y, M in parts:
        state = new_forest(4, M, window=64)
        learn(state, X, y)
        states.append(state)
    copies = [copy_state(state) for state in states]
    merged = forest.merge(states)
    assert all(map(same_state, states, copies))
    assert_array_equal(merged.class_weight, sum(s.class_weight for s in states))
    assert_array_equal(merged.active, np.any([s.active for s in states], axis=0))
    R = merged.window.shape[0]
    assert merged.clock[LEARNED] == min(R, sum(min(n, R) for n in sizes))
    kept = {row.tobytes() for X, _, _ in parts for row in X}
    for at in range(merged.clock[LEARNED]):
        assert merged.window[at].tobytes() in kept
    learn(merged, *blobs(seed, 80)[:2])  # and it goes on


def test_a_merged_forest_is_about_as_good_as_one_that_learned_all() -> None:
    X, y, M = blobs(11, 2400)
    X, y = X[:1600], y[:1600]  # before the drift
    halves = []
    for part in (slice(0, 800, 2), slice(1, 800, 2)):
        state = new_forest(4, M)
        learn(state, X[part].copy(), y[part].copy())
        halves.append(state)
    merged = forest.merge(halves)
    scores = np.empty((800, 2, M))
    errors = []
    for state in (merged, halves[0]):
        forest.score_rows(state, rows_of(X[800:]), scores)
        errors.append((scores[:, 0].argmax(axis=1) != y[800:]).mean())
    assert errors[0] <= errors[1] + 0.01


def test_a_tree_never_outlasts_its_rows_in_the_window() -> None:
    for p in (1, 3, 16, 100, 617, 5000):
        W = window_rows(p, 0)
        # Enough for a tree of the greatest depth, with the most leaves.
        features = min(p, max(16, int(np.ceil(np.sqrt(p)))))
        work = 17 * W * (2 + features)
        work += 2 * min(1024, W) * (256 + 16 * (32 + features))
        assert 0 < units_per_row(p, W) * (W // 32 + 1) - work <= W // 32 + 1
        assert kept_rows(W) - W > W // 32 + 1
        # A row costs about as much whatever the window.
        assert units_per_row(p, 16 * W) < 1.5 * units_per_row(p, W)
    n = 900
    X = np.random.default_rng(0).normal(size=(n, 2))
    y = np.random.default_rng(1).integers(0, 4, n)  # noise grows the largest trees
    state = new_forest(2, 4, window=300)
    longest = 0
    for i in range(n):
        learn(state, X[i : i + 1], y[i : i + 1])
        if state.clock[START] >= 0:
            longest = max(longest, int(state.clock[LEARNED] - state.clock[START]))
    assert 0 < longest <= 300 // 32 + 1


def test_scores_are_those_of_trees_weighted_by_the_softmax_of_their_losses() -> None:
    rng = np.random.default_rng(6)
    state = forest.begin(shape_of(2), np.ones(3, np.bool_), 3)
    state.log_weight[:] = rng.normal(scale=3.0, size=(2, TREES))
    state.class_weight[:] = 5.0, 0.0, 2.0
    state.total_weight[0] = 7.0
    expected = np.zeros((2, 3))
    prior = np.array([5.5, 0.5, 2.5]) / 8.5
    kinds = (
        (state.slow_class, state.slow_count, state.slow_total),
        (state.fast_class, state.fast_count, state.fast_total),
    )
    for kind, (classes, counts, totals) in enumerate(kinds):
        weights = np.exp(state.log_weight[kind]) / np.exp(state.log_weight[kind]).sum()
        for j, k in enumerate(state.place[:-1]):
            listed, n = rng.permutation(3)[:2], rng.uniform(0, 9, 2)
            classes[k, 0, :2], counts[k, 0, :2], totals[k, 0] = listed, n, n.sum() + 1
            found = prior.copy()
            found[listed] += n
            expected[kind] += weights[j] * found / (totals[k, 0] + 1.0)
    scores = np.empty((1, 2, 3))
    forest.score_rows(state, rows_of(np.zeros((1, 2))), scores)
    assert_allclose(scores[0], np.log(expected + 1e-4), rtol=1e-13)


def test_what_does_not_fit_is_refused() -> None:
    state = new_forest(4, 3)
    X, y, _ = blobs(1, 5)
    weight, scores = np.ones(5), np.empty((5, 2, 3))
    untouched = copy_state(state)
    for wrong_rows, wrong_y, wrong_weight, wrong_scores in (
        (rows_of(X[:4]), y, weight, scores),
        (rows_of(X[:, :3].copy()), y, weight, scores),
        (rows_of(X, d=5), y[:4], weight, scores),
        (rows_of(X), np.full(5, 3), weight, scores),
        (rows_of(X), np.full(5, -2), weight, scores),
        (rows_of(X), y, weight[:4], scores),
        (rows_of(X), y, weight, scores[:4]),
        (rows_of(X), y, weight, np.empty((5, 1, 3))),
        (rows_of(X), y, weight, np.empty((5, 2, 2))),
    ):
        with pytest.raises(ValueError, match=r"length|class"):
            forest.learn_rows(state, wrong_rows, wrong_y, wrong_weight, wrong_scores)
    for wrong_rows in (rows_of(X[:4]), rows_of(X[:, :3].copy()), rows_of(X[:0])):
        with pytest.raises(ValueError, match="length"):
            forest.score_rows(state, wrong_rows, scores)
    assert same_state(state, untouched)
    with pytest.raises(ValueError, match="k is out of range"):
        state.learn_window(TREES + 1, untouched)
    with pytest.raises(ValueError, match="itself"):
        state.learn_window(0, state)
    for other in (new_forest(3, 3), new_forest(4, 2)):
        with pytest.raises(ValueError, match="length"):
            state.learn_window(0, other)
    with pytest.raises(ValueError, match="log_weight"):
        state._replace(log_weight=np.zeros((2, TREES - 1)))
    with pytest.raises(ValueError, match=r"window_forest\.window"):
        state._replace(order=state.order[:-1])
    model = new_model(["window_forest"], 4, 8, 0, state.active, 3)
    model.replace_state(0, state)
    for other in (new_forest(3, 3), new_forest(4, 3, window=20)):
        with pytest.raises(ValueError, match="window_forest"):
            model.replace_state(0, other)


def test_states_are_pickled_and_begun_again() -> None:
    state = new_forest(4, 3)
    again = state.begin_again(shape_of(4), state.active, 3)
    assert isinstance(again, ForestState)
    assert same_state(again, state)
    learn(state, *blobs(1, 60)[:2])
    copy = pickle.loads(pickle.dumps(state))  # noqa: S301
    assert same_state(copy, state)
    more = blobs(2, 60)[:2]
    assert_array_equal(learn(copy, *more), learn(state, *more))
    assert same_state(copy, state)


def test_threads_score_rows_of_one_forest_side_by_side() -> None:
    X, y, M = blobs(3, 600)
    state = new_forest(4, M)
    learn(state, X, y)
    expected = np.empty((600, 2, M))
    forest.score_rows(state, rows_of(X), expected)

    def score(_: int) -> FloatArray:
        scores = np.empty((600, 2, M))
        forest.score_rows(state, rows_of(X), scores)
        return scores

    with ThreadPoolExecutor(4) as threads:
        for scores in threads.map(score, range(16)):
            assert_array_equal(scores, expected)


def test_what_a_state_is_made_of() -> None:
    state = new_forest(4, 3)
    assert state.clock.shape == (CLOCKS,)
    assert forest.OUTPUTS == ("window_forest", "window_forest_fast")
    assert not forest.MERGEABLE
    assert not forest.USES_SCALE


def test_each_tree_of_a_merged_forest_has_counted_the_other_windows() -> None:
    one, other = new_forest(4, 3), new_forest(4, 3)
    learn(one, *blobs(1, 40)[:2])
    learn(other, *blobs(2, 30)[:2])
    merged = forest.merge([one, other])
    slow = [
        sum(state.slow_total[k, : state.n_leaves[k]].sum() for k in state.place[:-1])
        for state in (one, other)
    ]
    better = [
        np.argsort(-state.log_weight.sum(axis=0), kind="stable")[:8]
        for state in (one, other)
    ]
    expected = sum(
        state.slow_total[k, : state.n_leaves[k]].sum() + added
        for state, best, added in ((one, better[0], 30.0), (other, better[1], 40.0))
        for k in state.place[best]
    )
    total = sum(
        merged.slow_total[k, : merged.n_leaves[k]].sum() for k in merged.place[:-1]
    )
    assert total == expected
    assert total > max(slow)
