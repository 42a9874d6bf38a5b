"""Sparse rows and the distributions for wide data, through the estimator."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from estimators.snapshots import state_of
from estimators.streams import Stream, blobs, cuts, rules, seeds, small
from rpnb import RPNBClassifier
from rpnb.core.projection import record as models
from rpnb.core.projection.matrices import DISTRIBUTIONS, Distribution
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.model_parts import model_to_arrays

pandas = pytest.importorskip("pandas")

FORMS: dict[str, Any] = {
    "csr_array": scipy.sparse.csr_array,
    "csr_matrix": scipy.sparse.csr_matrix,
    "csc_array": scipy.sparse.csc_array,
    "csc_matrix": scipy.sparse.csc_matrix,
    "coo_array": scipy.sparse.coo_array,
    "pandas": lambda X: pandas.DataFrame(X).astype(pandas.SparseDtype(float, 0.0)),
}
distributions = st.sampled_from(DISTRIBUTIONS)
forms = st.sampled_from(sorted(FORMS))


def thin(seed: int, n: int = 60, p: int = 11, M: int = 3) -> Stream:
    X, y = blobs(seed, n, p, M)
    kept = np.random.default_rng(seed).random((n, p)) < 0.4
    return Stream(X * kept, y)


@pytest.fixture(autouse=True)
def _never_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("sparse rows were made dense")

    for form in ("csr", "csc", "coo"):
        for kind in ("array", "matrix"):
            for method in ("toarray", "todense"):
                owner = getattr(scipy.sparse, f"{form}_{kind}")
                monkeypatch.setattr(owner, method, refuse)


@given(st.data(), seeds, distributions, rules, forms)
def test_sparse_rows_give_the_bits_of_dense_ones_however_cut(
    data: st.DataObject, seed: int, distribution: Distribution, rule: Any, form: str
) -> None:
    n = data.draw(st.integers(1, 50))
    X, y = thin(seed, n, p=data.draw(st.integers(1, 20)))
    batch_size = data.draw(st.sampled_from([1, 1, 7]))
    parameters = {
        "projection": distribution,
        "combiner": rule,
        "batch_size": batch_size,
    }
    dense, sparse = small(**parameters), small(**parameters)
    make = FORMS[form]
    for c in data.draw(cuts(n)):
        expected = dense.predict_then_learn(X[c], y[c])
        found = sparse.predict_then_learn(make(X[c]), y[c])
        assert found.tolist() == expected.tolist()
    assert state_of(sparse) == state_of(dense)
    for method in (
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
    ):
        expected = getattr(dense, method)(X)
        assert_array_equal(getattr(sparse, method)(make(X)), expected)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("update", ["mistakes", "all"])
def test_fit_and_partial_fit_learn_sparse_rows_as_dense_ones(
    distribution: Distribution, update: Any
) -> None:
    X, y = thin(3)
    weight = np.random.default_rng(0).integers(0, 3, 60)
    dense, sparse = (small(projection=distribution, update=update) for _ in range(2))
    dense.fit(X, y, weight).partial_fit(X, y)
    rows = scipy.sparse.csr_matrix(X)
    sparse.fit(rows, y, weight).partial_fit(rows, y)
    assert state_of(sparse) == state_of(dense)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_predictions_are_those_made_before_learning(distribution: Distribution) -> None:
    X, y = thin(4)
    rows = scipy.sparse.csr_array(X)
    model = small(projection=distribution)
    model.predict_then_learn(rows[:20], y[:20], classes=[0, 1, 2])
    before = deepcopy(model)
    predicted = model.predict_then_learn(rows[20:21], y[20:21])
    assert predicted.tolist() == before.predict(X[20:21]).tolist()


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_predict_one_and_learn_one_agree_with_predict_then_learn(
    distribution: Distribution,
) -> None:
    X, y = thin(5)
    singly, at_once = small(projection=distribution), small(projection=distribution)
    expected = at_once.predict_then_learn(X, y, classes=[0, 1, 2])
    singly.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    for i in range(1, 60):
        assert singly.predict_one(X[i]) == expected[i]
        singly.learn_one(X[i], y[i])
    assert state_of(singly) == state_of(at_once)


def test_the_callers_matrix_is_left_alone() -> None:
    # Unsorted, with an entry given in two parts, and a zero.
    data, indices = np.array([1.0, 2.0, 4.0, 0.0]), np.array([3, 1, 3, 0])
    rows = scipy.sparse.csr_array((data, indices, [0, 3, 4]), (2, 4))
    model = small().fit(rows, [0, 1])
    assert_array_equal(rows.data, [1.0, 2.0, 4.0, 0.0])
    assert_array_equal(rows.indices, [3, 1, 3, 0])
    same = small().fit(np.array([[0.0, 2.0, 0.0, 5.0], [0.0] * 4]), [0, 1])
    assert state_of(model) == state_of(same)


def test_a_model_knows_the_column_names_of_sparse_frames() -> None:
    X, y = thin(6, p=3)
    frame = pandas.DataFrame(X, columns=list("abc"))
    frame = frame.astype(pandas.SparseDtype(float, 0.0))
    model = small().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c"]])


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_file_holds_the_seed_and_gives_the_same_model(
    distribution: Distribution, tmp_path: Path
) -> None:
    X, y = thin(7, p=100)
    rows = scipy.sparse.csr_array(X)
    model = small(projection=distribution, n_estimators=40).fit(rows, y)
    model.save(tmp_path / "model")
    statistics = sum(part.nbytes for part in model._state.moments)
    assert (tmp_path / "model").stat().st_size < statistics + 10_000
    loaded = RPNBClassifier.load(tmp_path / "model")
    assert state_of(loaded) == state_of(model)
    assert_array_equal(loaded.predict(rows), model.predict(X))
    assert state_of(deepcopy(model)) == state_of(model)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_file_whose_seed_draws_other_projections_is_refused(
    distribution: Distribution, tmp_path: Path
) -> None:
    X, y = thin(8)
    model = small(projection=distribution).fit(X, y)
    object.__setattr__(model._state.projection, "seed", 4)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="are not those of the saved model"):
        RPNBClassifier.load(tmp_path / "model")


def test_a_matrix_that_is_not_kept_has_a_checksum_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = thin(8)
    monkeypatch.setattr(models, "LARGEST_MATRIX", 0)
    model = small().fit(X, y)
    model.save(tmp_path / "model")
    assert state_of(RPNBClassifier.load(tmp_path / "model")) == state_of(model)
    checksums = {
        model_to_arrays(
            small(projection=distribution, random_state=seed).fit(X, y)._state
        )[0]["fingerprint"]
        for distribution in DISTRIBUTIONS
        for seed in (1, 2)
    }
    assert len(checksums) == 10


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_shards_of_sparse_streams_are_merged(distribution: Distribution) -> None:
    X, y = thin(9)
    rows = scipy.sparse.csr_array(X)
    base = small(projection=distribution).fit(rows[:20], y[:20])
    parts = []
    for kind in (rows, X):
        left, right = deepcopy(base), deepcopy(base)
        left.partial_fit(kind[20:40], y[20:40])
        right.partial_fit(kind[40:], y[40:])
        parts.append(left.merge(right, base=base))
    assert state_of(parts[0]) == state_of(parts[1])
    with pytest.raises(ValueError, match="has different projections"):
        base.merge(small(projection=distribution, random_state=8).fit(X, y))


def test_a_matrix_that_is_not_kept_is_drawn_again_to_the_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = thin(10, p=300)
    kept = small(n_estimators=20)
    expected = kept.predict_then_learn(X, y)
    monkeypatch.setattr(models, "LARGEST_MATRIX", 1000)
    for rows in (X, scipy.sparse.csr_array(X)):
        drawn = small(n_estimators=20)
        assert drawn.predict_then_learn(rows, y).tolist() == expected.tolist()
        assert drawn._state.projection.R.shape[0] == 0
        assert_array_equal(drawn.predict_proba(rows), kept.predict_proba(X))


def test_a_million_columns_need_little_memory() -> None:
    n, p = 40, 1_000_000
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, p, (n, 20)), axis=1)
    starts = np.arange(n + 1) * 20
    n_bytes_of_matrix = p * 10 * 39 * 4  # members, dimensions, single precision
    X = scipy.sparse.csr_array((np.ones(n * 20), columns.ravel(), starts), (n, p))
    y = np.arange(n) % 2
    for distribution in ("very_sparse", "gaussian"):
        model = RPNBClassifier(10, projection=distribution, random_state=0)
        model.predict_then_learn(X, y)
        assert model.n_components_ == 39
        projection = model._state.projection
        entries: Any = projection.structure or ()
        held = sum(np.asarray(part).nbytes for part in (projection.R, *entries))
        assert held < 64e6 < n_bytes_of_matrix
