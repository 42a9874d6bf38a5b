"""Labels of any delay: the pool learns from the scores of the predictions."""

from collections import deque
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

from estimators.snapshots import snapshot
from oracles.pooled.late import pool_of
from rpnb import PooledClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.engine import prepare_rows
from rpnb.estimators import waiting_rows
from rpnb.estimators.protocol import initialise
from rpnb.estimators.saving.files import ModelFileError, read_model, write_model

FEW = ["binned_bayes", "neighbours", "transitions"]


def turning(n: int, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Return three classes that move around a circle."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    turn = 2.0 * np.pi * (y / 3.0 + np.arange(n) / 500.0)
    centre = 1.5 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return rng.normal(size=(n, 2)) + centre, y


X, Y = turning(400)


def begun(members: Any = "all", **options: Any) -> PooledClassifier:
    model = PooledClassifier(members, random_state=0, **options)
    initialise(model, 2, np.arange(3))
    return model


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 7.3, 1: 0.37}])
@pytest.mark.parametrize("delay", [1, 2, 5, 8])
def test_equal_delays_give_the_bits_of_a_constant_delay(
    delay: int, class_weight: Any
) -> None:
    # Members behind learn row by row up to a delay of 8; beyond, they lag by up to 63
    # rows more.
    weights = {"class_weight": class_weight}
    constant = begun(delay=delay, **weights)
    varying = begun(delay=delay, delays="varying", **weights)
    waiting: deque[tuple[int, int]] = deque()
    for t in range(len(Y)):
        row = X[t : t + 1]
        labels, ids = varying.predict_later(row)
        assert_array_equal(labels, constant.predict_next(row))
        waiting.append((t, int(ids[0])))
        if len(waiting) >= delay:
            s, i = waiting.popleft()
            constant.partial_fit(X[s : s + 1], Y[s : s + 1])
            varying.learn_later([i], Y[s : s + 1])
    assert_array_equal(constant.predict_next_proba(X), varying.predict_next_proba(X))
    assert constant.weights_ == varying.weights_
    assert constant.member_errors_ == varying.member_errors_
    told = begun(**weights).partial_fit(X[: len(Y) - delay], Y[: len(Y) - delay])
    if delay > 1:  # the negative control
        assert told.weights_ != varying.weights_


@pytest.mark.parametrize("seed", range(3))
def test_the_pool_is_that_of_the_twin_which_learns_the_scores_of_the_time(
    seed: int,
) -> None:
    """The oracle gets the scores of copies with the labels known at that time."""
    rng = np.random.default_rng(seed)
    n = 90
    arrival = np.arange(n) + rng.integers(0, 30, n)
    model = begun(FEW, delays="varying")
    first = np.array(list(model.weights_.values()))
    then, now, learned, ids = {}, [], [], {}

    def scores_of(row: int) -> FloatArray:
        state = model._state
        rows, parts = prepare_rows(state, X[row : row + 1]), []
        for module, part in zip(state.modules, state.states, strict=True):
            found = np.zeros((1, len(module.OUTPUTS), 3))
            module.score_rows(part, rows, found)
            parts.append(found[0])
        return np.concatenate(parts)

    for t in range(n):
        then[t] = scores_of(t)
        ids[t] = model.predict_later(X[t : t + 1])[1]
        for s in np.flatnonzero(arrival == t):
            now.append(scores_of(int(s)))
            model.learn_later(ids[int(s)], Y[s : s + 1])
            learned.append(int(s))
    scores = np.array([then[s] for s in learned])
    twin = pool_of(first, scores, np.array(now), Y[learned], 0)
    assert len(learned) > 50
    assert learned != sorted(learned)
    np.testing.assert_allclose(
        list(model.weights_.values()), twin.weights_in_use(), rtol=1e-9, atol=1e-12
    )


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.data())
def test_nothing_depends_on_how_rows_and_labels_are_cut(
    seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    one, many = begun(FEW, delays="varying"), begun(FEW, delays="varying")
    done = 0
    for _ in range(4):
        n = data.draw(st.integers(1, 40))
        part = slice(done, done + n)
        labels, ids = many.predict_later(X[part])
        single = [one.predict_later(X[i : i + 1]) for i in range(done, done + n)]
        assert_array_equal(labels, np.concatenate([each[0] for each in single]))
        assert_array_equal(ids, np.concatenate([each[1] for each in single]))
        done += n
        some = rng.permutation(many.waiting_)[: data.draw(st.integers(0, 40))]
        many.learn_later(some, Y[some])
        for i in some:
            one.learn_later([i], Y[i : i + 1])
    assert_array_equal(one.predict_next_proba(X), many.predict_next_proba(X))
    assert_array_equal(one.waiting_, many.waiting_)
    assert snapshot(one) == snapshot(many)


def test_a_saved_model_has_the_rows_that_wait(tmp_path: Path) -> None:
    model = begun(FEW, delays="varying", delay=20)
    _, ids = model.predict_later(X[:50])
    model.learn_later(ids[::3], Y[:50:3])
    path = tmp_path / "model.rpnb"
    model.save(path)
    loaded = PooledClassifier.load(path)
    assert_array_equal(loaded.waiting_, model.waiting_)
    left = model.waiting_
    for each in (model, loaded):
        each.learn_later(left, Y[left])
        assert_array_equal(each.predict_later(X[50:60])[1], np.arange(50, 60))
    assert_array_equal(model.predict_next_proba(X), loaded.predict_next_proba(X))


@pytest.mark.parametrize("what", ["order", "number", "infinite"])
def test_forged_rows_are_refused(what: str, tmp_path: Path) -> None:
    model = begun(FEW, delays="varying")
    model.predict_later(X[:5])
    path = tmp_path / "model.rpnb"
    model.save(path)
    metadata, arrays = read_model(path)
    if what == "order":
        arrays["waiting.ids"][1] = 0
    elif what == "number":
        arrays["waiting.number"][0] = 2
    else:
        arrays["waiting.scores"][0, 0, 0] = np.inf
    write_model(path, metadata, arrays)
    with pytest.raises(ModelFileError, match="waiting rows"):
        PooledClassifier.load(path)


def test_a_class_that_appears_meanwhile_has_no_score() -> None:
    model = PooledClassifier(FEW, delays="varying", random_state=0)
    model.partial_fit(X[:40], np.where(Y[:40] == 2, 0, Y[:40]) + 5)
    _, ids = model.predict_later(X[40:100])
    labels = np.array([3, 6, 7])[Y[40:100]]  # 3 and 7 are new, 5 was there
    model.learn_later(ids[:30], labels[:30])
    assert model.classes_.tolist() == [3, 5, 6, 7]
    _, scores = waiting_rows.rows_waiting(model).get(ids[30:].tolist())
    assert np.isneginf(scores[:, :, [0, 3]]).all()
    assert np.isfinite(scores[:, :, [1, 2]]).all()
    model.learn_later(ids[30:], labels[30:])
    assert np.isfinite(model.predict_next_proba(X)).all()
    assert model.n_samples_seen_ == 100


def test_old_rows_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_rows, "MOST_WAITING", 30)
    model = begun(FEW, delays="varying")
    model.predict_later(X[:25])
    model.predict_later(X[25:50])
    assert_array_equal(model.waiting_, np.arange(20, 50))
    with pytest.raises(ValueError, match="19 do not"):
        model.learn_later([19], [0])


