"""`forgetting` for users: in streams that drift, in files, when merging."""

import copy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from estimators.snapshots import snapshot, state_of
from estimators.streams import Stream, blobs, cuts, seeds, small
from rpnb import RPNBClassifier


def turning(seed: int, n: int = 600) -> Stream:
    """Two classes that change places half-way."""
    X, y = blobs(seed, n, M=2, apart=2.0)
    y = y.copy()
    y[n // 2 :] = 1 - y[n // 2 :]
    return Stream(X, y)


def test_a_model_that_forgets_recovers_when_classes_change_places() -> None:
    mistakes = {}
    X, y = turning(1, 2000)
    for window in (None, 20.0):
        model = small(update="all", forgetting=window)
        wrong = model.predict_then_learn(X, y, classes=[0, 1]) != y
        mistakes[window] = wrong[1500:].mean()
    assert mistakes[20.0] < 0.1 < 0.5 < mistakes[None]


@given(st.data(), seeds, st.sampled_from(["uniform", "frequency"]))
def test_cuts_and_copies_leave_no_trace(
    data: st.DataObject, seed: int, class_prior: str
) -> None:
    X, y = turning(seed, 80)
    whole = small(forgetting=6.5, class_prior=class_prior)
    parts = copy.deepcopy(whole)
    expected = whole.predict_then_learn(X, y, classes=[0, 1])
    predictions = []
    for rows in data.draw(cuts(80)):
        predictions += parts.predict_then_learn(
            X[rows], y[rows], classes=[0, 1]
        ).tolist()
        parts = copy.deepcopy(parts)
    assert predictions == expected.tolist()
    assert state_of(parts) == state_of(whole)


@pytest.mark.parametrize("class_prior", ["uniform", "frequency"])
def test_a_file_keeps_the_window(tmp_path: Path, class_prior: str) -> None:
    X, y = turning(2)
    model = small(forgetting=np.float32(12.5), class_prior=class_prior)
    model.partial_fit(X[:300], y[:300]).save(tmp_path / "model")
    loaded = RPNBClassifier.load(tmp_path / "model")
    assert loaded.forgetting == 12.5
    assert state_of(loaded) == state_of(model)
    for one in (model, loaded):
        one.partial_fit(X[300:], y[300:])
    assert state_of(loaded) == state_of(model)


def test_a_window_that_lasts_longer_than_doubles_forgets_nothing() -> None:
    X, y = turning(3)
    plain, endless = small().fit(X, y), small(forgetting=1e17).fit(X, y)
    assert state_of(endless) == state_of(plain)


def test_the_window_is_part_of_the_model() -> None:
    X, y = turning(4)
    model = small(forgetting=10).fit(X, y)
    with pytest.raises(ValueError, match="forgetting was 10 when learning began"):
        model.set_params(forgetting=20).partial_fit(X, y)


def test_pooled_models_add_up_what_they_have_left() -> None:
    X, y = turning(5)
    one, other = (
        small(forgetting=15, update="all").partial_fit(X[rows], y[rows])
        for rows in (slice(300), slice(300, 600))
    )
    left = [part._state.moments.weight.copy() for part in (one, other)]
    assert_allclose(left, 15.0, rtol=1e-3)
    one.merge(other)
    assert_array_equal(one._state.moments.weight, left[0] + left[1])
    # And keep fading from there.
    one.partial_fit(X, y)
    assert_allclose(one._state.moments.weight, 15.0, rtol=1e-6)


@pytest.mark.parametrize("forgetful", [0, 1, 2])
def test_what_is_left_of_a_base_cannot_be_told(forgetful: int) -> None:
    X, y = turning(6)
    windows = [50.0 if i == forgetful else None for i in range(3)]
    model, other, base = (small(forgetting=window).fit(X, y) for window in windows)
    before = snapshot(model)
    name = ("this model", "other", "base")[forgetful]
    with pytest.raises(
        ValueError, match=rf"{name} has forgetting=50\.0, so it is unknown"
    ):
        model.merge(other, base=base)
    assert snapshot(model) == before
    model.merge(other)
