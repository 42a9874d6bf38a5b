"""Streams of the comparison: seeds, permutations and scaling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river.preprocessing import StandardScaler

from peers.workloads import DRAWN, RIVER_FILES, standardised, workload
from rpnb.datasets import DatasetError


@pytest.mark.parametrize("name", [*DRAWN, "Phishing", "ImageSegments", "synth.Sine"])
def test_rows_depend_on_name_and_seed(name: str) -> None:
    first, again, other = (workload(name, 80, seed) for seed in (0, 0, 1))
    assert first.X.shape[0] == first.y.shape[0] == 80
    assert np.array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert set(first.y) == set(range(first.M))


def test_files_are_permuted_whole() -> None:
    first, other = (workload("Phishing", 10**6, seed) for seed in (0, 1))
    assert first.X.shape == (1250, 9)
    assert first.X.sum() == pytest.approx(other.X.sum())
    assert "Shuttle" in RIVER_FILES


def test_an_unknown_stream_is_refused() -> None:
    with pytest.raises(DatasetError, match=r"mixture, .*, got 'nothing'"):
        workload("nothing", 10, 0)


@given(st.integers(1, 12), st.integers(0, 100), st.floats(-1e6, 1e6))
def test_scaling_equals_a_running_scaler(n: int, seed: int, offset: float) -> None:
    X = np.random.default_rng(seed).normal(size=(n, 3)) + offset
    X[:, 1] = 7.0  # never varies
    scaler = StandardScaler()
    for x, scaled in zip(X, standardised(X), strict=True):
        row = dict(enumerate(x.tolist()))
        scaler.learn_one(row)
        wanted = list(scaler.transform_one(row).values())
        np.testing.assert_allclose(scaled, wanted, atol=1e-6)


def test_scaling_does_not_look_ahead() -> None:
    X = workload("mixture", 50, 0).X
    assert np.array_equal(standardised(X)[:20], standardised(X[:20]))
    assert np.array_equal(workload("mixture", 50, 0, scale=True).X, standardised(X))
