"""The state of an RPNB model: classes, copies and merging."""

import copy
import pickle

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.bayes.model import (
    Model,
    arrange_classes,
    copy_model,
    fade_all,
    may_continue,
    merge_statistics,
)
from rpnb.core.bayes.statistics import LEARN_ALL, LEARN_MISTAKES
from rpnb.core.kernels.running_scale import new_scale, scale_rows
from rpnb.core.passes.engine import run, run_batches
from strategies import make_model

WEIGHT = np.ones(1)


def stream(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + 2.0 * y[:, None], y


def test_classes_can_be_added_moved_and_left_out() -> None:
    model = make_model(4, 3)
    X, y = stream(0, 30)
    run(model, X, y, WEIGHT, LEARN_MISTAKES, np.empty(30, np.int64))
    arranged = arrange_classes(model, np.array([2, -1, 0]))
    assert_array_equal(arranged.moments.mean[[0, 2]], model.moments.mean[[2, 0]])
    assert_array_equal(arranged.gaussians.precision[1], 1.0)
    assert_array_equal(arranged.classes.eligible, [True, False, True])
    assert (arranged.n_seen, arranged.n_updates) == (model.n_seen, model.n_updates)


def test_a_copy_shares_nothing_that_changes() -> None:
    model = make_model(4, 3)
    twin = copy_model(model)
    assert twin.projection is model.projection
    X, y = stream(0, 30)
    run(twin, X, y, WEIGHT, LEARN_MISTAKES, np.empty(30, np.int64))
    assert_array_equal(model.moments.weight, 0.0)
    assert_array_equal(model.gaussians.precision, 1.0)


def test_a_projection_is_pickled_as_its_parameters() -> None:
    projection = make_model(40, 2, K=50, q=10).projection
    restored = pickle.loads(pickle.dumps(projection))  # noqa: S301 - our own bytes
    assert_array_equal(restored.R, projection.R)
    assert restored.same_as(projection)
    assert len(pickle.dumps(projection)) < projection.R.nbytes / 10
    assert copy.deepcopy(projection) is projection


def test_projections_differ_by_any_parameter() -> None:
    base = make_model(4, 1).projection
    for other in (
        make_model(4, 1, seed=1),
        make_model(5, 1),
        make_model(4, 1, K=6),
        make_model(4, 1, q=4),
        make_model(4, 1, distribution="bernoulli"),
    ):
        assert not base.same_as(other.projection)


def test_merged_shards_equal_the_mini_batch_on_their_union() -> None:
    # Classify separately with one frozen model, then combine what each has learned.
    base = make_model(4, 3)
    X, y = stream(1, 50)
    run(base, X, y, WEIGHT, LEARN_MISTAKES, np.empty(50, np.int64))
    X, y = stream(2, 90)
    whole = copy_model(base)
    run_batches(whole, X, y, WEIGHT, LEARN_MISTAKES, 90, np.empty(90, np.int64))
    shards = [copy_model(base) for _ in range(3)]
    for shard, rows in zip(shards, np.split(np.arange(90), [20, 47]), strict=True):
        labels = np.empty(rows.size, np.int64)
        run_batches(shard, X[rows], y[rows], WEIGHT, LEARN_MISTAKES, 90, labels)
    merge_statistics(shards[0], shards[1], base)
    merge_statistics(shards[0], shards[2], base)
    assert_allclose(shards[0].moments.weight, whole.moments.weight)
    assert_allclose(shards[0].moments.mean, whole.moments.mean, atol=1e-12)
    assert_allclose(shards[0].moments.scatter, whole.moments.scatter, atol=1e-9)
    assert_allclose(shards[0].gaussians.mean, whole.gaussians.mean, atol=1e-12)
    assert_array_equal(shards[0].classes.seen, whole.classes.seen)
    assert shards[0].n_seen == whole.n_seen
    assert shards[0].n_updates == whole.n_updates


def test_independent_models_merge_to_the_model_of_all_rows() -> None:
    X, y = stream(3, 60)
    one, two, whole = (make_model(4, 3) for _ in range(3))
    one.count_factor = 2.0
    for model, rows in ((one, slice(25)), (two, slice(25, 60)), (whole, slice(60))):
        labels = np.empty(60, np.int64)
        run(model, X[rows], y[rows], WEIGHT, LEARN_ALL, labels[rows])
    merge_statistics(one, two, None)
    assert_allclose(one.moments.mean, whole.moments.mean, atol=1e-12)
    assert_allclose(one.moments.scatter, whole.moments.scatter, atol=1e-10)
    assert_allclose(one.classes.bias, 2.0 * np.log1p(np.bincount(y)))


def test_a_model_may_continue_earlier_states_of_itself_only() -> None:
    X, y = stream(3, 60)
    base = make_model(4, 3)
    run(base, X[:20], y[:20], WEIGHT, LEARN_ALL, np.empty(20, np.int64))
    grown = copy_model(base)
    run(grown, X[20:], y[20:], WEIGHT, LEARN_ALL, np.empty(40, np.int64))
    assert may_continue(grown, base)
    assert may_continue(base, base)
    assert not may_continue(base, grown)
    # As many rows, but fewer of one class.
    other = make_model(4, 3)
    run(other, X, np.zeros(60, np.int64), WEIGHT, LEARN_ALL, np.empty(60, np.int64))
    assert not may_continue(other, base)


def test_a_scale_is_copied_faded_and_merged_with_its_model() -> None:
    def scaled(rows: np.ndarray) -> Model:
        model = make_model(4, 3)
        model.scale = new_scale(4, centred=True)
        y = np.zeros(rows.shape[0], np.int64)
        scale_rows(model.scale, rows, y, WEIGHT, 1, 3.0, np.empty_like(rows))
        return model

    X, _ = stream(0, 30)
    whole, left, right = scaled(X), scaled(X[:10]), scaled(X[10:])
    twin = copy_model(left)
    assert twin.scale is not None
    assert left.scale is not None
    assert whole.scale is not None
    merge_statistics(twin, right, None)
    assert_allclose(twin.scale.mean, whole.scale.mean)
    assert left.scale.seen[0] == 10
    again = copy_model(twin)
    merge_statistics(again, twin, twin)
    assert again.scale is not None
    assert_allclose(again.scale.scatter, whole.scale.scatter)
    fade_all(again, 0.5)
    assert_allclose(again.scale.weight, 15.0)