def test_tables_with_categories_wait_too() -> None:
    rng = np.random.default_rng(2)
    words = np.array(["ant", "bee", "cat", "dog"])[rng.integers(0, 4, 200)]
    frame = pandas.DataFrame({"a": rng.normal(size=200), "b": words})
    y = (frame["b"].isin(["ant", "bee"]) ^ (rng.random(200) < 0.1)).to_numpy()
    # At once, the scores are those of learning: nothing may differ.
    plain = PooledClassifier(FEW, random_state=0)
    later = PooledClassifier(FEW, delays="varying", random_state=0)
    for model in (plain, later):
        model.partial_fit(frame[:5], y[:5], classes=[False, True])
    for t in range(5, 200):
        row = frame[t : t + 1]
        _, ids = later.predict_later(row)
        plain.partial_fit(row, y[t : t + 1])
        later.learn_later(ids, y[t : t + 1])
    assert_array_equal(plain.predict_next_proba(frame), later.predict_next_proba(frame))


def test_what_is_wrong_is_said_and_changes_nothing() -> None:
    model, other = (begun(FEW, delays="varying") for _ in range(2))
    for each in (model, other):
        each.predict_later(X[:10])
    with pytest.raises(ValueError, match="10, 11 do not"):
        model.learn_later([1, 10, 11], Y[:3])
    with pytest.raises(ValueError, match="twice"):
        model.learn_later([1, 1], Y[:2])
    with pytest.raises(ValueError, match="one label for each id"):
        model.learn_later([1, 2], Y[:3])
    with pytest.raises(TypeError, match="numbers that predict_later"):
        model.learn_later(["a"], Y[:1])
    with pytest.raises(ValueError, match="sample_weight"):
        model.learn_later([1], Y[:1], sample_weight=[0.0])
    with pytest.raises(TypeError, match="dense"):
        model.predict_later(csr_matrix(X))
    with pytest.raises(ValueError, match="delays must be one of"):
        PooledClassifier(delays=cast(Any, "some")).fit(X, Y)
    with pytest.raises(ValueError, match="can be merged"):
        model.merge(other)
    model.learn_later([], [])
    assert snapshot(model) == snapshot(other)


@pytest.mark.parametrize("method", ["predict_later", "learn_later"])
def test_only_a_pool_with_varying_delays_has_the_methods(method: str) -> None:
    model = begun(FEW)
    assert not hasattr(model, method)
    with pytest.raises(AttributeError, match=f"no attribute '{method}'") as refused:
        getattr(model, method)
    expected = f"{method} needs delays='varying', got delays='constant'"
    assert str(refused.value.__cause__) == expected
    assert hasattr(model.set_params(delays="varying"), method)


def test_fit_forgets_the_rows_that_wait() -> None:
    model = begun(FEW, delays="varying")
    model.predict_later(X[:10])
    assert model.fit(X, Y).waiting_.shape == (0,)
