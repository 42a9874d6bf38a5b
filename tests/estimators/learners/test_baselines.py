"""Properties that all baseline learners have."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from sklearn.naive_bayes import GaussianNB as OfflineGaussianNB

from estimators.streams import Stream, blobs
from learners import TWO_CLASS
from oracles.linear import linear_pass_plain
from rpnb import baselines
from rpnb.core.linear import ALGORITHMS, blank_state, make_algorithm
from rpnb.estimators.learners.linear import LinearLearner
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.stream.classifier import StreamClassifier

LINEAR = [
    name
    for name in baselines.names()
    if isinstance(baselines.make(name)._learner(), LinearLearner)
]
GROWING = [name for name in baselines.names() if name not in TWO_CLASS]


def make(name: str, **parameters: Any) -> StreamClassifier:
    """A learner by name, with a fixed seed if it is random."""
    if name in ("OnlineBagging", "OnlineBoosting"):
        parameters = {"random_state": 0, "grace_period": 20.0, **parameters}
    return baselines.make(name, **parameters)


def stream_for(name: str, seed: int = 1, n: int = 80) -> Stream:
    return blobs(seed, n, M=2 if name in TWO_CLASS else 3)


def arrays_of(model: StreamClassifier) -> dict[str, Any]:
    return model._learner().export(model._state)[1]


def assert_same(one: StreamClassifier, two: StreamClassifier) -> None:
    mine, theirs = arrays_of(one), arrays_of(two)
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        assert_array_equal(array, theirs[name], err_msg=name)
    assert (one.n_samples_seen_, one.n_updates_) == (
        two.n_samples_seen_,
        two.n_updates_,
    )


@pytest.mark.parametrize("name", GROWING)
def test_a_class_may_appear_at_any_time(name: str) -> None:
    X, y = stream_for(name)
    y = y[np.argsort(y > 1, kind="stable")]  # class 2 comes last
    model = make(name)
    found = model.predict_then_learn(X, y)
    assert found[0] is None
    assert_array_equal(model.classes_, [0, 1, 2])
    first = int(np.argmax(y == 2))
    assert 2 not in found[: first + 1].tolist()


@pytest.mark.parametrize("name", TWO_CLASS)
def test_a_third_class_is_refused_and_changes_nothing(name: str) -> None:
    X, y = stream_for(name)
    model = make(name).fit(X, y)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="cannot add another"):
        model.partial_fit(X[:1], [7])
    assert_same(model, before)
    assert_array_equal(model.classes_, [0, 1])
    with pytest.raises(ValueError, match="Only binary classification"):
        make(name).partial_fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="no multi-class form"):
        make(name, form="multiclass").fit(X, y)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, "two_class") for name in LINEAR),
        *((name, "multiclass") for name in LINEAR if name not in TWO_CLASS),
    ],
)
def test_a_linear_learner_is_its_plain_twin(name: str, form: str) -> None:
    X, y = blobs(5, 60, M=2 if form == "two_class" else 3)
    model = make(name, form=form)
    found = model.predict_then_learn(X, y, classes=np.unique(y))
    chosen = make_algorithm(ALGORITHMS[name], two_class=form == "two_class")
    state = blank_state(chosen, np.unique(y).size, 4)
    state.eligible[:] = True
    expected = np.empty(60, np.int64)
    updates = linear_pass_plain(chosen, state, X, y, True, expected)
    assert_array_equal(found, expected)
    assert model.n_updates_ == updates


@pytest.mark.parametrize("name", LINEAR)
def test_the_largest_decision_is_the_prediction(name: str) -> None:
    X, y = stream_for(name)
    model = make(name).fit(X, y)
    decision = model.decision_function(X)
    two = decision.ndim == 1
    best = (decision > 0).astype(int) if two else decision.argmax(axis=1)
    assert_array_equal(model.classes_[best], model.predict(X))


def test_two_declared_classes_choose_the_two_class_form() -> None:
    X, y = blobs(3, 60, M=2)
    fitted = make("PA").fit(X, y)
    assert arrays_of(fitted)["W"].shape == (1, 4)
    undeclared = make("PA").partial_fit(X, y)
    assert arrays_of(undeclared)["W"].shape == (2, 4)
    assert undeclared.decision_function(X).shape == (60,)
    with pytest.raises(ValueError, match="needs exactly two classes"):
        make("PA", form="two_class").partial_fit(X, y)


@pytest.mark.parametrize("make_sparse", [csr_matrix, csr_array])
def test_sparse_rows_give_what_dense_rows_give(make_sparse: Any) -> None:
    X, y = blobs(4, 70)
    X = X * (np.random.default_rng(0).random(X.shape) < 0.4)
    for name in LINEAR:
        model = make(name)
        if name in TWO_CLASS or not model._learner().accepts_sparse:
            continue
        expected = make(name).predict_then_learn(X, y, classes=[0, 1, 2])
        sparse = make_sparse(X)
        found = model.predict_then_learn(sparse, y, classes=[0, 1, 2])
        assert_array_equal(found, expected)
        assert_array_equal(model.predict(sparse), model.predict(X))


def test_bad_values_in_sparse_rows_are_named() -> None:
    X = csr_array(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, np.nan]]))
    with pytest.raises(ValueError, match=r"NaN \(row 1, column 2\)"):
        make("PA").fit(X, [0, 1])
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        make("AROW").fit(csr_array(np.eye(2)), [0, 1])


def test_repeated_entries_of_a_sparse_row_are_added_up_in_a_copy() -> None:
    repeated = csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), (2, 2)
    )
    model = make("PA").fit(repeated, [0, 1])
    assert_array_equal(
        arrays_of(model)["W"],
        arrays_of(make("PA").fit(np.array([[3.0, 0.0], [0.0, 4.0]]), [0, 1]))["W"],
    )
    assert repeated.data.shape == (3,)


def test_naive_bayes_is_scikit_learns_on_the_whole() -> None:
    X, y = blobs(8, 300)
    model = make("GaussianNB").fit(X, y)
    offline = OfflineGaussianNB(var_smoothing=0.0).fit(X, y)
    assert_array_equal(model.predict(X), offline.predict(X))
    assert_allclose(
        model.predict_proba(X),
        offline.predict_proba(X),
        rtol=1e-7,
    )


def test_naive_bayes_takes_weights_as_repetitions() -> None:
    X, y = blobs(8, 40)
    times = np.random.default_rng(0).integers(0, 4, 40)
    weighted = make("GaussianNB")
    weighted.fit(X, y, sample_weight=times)  # type: ignore[call-arg]
    repeated = make("GaussianNB").fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(
        arrays_of(weighted)["scatter"], arrays_of(repeated)["scatter"], rtol=1e-9
    )
    assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_without_a_vote_all_classes_have_the_same_share() -> None:
    # Far from all a leaf has seen, a product of densities is zero for every class.
    X, y = blobs(8, 60)
    model = make("OnlineBagging", density="product", leaf="naive_bayes").fit(X, y)
    far = model.predict_proba(np.full((1, 4), 1e6))
    assert_allclose(far, 1 / 3)
    assert model.predict(np.full((1, 4), 1e6))[0] == 0


def test_a_forest_that_does_not_fit_its_file_is_refused(tmp_path: Path) -> None:
    X, y = blobs(8, 200)
    model = make("OnlineBagging").fit(X, y)
    assert model._state.forest.splits.max() > 0
    model._state.forest.splits[0] = 10**6
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="'splits' holds 1000000 at"):
        type(model).load(tmp_path / "model")


def test_naive_bayes_members_never_split() -> None:
    X, y = blobs(8, 200)
    model = make("OnlineBagging", base="gaussian_nb").fit(X, y)
    assert model._state.forest.splits.max() == 0


def test_majority_and_no_change_are_what_they_say() -> None:
    X, y = np.zeros((6, 1)), ["b", "a", "a", "c", "c", "c"]
    majority = make("MajorityClass").predict_then_learn(X, y)
    assert majority.tolist() == [None, "b", "a", "a", "a", "a"]
    last = make("NoChange").predict_then_learn(X, y)
    assert last.tolist() == [None, "b", "a", "a", "c", "c"]
    declared = make("NoChange").predict_then_learn(X, y, classes=["a", "b"])
    assert declared[0] == "a"


def test_an_unknown_learner_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="'Perceptron'"):
        baselines.make("Perceptrom")


@pytest.mark.parametrize("name", baselines.names())
@pytest.mark.parametrize("kind", ["huge", "zero", "constant", "repeated", "tiny"])
def test_no_rows_spoil_the_state(name: str, kind: str) -> None:
    X, y = stream_for(name)
    X = {
        "huge": X * 1e149,
        "zero": X * 0.0,
        "constant": np.ones_like(X),
        "repeated": np.repeat(X[:4], 20, axis=0),
        "tiny": X * 1e-150,
    }[kind]
    model = make(name).fit(X, y)
    numbers = [array for array in arrays_of(model).values() if array.dtype.kind == "f"]
    assert not any(np.isnan(array).any() for array in numbers)
    if isinstance(model._learner(), LinearLearner):
        assert all(np.isfinite(array).all() for array in numbers)
    assert np.isin(model.predict(X), model.classes_).all()


def test_votes_beyond_doubles_become_probabilities_of_the_predicted_label() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = 1e-3 * rng.standard_normal((60, 200)) + 1e-4 * y[:, None]
    moa = baselines.OnlineBagging(3, density="product", random_state=0)
    moa.set_params(shuffle=False).fit(X, y)
    beyond = ~np.isfinite(moa._learner()._votes(moa._state, X)).all(axis=1)
    assert beyond.any()
    shares = moa.predict_proba(X)
    assert_array_equal(shares[beyond].max(axis=1), 1.0)
    assert_array_equal(shares.sum(axis=1), 1.0)
    assert_array_equal(moa.classes_[shares.argmax(axis=1)], moa.predict(X))
    sound = baselines.OnlineBagging(3, random_state=0).fit(X, y).predict_proba(X)
    assert np.isfinite(sound).all()
