"""Scaling each row by the rows before it: the kernels against the oracle."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from oracles import running_scale as slow
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.row_blocks import as_rows
from rpnb.core.kernels.running_scale import (
    RunningScale,
    copy_scale,
    fade_scale,
    merge_scales,
    new_scale,
    scale_rows,
    scale_sparse_rows,
    variances,
)

CLIP = 2.5


class Rows(NamedTuple):
    X: FloatArray
    y: IntArray
    weight: FloatArray


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    """Rows with constant and missing values, on several scales, some unlabelled."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 25))
    X = rng.normal(size=(n, 4)) * 10.0 ** rng.integers(-6, 6, 4) + rng.normal(size=4)
    X[:, 1] = np.where(rng.random(n) < 0.8, 7.0, 8.0)
    X[rng.random((n, 4)) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    y = np.where(rng.random(n) < 0.8, 1, -1)
    return Rows(X, y, rng.uniform(0.5, 3.0, n))


def learn(
    scale: RunningScale, part: Rows, size: int = 1, at: slice = slice(None)
) -> FloatArray:
    X = part.X[at]
    out = np.empty_like(X)
    scale_rows(scale, X, part.y[at], part.weight[at], size, CLIP, out)
    return out


@given(rows(), st.sampled_from([1, 2, 7]), st.booleans())
def test_rows_are_scaled_by_the_rows_before_them(
    part: Rows, size: int, centred: bool
) -> None:
    scale = new_scale(4, centred=centred)
    scaled = learn(scale, part, size)
    learned = part.y >= 0
    expected = slow.scale(part.X, part.weight, learned, size, CLIP, centred=centred)
    assert_allclose(scaled, expected, rtol=1e-7, atol=1e-7)
    mean, variance = slow.moments(part.X[learned], part.weight[learned])
    if centred:
        assert_allclose(scale.mean, mean, rtol=1e-9, atol=1e-9)
        assert_allclose(variances(scale), variance, rtol=1e-7, atol=1e-14)
    assert scale.seen[0] == learned.sum()


@given(rows(), st.sampled_from([1, 3]))
def test_sparse_rows_are_scaled_as_dense_ones_that_are_not_centred(
    part: Rows, size: int
) -> None:
    X = np.where(np.abs(part.X) < 0.5, 0.0, part.X)
    dense, sparse = new_scale(4, centred=False), new_scale(4, centred=False)
    expected = learn(dense, part._replace(X=X), size)
    matrix = csr_array(X)
    out = np.empty_like(matrix.data)
    scale_sparse_rows(sparse, as_rows(matrix), part.y, part.weight, size, CLIP, out)
    scaled = csr_array((out, matrix.indices, matrix.indptr), X.shape).toarray()
    assert_array_equal(scaled, expected)
    for a, b in zip(sparse, dense, strict=True):
        assert_array_equal(a, b)


@given(rows(), st.data())
def test_no_bit_depends_on_how_rows_are_cut(part: Rows, data: st.DataObject) -> None:
    n = part.X.shape[0]
    cut = data.draw(st.integers(0, n))
    whole, parts = new_scale(4, centred=True), new_scale(4, centred=True)
    together = learn(whole, part)
    halves = [learn(parts, part, at=at) for at in (slice(0, cut), slice(cut, n))]
    assert_array_equal(np.concatenate(halves), together)
    for a, b in zip(whole, parts, strict=True):
        assert_array_equal(a, b)


@given(rows(), st.data(), st.booleans())
def test_scales_of_parts_merge_to_that_of_the_whole(
    part: Rows, data: st.DataObject, centred: bool
) -> None:
    n = part.X.shape[0]
    first = data.draw(st.integers(0, n))
    second = data.draw(st.integers(first, n))
    base = new_scale(4, centred=centred)
    learn(base, part, at=slice(0, first))
    left, right, whole = (copy_scale(base) for _ in range(3))
    learn(left, part, at=slice(first, second))
    learn(right, part, at=slice(second, n))
    learn(whole, part, at=slice(first, n))
    merged = merge_scales(left, right, base)
    apart = new_scale(4, centred=centred)
    learn(apart, part, at=slice(second, n))
    for joined in (merged, merge_scales(left, apart)):
        assert joined.seen[0] == whole.seen[0]
        assert_allclose(joined.weight, whole.weight)
        assert_allclose(joined.missing, whole.missing, atol=1e-9)
        # Relative to the mean square, which is what rounding is relative to.
        size = np.sqrt(variances(whole) + whole.mean**2)
        assert_allclose(joined.mean, whole.mean, atol=1e-9 * (size.max() + 1e-300))
        tolerance = 1e-8 * np.maximum(size**2, 1e-300) + 1e-14
        assert (np.abs(variances(joined) - variances(whole)) <= tolerance).all()


def test_a_large_offset_breaks_the_textbook_variance_but_not_ours() -> None:
    X = 1e9 + np.arange(4.0)[:, None]
    assert abs((X**2).mean() - X.mean() ** 2 - X.var()) > 0.5  # the negative control
    scale = new_scale(1, centred=True)
    learn(scale, Rows(X, np.zeros(4, np.int64), np.ones(4)))
    assert_allclose(variances(scale), X.var(), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-170, 1e150])
def test_scaled_values_are_finite_whatever_the_rows(size: float) -> None:
    X = np.array([[1.0], [-1.0], [1.0], [0.5]]) * size
    scale = new_scale(1, centred=True)
    out = learn(scale, Rows(X, np.zeros(4, np.int64), np.ones(4)))
    assert np.isfinite(out).all()
    assert (np.abs(out) <= CLIP).all()


def test_a_faded_scale_is_the_same_until_rows_come() -> None:
    X = np.array([[0.0], [2.0], [7.0]])
    y, weight = np.zeros(3, np.int64), np.ones(3)
    scale = new_scale(1, centred=True)
    learn(scale, Rows(X, y, weight))
    faded = copy_scale(scale)
    fade_scale(faded, 0.1)
    assert_allclose(variances(faded), variances(scale))
    learn(faded, Rows(X[:1] + 9.0, y[:1], weight[:1]))
    learn(scale, Rows(X[:1] + 9.0, y[:1], weight[:1]))
    assert faded.mean[0] > scale.mean[0] + 1.0


def test_what_does_not_fit_is_refused() -> None:
    scale, X, out = new_scale(2, centred=True), np.zeros((3, 2)), np.zeros((3, 2))
    y, weight = np.zeros(3, np.int64), np.ones(3)
    with pytest.raises(ValueError, match="X is not of shape 3 2"):
        scale_rows(scale, np.zeros((3, 4)), y, weight, 1, CLIP, out)
    with pytest.raises(ValueError, match="out is not of shape 3 2"):
        scale_rows(scale, X, y, weight, 1, CLIP, out[:2])
    with pytest.raises(ValueError, match="y is not of shape 3"):
        scale_rows(scale, X, y[:2], weight, 1, CLIP, out)
    with pytest.raises(ValueError, match="weight is not of shape 3"):
        scale_rows(scale, X, y, weight[:2], 1, CLIP, out)
    with pytest.raises(ValueError, match="size must be at least 1"):
        scale_rows(scale, X, y, weight, 0, CLIP, out)
    with pytest.raises(ValueError, match="rows must be sparse"):
        scale_sparse_rows(scale, as_rows(X), y, weight, 1, CLIP, np.zeros(6))
    beyond = as_rows(csr_array(np.ones((3, 3))))
    with pytest.raises(ValueError, match="ascending"):
        scale_sparse_rows(scale, beyond, y, weight, 1, CLIP, np.zeros(9))
