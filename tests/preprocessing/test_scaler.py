"""The scaler among scikit-learn's transformers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rpnb.estimators.saving.files import ModelFileError
from rpnb.preprocessing import RunningScaler

Test = Callable[[Any, Any], None]
pandas: Any = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)) * [1.0, 1e4, 1e-3] + [0.0, 5.0, 7.0]

each_check: Callable[[Test], Test] = parametrize_with_checks([RunningScaler()])


@each_check
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


def test_after_all_rows_it_is_the_scaler_of_scikit_learn() -> None:
    ours, theirs = RunningScaler(clip=None).fit(X), StandardScaler().fit(X)
    assert_allclose(ours.transform(X), theirs.transform(X))
    assert_allclose(ours.mean_, theirs.mean_)
    assert_allclose(ours.var_, theirs.var_)
    assert_allclose(ours.scale_, theirs.scale_)
    assert ours.n_samples_seen_ == 60


def test_each_row_is_scaled_by_the_rows_before_it_however_they_are_cut() -> None:
    loop, whole, parts = RunningScaler(), RunningScaler(), RunningScaler()
    expected = []
    for row in X:
        if loop.__sklearn_is_fitted__():
            expected.append(loop.transform(row[None])[0])
        else:
            expected.append(np.zeros(3))
        loop.partial_fit(row[None])
    assert_array_equal(whole.transform_then_learn(X), expected)
    cuts = [slice(0, 1), slice(1, 40), slice(40, 60)]
    assert_array_equal(
        np.concatenate([parts.transform_then_learn(X[cut]) for cut in cuts]), expected
    )


def test_missing_values_stay_missing_and_are_not_counted() -> None:
    rows = X.copy()
    rows[::7, 1] = np.nan
    scaler = RunningScaler().fit(rows)
    assert_allclose(scaler.mean_, np.nanmean(rows, axis=0))
    assert_allclose(scaler.var_, np.nanvar(rows, axis=0))
    assert_array_equal(np.isnan(scaler.transform(rows)), np.isnan(rows))


def test_sparse_rows_stay_sparse_and_are_not_centred() -> None:
    rows = np.where(np.abs(X) > np.abs(X).mean(axis=0), X, 0.0)
    scaler = RunningScaler(clip=None).fit(csr_array(rows))
    scaled = scaler.transform(csr_array(rows))
    assert issparse(scaled)
    expected = rows / np.sqrt((rows**2).mean(axis=0))
    assert_allclose(scaled.toarray(), expected)
    assert_allclose(scaler.transform(rows), expected)
    same = RunningScaler(center=False, clip=None).fit(rows)
    assert_array_equal(same.transform(rows), scaler.transform(rows))
    # Once it centres, it makes sparse rows dense.
    dense = RunningScaler().fit(rows)
    assert_array_equal(dense.transform(csr_array(rows)), dense.transform(rows))


def test_weights_count_as_repeated_rows_and_zero_as_none() -> None:
    times = rng.integers(0, 3, 60)
    weighted = RunningScaler().fit(X, sample_weight=times)
    repeated = RunningScaler().fit(np.repeat(X, times, axis=0))
    assert_allclose(weighted.var_, repeated.var_)
    assert weighted.n_samples_seen_ == np.count_nonzero(times)


def test_it_comes_back_from_a_file_to_the_bit(tmp_path: Path) -> None:
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    scaler = RunningScaler(clip=None).partial_fit(frame)
    scaler.save(tmp_path / "scaler.rpnb")
    again = RunningScaler.load(tmp_path / "scaler.rpnb")
    assert again.get_feature_names_out().tolist() == ["a", "b", "c"]
    assert_array_equal(
        again.transform_then_learn(frame), scaler.transform_then_learn(frame)
    )
    content = bytearray((tmp_path / "scaler.rpnb").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        RunningScaler.load(tmp_path / "damaged")


def test_scalers_of_shards_merge() -> None:
    base = RunningScaler().fit(X[:20])
    left, right, whole = (RunningScaler().fit(X[:20]) for _ in range(3))
    left.partial_fit(X[20:30])
    right.partial_fit(X[30:])
    whole.partial_fit(X[20:])
    left.merge(right, base=base)
    assert_allclose(left.mean_, whole.mean_)
    assert_allclose(left.var_, whole.var_)
    assert left.n_samples_seen_ == 60


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (3, TypeError, "other must be a RunningScaler, got 3"),
        (RunningScaler(), ValueError, "other has not seen any data yet"),
        (RunningScaler().fit(X[:, :2]), ValueError, "of 3 and 2 features"),
        (RunningScaler(center=False).fit(X), ValueError, "one that does not"),
    ],
    ids=["a number", "empty", "other features", "not centred"],
)
def test_what_does_not_fit_is_not_merged(wrong: Any, error: Any, message: str) -> None:
    scaler = RunningScaler().fit(X)
    before = scaler.mean_
    with pytest.raises(error, match=message):
        scaler.merge(wrong)
    assert_array_equal(scaler.mean_, before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"clip": 0.0}, "clip must be a finite number above 0, got 0.0"),
        ({"clip": "3"}, "clip must be a finite number above 0, got '3'"),
        ({"center": "yes"}, "center must be True or False, got 'yes'"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    scaler = RunningScaler(**parameters)
    with pytest.raises((TypeError, ValueError), match=message):
        scaler.partial_fit(X)
    assert not scaler.__sklearn_is_fitted__()


def test_bad_rows_change_nothing() -> None:
    scaler = RunningScaler().fit(X)
    before = scaler.mean_
    bad = X.copy()
    bad[50, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        scaler.partial_fit(bad)
    with pytest.raises(ValueError, match="2 features"):
        scaler.transform_then_learn(X[:, :2])
    assert_array_equal(scaler.mean_, before)
    assert scaler.n_samples_seen_ == 60
