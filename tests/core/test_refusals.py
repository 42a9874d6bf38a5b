"""Arrays and numbers that do not fit are refused where they enter the core."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rpnb._core.bayes import Model as CoreModel
from rpnb._core.linear import LinearState
from rpnb._core.passes import (
    SingleDensities,
    centre_projected,
    centre_rows,
    run_exact,
    run_screened,
)
from rpnb._core.pooled import Features, Pending, Pool, Transitions, pool_rows
from rpnb.core.bayes.model import Model
from rpnb.core.calibration import new_calibration
from rpnb.core.kernels.running_scale import new_scale
from rpnb.core.passes.engine import learn_all
from rpnb.core.pooled.engine import run
from rpnb.core.pooled.model import PooledModel, new_model
from rpnb.core.projection.record import make_projection
from strategies import make_model


def pooled() -> PooledModel:
    return new_model(["transitions"], 3, 16, 0, np.ones(2, np.bool_), 1)


def test_models_need_as_many_columns_for_each_member() -> None:
    model = make_model(2, 3)
    records = model.moments, model.gaussians, model.classes
    for K in (0, 4):
        with pytest.raises(ValueError, match="as many columns for each of K members"):
            CoreModel(K, 0, model.prior, 1.0, 0.0, *records)


def test_centred_rows_need_room() -> None:
    X, few, numbers = np.zeros((3, 2)), np.zeros((2, 2), np.float32), np.zeros(3)
    with pytest.raises(ValueError, match="too few rows to write to"):
        centre_rows(X, np.zeros(2), 1.0, 1.0, few, numbers, numbers.copy())
    with pytest.raises(ValueError, match="too few rows to write to"):
        centre_projected(X, np.zeros(2), few, numbers, numbers.copy())


def records() -> list[Any]:
    """Records of several kinds: each has its own code."""
    linear = LinearState(
        W=np.zeros((2, 3)),
        S=np.zeros((0, 3)),
        eligible=np.ones(2, np.bool_),
        counts=np.zeros(2, np.int64),
        c=np.ones(1),
    )
    return [Transitions.begin(pooled().shape, np.ones(2, np.bool_)), linear]


@pytest.mark.parametrize("state", records(), ids=lambda state: type(state).__name__)
def test_records_need_their_arrays(state: Any) -> None:
    record = type(state)
    arrays = state._asdict()
    assert isinstance(record(**arrays), record)
    name = next(iter(arrays))
    with pytest.raises(TypeError, match=f"{record.__name__} needs {name}"):
        record(**{k: v for k, v in arrays.items() if k != name})
    with pytest.raises(TypeError, match=f"{name} is not an array of the right type"):
        record(**{**arrays, name: np.zeros((1, 1, 1, 1), np.int8)})
    with pytest.raises(TypeError, match="got arrays that it does not have"):
        record(**arrays, other=np.zeros(1))


def test_features_need_columns_to_write_to() -> None:
    features = Features.draw(3, 16, 8, 0)
    z, low = np.zeros((1, 3), np.float32), np.zeros((1, 3), np.float32)
    with pytest.raises(ValueError, match="phi has too few columns"):
        features.fill(z, np.zeros((1, 8), np.float32), low)


def test_pooled_models_need_parts_that_fit() -> None:
    model = pooled()
    with pytest.raises(IndexError, match="there is no such member"):
        model.replace_state(1, model.states[0])
    with pytest.raises(ValueError, match="places holds a column that does not exist"):
        model.replace(places=np.array([1, 0, 2]))
    with pytest.raises(ValueError, match="members behind and pending rows go together"):
        model.replace(pending=Pending.begin(3, 3))


def test_pools_learn_from_other_scores_than_they_predict_by() -> None:
    model = pooled()
    X, y = np.zeros((4, 3)), np.array([0, 1, 1, 0])
    run(model, X, y, np.ones(4), np.empty(4, np.int64), np.zeros((0, 0)), 1)
    scores = np.random.default_rng(0).normal(size=(4, 1, 2))
    pools = [Pool(**model.pool._asdict()) for _ in range(2)]
    found = np.empty((2, 4), np.int64)
    nothing, none = np.zeros((0, 0)), np.zeros((0, 0, 0))
    pool_rows(pools[0], scores, y, np.ones(4), found[0], nothing, none)
    pool_rows(pools[1], scores, y, np.ones(4), found[1], nothing, scores)
    for one, two in zip(pools[0], pools[1], strict=True):
        assert_array_equal(one, two)
    with pytest.raises(ValueError, match="scores"):
        pool_rows(pools[1], scores, y, np.ones(4), found[1], nothing, scores[:3])


@pytest.mark.parametrize("name", ["transitions", "selected_neighbours"])
def test_members_begin_again_with_nothing(name: str) -> None:
    model = new_model([name], 40, 16, 0, np.ones(2, np.bool_), 1)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 40)), rng.integers(0, 2, 20)
    fresh = [array.copy() for array in model.states[0]]
    run(model, X, y, np.ones(20), np.empty(20, np.int64), np.zeros((0, 0)), 1)
    again = model.states[0].begin_again(model.shape, np.ones(2, np.bool_), 1)
    for one, two in zip(again, fresh, strict=True):
        assert_array_equal(one, two)


def test_models_are_pickled_with_all_that_they_have_learned() -> None:
    model = make_model(2, 3)
    model.calibration, model.scale = new_calibration(), new_scale(2, centred=True)
    X, y = np.random.default_rng(0).normal(size=(9, 2)), np.arange(9) % 3
    learn_all(model, X, y, np.ones(1))
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):  # noqa: S301
        assert isinstance(again, Model)
        for record in ("moments", "gaussians", "classes", "calibration", "scale"):
            pairs = zip(getattr(again, record), getattr(model, record), strict=True)
            for one, two in pairs:
                assert_array_equal(one, two)
        assert (again.n_seen, again.rule) == (model.n_seen, model.rule)
    shape = pooled().shape
    assert pickle.loads(pickle.dumps(shape)) == shape  # noqa: S301
    twin = pickle.loads(pickle.dumps(pooled()))  # noqa: S301
    assert twin.names == ("transitions",)


def test_models_without_a_matrix_take_projected_rows_only() -> None:
    projection = make_projection("hadamard", 0, np.arange(3, dtype=np.uint64), 5, 2)
    model = make_model(3, 2, q=2)
    model.projection = projection
    y = np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="keeps no matrix: rows must come projected"):
        run_exact(model, np.zeros((1, 3)), False, y, np.ones(1), 0, y.copy())


def test_screened_passes_need_centred_rows_for_all() -> None:
    model = make_model(2, 3)
    F = model.F
    densities = SingleDensities.empty(3, F)
    y = np.zeros(5, np.int64)
    Z, few = np.zeros((4, F), np.float32), np.zeros(4)
    rest = y, np.ones(1), 0, y.copy(), Z, few, few.copy(), 4
    with pytest.raises(ValueError, match="too few centred rows"):
        run_screened(model, densities, np.zeros(2), np.zeros((5, 2)), False, *rest)
