"""Blocks of a mini-batch, observed separately, give the same bits as one process."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.baselines import GaussianNB, MajorityClass
from rpnb.estimators.mini_batches import (
    BLOCK_ROWS,
    RowBlocks,
    begin_rows,
    check_batch_size,
    counts_of_classes,
    learn_mini_batches,
    learn_statistics,
    learned_together,
    model_from_bytes,
    model_to_bytes,
    observe_rows,
    score_rows,
)
from rpnb.estimators.registry import learners

N = 2 * BLOCK_ROWS + 700


def rows(n: int = N, p: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, p)) + 0.7 * y[:, None], y


def rpnb(**parameters: Any) -> RPNBClassifier:
    given = {"temperature": None, **parameters}
    return RPNBClassifier(4, random_state=0, **given)


@pytest.mark.parametrize(
    "parameters",
    [
        {"batch_size": 3000},
        {"batch_size": None, "update": "all"},
        {"batch_size": 500, "class_prior": "frequency", "forgetting": 300.0},
        {"batch_size": 2500, "combiner": "vote"},
        {"batch_size": 2500, "temperature": "auto"},
        {"batch_size": 2100, "temperature": "auto", "class_weight": "balanced"},
        {"batch_size": None, "class_weight": {0: 3.0, 2: 0.5}},
    ],
)
def test_of_the_classifier_it_is_partial_fit(parameters: Any) -> None:
    X, y = rows()
    one, other, shared = (rpnb(**parameters) for _ in range(3))
    expected, P = one.predict_then_learn(X, y, return_proba=True)
    assert model_to_bytes(rpnb(**parameters).partial_fit(X, y)) == model_to_bytes(one)
    known = [label is not None for label in expected]
    found = learn_mini_batches(other, X, y)
    assert_array_equal(found[known], expected[known])
    assert model_to_bytes(one) == model_to_bytes(other)
    # By others, in another order, with copies of the model.
    size = parameters["batch_size"] or N
    begin_rows(shared, 3, np.unique(y))
    for start in range(0, N, size):
        stop, parts, copy = min(start + size, N), {}, None
        for at in reversed(range(start, stop, BLOCK_ROWS)):
            copy = model_from_bytes(model_to_bytes(shared), copy)
            block = slice(at, min(at + BLOCK_ROWS, stop))
            counts = counts_of_classes(shared)
            counts += np.bincount(y[start:at], minlength=3)
            given = RowBlocks(X[block], y[block], starts=[at - start], counts=[counts])
            (parts[at],) = observe_rows(copy, given, probabilities=True)
            assert_array_equal(parts[at].probabilities, P[block])
        learn_statistics(shared, [parts[at] for at in sorted(parts)])
    assert model_to_bytes(one) == model_to_bytes(shared)


def test_sparse_rows_give_the_bits_of_dense_ones() -> None:
    X, y = rows(600)
    X[X < 0.5] = 0.0
    dense, sparse = rpnb(batch_size=None), rpnb(batch_size=None)
    learn_mini_batches(dense, X, y)
    learn_mini_batches(sparse, csr_array(X), y)
    assert model_to_bytes(dense) == model_to_bytes(sparse)


def test_moments_of_naive_bayes_add_up() -> None:
    X, y = rows()
    by_row, by_batch = GaussianNB().fit(X, y), GaussianNB()
    predicted = learn_mini_batches(by_batch, X, y, batch_size=2500, classes=[0, 1, 2])
    assert_allclose(by_batch.predict_log_proba(X), by_row.predict_log_proba(X))
    assert by_batch.n_samples_seen_ == N
    weight = np.arange(1.0, N + 1.0) % 5 + 1.0
    by_row = GaussianNB(class_weight={1: 2.0}).partial_fit(X, y, [0, 1, 2], weight)
    by_batch = GaussianNB(class_weight={1: 2.0})
    learn_mini_batches(by_batch, X, y, 2500, [0, 1, 2], weight)
    assert_allclose(by_batch.predict_log_proba(X), by_row.predict_log_proba(X))
    blocks = observe_rows(by_batch, RowBlocks(X, y), probabilities=True)
    assert_array_equal(blocks[0].probabilities, by_batch.predict_proba(X[:BLOCK_ROWS]))
    with pytest.raises(ValueError, match="sample_weight must be above 0"):
        learn_mini_batches(GaussianNB(), X, y, sample_weight=weight - 1.0)
    # Before the first row there are no probabilities.
    empty = GaussianNB()
    begin_rows(empty, 3, y)
    (block,) = observe_rows(empty, RowBlocks(X[:9], y[:9]), probabilities=True)
    assert block.probabilities is not None
    assert not block.probabilities.any()
    # The second mini-batch is predicted by the model after the first.
    first = GaussianNB()
    learn_mini_batches(first, X[:2500], y[:2500])
    assert_array_equal(predicted[2500:], first.predict(X[2500:]))


def pooled(**parameters: Any) -> PooledClassifier:
    return PooledClassifier("mergeable", n_projections=16, random_state=0, **parameters)


@pytest.mark.parametrize(
    ("size", "parameters"),
    [
        (None, {}),
        (3000, {"class_weight": "balanced"}),
        (700, {"class_weight": {1: 2.0}}),
        (100, {}),
    ],
)
def test_a_pool_is_the_same_wherever_its_blocks_are_observed(
    size: int | None, parameters: Any
) -> None:
    X, y = rows()
    X[::50, 1] = np.nan
    weight = np.arange(1.0, N + 1.0) % 5 + 1.0
    one, shared = pooled(**parameters), pooled(**parameters)
    predicted = learn_mini_batches(one, X, y, size, sample_weight=weight)
    # By others, in another order, with copies of the model.
    begin_rows(shared, 3, np.unique(y))
    known: list[Any] = []
    for start in range(0, N, size or N):
        stop = min(start + (size or N), N)
        blocks = range(-(-(stop - start) // BLOCK_ROWS))
        for group in learned_together(shared, blocks):
            parts, copy = {}, None
            for at in reversed(group):
                copy = model_from_bytes(model_to_bytes(shared), copy)
                first = start + at * BLOCK_ROWS
                block = slice(first, min(first + BLOCK_ROWS, stop))
                counts = np.bincount(y[:first], minlength=3)
                given = RowBlocks(
                    X[block], y[block], weight[block], [at * BLOCK_ROWS], [counts]
                )
                (parts[at],) = observe_rows(copy, given, probabilities=True)
                if shared.n_samples_seen_ > 0:
                    expected = shared.predict_next_proba(X[block])
                    assert_array_equal(parts[at].probabilities, expected)
            learn_statistics(shared, [parts[at] for at in sorted(parts)])
            known += [parts[at].labels for at in sorted(parts)]
    assert model_to_bytes(one) == model_to_bytes(shared)
    numbers = np.concatenate(known)
    assert_array_equal(numbers[numbers >= 0], predicted[numbers >= 0])
    assert np.mean(numbers[BLOCK_ROWS:] != y[BLOCK_ROWS:]) < 0.5
    assert one.n_samples_seen_ == one.n_updates_ == N


def test_the_first_block_of_a_pool_is_learned_row_by_row() -> None:
    X, y = rows()
    X[X < -0.5] = 0.0
    by_row, one, threads, sparse = (pooled() for _ in range(4))
    predicted = learn_mini_batches(one, X, y)
    by_row.partial_fit(X[:BLOCK_ROWS], y[:BLOCK_ROWS])
    assert all(label is None for label in predicted[:BLOCK_ROWS])
    rest = predicted[BLOCK_ROWS:]
    assert_array_equal(rest, by_row.predict_next(X[BLOCK_ROWS:]))
    # Mistakes are those of the predictions that were given out.
    mistakes = by_row.member_errors_["pool"] * BLOCK_ROWS
    mistakes += np.count_nonzero(rest != y[BLOCK_ROWS:])
    assert one.member_errors_["pool"] == pytest.approx(mistakes / N)
    begin_rows(threads, 3, y)
    with pytest.raises(
        ValueError, match="must learn the first block of its first mini"
    ):
        learn_statistics(threads, observe_rows(threads, RowBlocks(X, y)))
    # Small mini-batches go on so until the scale is known; then rows are frozen.
    small, first = pooled(), pooled()
    learn_mini_batches(small, X[:300], y[:300], 100, classes=[0, 1, 2])
    first.partial_fit(X[:300], y[:300], classes=[0, 1, 2])
    assert model_to_bytes(small) == model_to_bytes(first)
    learn_mini_batches(small, X[300:400], y[300:400], 100)
    first.partial_fit(X[300:400], y[300:400])
    assert model_to_bytes(small) != model_to_bytes(first)
    learn_mini_batches(threads.set_params(n_jobs=2), X, y)
    assert model_to_bytes(threads) == model_to_bytes(one)
    learn_mini_batches(sparse, csr_array(X), y)
    assert model_to_bytes(sparse) == model_to_bytes(one)
    # What was learned so goes on row by row.
    assert one.partial_fit(X[:500], y[:500]).n_samples_seen_ == N + 500


@pytest.mark.parametrize(("p", "M"), [(20, 10), (100, 40)])
def test_a_block_of_a_pool_has_the_bytes_of_the_guide(p: int, M: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, p)), rng.integers(0, M, 300)
    model = PooledClassifier("mergeable", random_state=0).partial_fit(X, y, range(M))
    (block,) = observe_rows(model, RowBlocks(X, y))
    E, d = 512 + (p if p <= 64 else 0), min(p, 32)
    sums = sum(each.nbytes for name, each in block.arrays.items() if name != "scores")
    assert sums == pytest.approx(4 * E**2 + 8 * M * (E + d**2 / 2 + 8 * p), rel=0.15)
    assert block.arrays["scores"].nbytes == 300 * 16 * M


def test_a_pool_learns_classes_that_join() -> None:
    X, y = rows()
    late = (y == 2) & (np.arange(N) < 3000)
    X, words = X[~late], np.array(["b", "d", "a"])[y[~late]]
    joined, known = pooled(), pooled()
    begin_rows(known, 3, words)
    for part, size in ((slice(0, 2300), 2200), (slice(2300, None), 900)):
        for model in (joined, known):
            learn_mini_batches(model, X[part], words[part], size)
    assert joined.classes_.tolist() == ["a", "b", "d"]
    assert model_to_bytes(joined) == model_to_bytes(known)
    by_row = pooled().partial_fit(X, words)
    assert np.mean(joined.predict(X) != by_row.predict(X)) < 0.05


def test_the_majority_is_counted_by_blocks() -> None:
    X, y = rows()
    y[3000:] = 2
    by_row, one = MajorityClass(), MajorityClass()
    predicted = learn_mini_batches(one, X, y, 2500, classes=[1])
    by_row.partial_fit(X, y, classes=[1])
    assert model_to_bytes(one) == model_to_bytes(by_row)
    assert (predicted[:2500] == 1).all()
    assert (predicted[2500:] == np.bincount(y[:2500]).argmax()).all()
    assert learn_mini_batches(MajorityClass(), X, y)[0] is None


@pytest.mark.parametrize("name", learners())
def test_every_learner_learns_blocks_or_says_why_not(name: str) -> None:
    able: dict[str, Any] = {
        "RPNB": {"batch_size": None},
        "Pooled": {"members": "mergeable", "n_projections": 16},
        "GaussianNB": {},
        "MajorityClass": {},
    }
    model = learners()[name].estimator(**able.get(name, {}))
    X, y = rows(120)
    if name in able:
        predicted = learn_mini_batches(model, X, y)
        assert model.n_samples_seen_ == 120
        assert all(label is None for label in predicted)
        return
    with pytest.raises(TypeError) as refused:
        learn_mini_batches(model, X, y)
    message = str(refused.value)
    assert message.startswith(f"{type(model).__name__} ")
    assert "Learners that can: " in message
    assert not model.__sklearn_is_fitted__()
    reasons = {
        "OnlineBayes": "roots learned from parts of a mini-batch do not add up",
        "NoChange": "predicts the class of the row before",
    }
    reason = reasons.get(name, "cannot be summed over parts of a mini-batch")
    assert reason in message


def test_what_does_not_add_up_is_refused() -> None:
    with pytest.raises(ValueError, match="with batch_size=1 predicts each row"):
        check_batch_size(rpnb(), None)
    with pytest.raises(ValueError, match="scale='running' scales each row"):
        check_batch_size(rpnb(batch_size=7, scale="running"), None)
    with pytest.raises(ValueError, match="must be that of the model, 7"):
        check_batch_size(rpnb(batch_size=7), 8)
    with pytest.raises(
        TypeError,
        match=r"with neighbours, selected_neighbours, fading_covariance, "
        r"window_forest, boosted_trees "
        r"learns row by row: .* Set members='mergeable'",
    ):
        check_batch_size(PooledClassifier(), 100)
    with pytest.raises(TypeError, match="with neighbours learns row by row"):
        check_batch_size(PooledClassifier(["neighbours", "binned_bayes"]), 100)
    with pytest.raises(ValueError, match=r"with delay=7 learns .*: set delay=0"):
        check_batch_size(pooled(delay=7), 100)
    assert check_batch_size(PooledClassifier(["binned_bayes"], delay=1), 9) == 9
    with pytest.raises(TypeError, match="classifier of this package"):
        check_batch_size("RPNB", 100)
    assert check_batch_size(GaussianNB(), None) is None
    assert check_batch_size(rpnb(batch_size=7), None) == 7


def test_other_features_are_refused() -> None:
    _, y = rows(100)
    model = rpnb(batch_size=None)
    begin_rows(model, 3, y, names=["a", "b", "c"])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"the model has learned \['a', 'b', 'c'\]"):
        begin_rows(model, 3, y, names=["a", "c", "b"])
    with pytest.raises(ValueError, match="the rows have 4 features"):
        begin_rows(model, 4, y)


def test_a_model_goes_through_bytes_and_back() -> None:
    X, y = rows(200)
    model = rpnb(batch_size=None).fit(X, y)
    frozen = model.compile()
    mixed = RPNBClassifier(5, batch_size=None, random_state=0).fit(X, y)
    for each in (model, frozen, GaussianNB().fit(X, y), mixed, mixed.compile()):
        copy = model_from_bytes(model_to_bytes(each))
        found = score_rows(copy, X)
        assert_array_equal(found.labels, each.predict(X))
        assert_array_equal(each.classes_[found.scores.argmax(axis=1)], found.labels)
        assert_array_equal(found.probabilities, each.predict_proba(X))
    # A copy of another model is not taken for an earlier one of this.
    other = RPNBClassifier(5, temperature=None, batch_size=None).fit(X, y)
    assert model_from_bytes(model_to_bytes(other), model).n_estimators == 5
    again = rpnb(batch_size=None).set_params(random_state=3).fit(X, y)
    earlier = model_from_bytes(model_to_bytes(model))
    copied = model_from_bytes(model_to_bytes(again), earlier)
    assert_array_equal(copied.predict_proba(X), again.predict_proba(X))


def test_thresholds_of_sets_go_through_bytes() -> None:
    X, y = rows(200)
    model = GaussianNB()
    model.predict_set_then_learn(X, y, 0.8)
    earlier = GaussianNB().fit(X, y)
    for copy in (
        model_from_bytes(model_to_bytes(model)),
        model_from_bytes(model_to_bytes(model), earlier),
    ):
        assert_array_equal(copy.predict_set(X, 0.8), model.predict_set(X, 0.8))
    assert model_from_bytes(model_to_bytes(GaussianNB().fit(X, y)), model)
    assert model._set_thresholds is None
