"""Projections whose rows are drawn when a feature appears."""

import copy
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb._core.projection import project
from rpnb.core.kernels.arrays import UIntArray
from rpnb.core.projection.by_feature import (
    DrawnFeatures,
    add_features,
    draw_features,
    projection_of,
)
from rpnb.core.projection.matrices import MATRIX_DISTRIBUTIONS, Distribution
from rpnb.core.projection.record import make_projection

distributions = st.sampled_from(MATRIX_DISTRIBUTIONS)
numbers = st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=12)


def of(*features: int) -> UIntArray:
    return np.array(features, np.uint64)


def rows_of(distribution: Distribution, features: list[int]) -> DrawnFeatures:
    return draw_features(distribution, 7, 5, 3, of(*features))


@given(distributions, numbers, st.data())
def test_rows_are_the_same_whenever_their_features_appear(
    distribution: Distribution, features: list[int], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(features)))
    grown = rows_of(distribution, features[:cut])
    for feature in features[cut:]:
        add_features(grown, of(feature))
    chosen = data.draw(st.permutations(range(len(features))))
    which = np.array(chosen[: len(chosen) // 2 + 1], np.int64)
    if len(which) == 0:
        return
    picked = projection_of(grown, which)
    expected = make_projection(distribution, 7, of(*features)[which], 5, 3)
    assert_array_equal(picked.R, expected.R)
    assert picked.same_as(expected)
    assert picked.R.flags.c_contiguous
    # The length may be that of more rows, and never less than that of these.
    assert picked.max_column_norm >= expected.max_column_norm * (1.0 - 1e-12)
    whole = make_projection(distribution, 7, of(*features), 5, 3)
    assert_allclose(picked.max_column_norm, whole.max_column_norm, rtol=1e-12)


@given(distributions, st.integers(0, 1000))
def test_an_absent_feature_is_zero(distribution: Distribution, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rows_of(distribution, list(range(9)))
    present = np.sort(rng.permutation(9)[: rng.integers(1, 10)])
    x = np.zeros((1, 9))
    x[0, present] = rng.normal(size=present.shape[0]) * 10.0 ** rng.integers(-9, 9)
    Z = np.empty((2, 15))
    first = np.zeros(1, np.int64)
    project(x, first, 0.7, projection_of(rows, np.arange(9)).R, Z[:1])
    project(
        np.ascontiguousarray(x[:, present]),
        first,
        0.7,
        projection_of(rows, present).R,
        Z[1:],
    )
    assert Z[0].tobytes() == Z[1].tobytes()


def test_features_that_come_one_by_one_are_not_copied_each_time() -> None:
    rows = rows_of("bernoulli", [])
    places = set()
    for feature in range(600):
        add_features(rows, of(feature))
        places.add(rows.R.ctypes.data)
        assert rows.p == feature + 1
        assert rows.R.shape[0] <= 2 * rows.p
    assert len(places) <= 11  # 1, 2, 4, …, 1024
    whole = make_projection("bernoulli", 7, np.arange(600, dtype=np.uint64), 5, 3)
    assert_array_equal(rows.R[:600], whole.R)


def test_a_copy_is_independent_and_a_pickle_holds_no_rows() -> None:
    rows = rows_of("gaussian", list(range(100)))
    twin = copy.deepcopy(rows)
    add_features(rows, of(500, 501))
    add_features(twin, of(900))
    assert_array_equal(projection_of(rows, np.array([100, 3])).features, [500, 3])
    assert_array_equal(projection_of(twin, np.array([100, 3])).features, [900, 3])
    stored = pickle.dumps(rows)
    assert len(stored) < rows.R.nbytes / 3
    restored = pickle.loads(stored)  # noqa: S301 - our own bytes
    assert_array_equal(restored.R[: restored.p], rows.R[: rows.p])
    assert_allclose(restored.squares, rows.squares, rtol=1e-12)


def test_a_projection_does_not_change_when_features_are_added() -> None:
    rows = rows_of("gaussian", [1, 2, 3])
    picked = projection_of(rows, np.array([2, 0]))
    before = picked.R.copy()
    add_features(rows, of(4))
    rows.R[:] = 0.0
    assert_array_equal(picked.R, before)
