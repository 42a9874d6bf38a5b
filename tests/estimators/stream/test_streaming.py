"""The common part of all stream classifiers, tested on the simplest one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from estimators.streams import FAMILIES, blobs, rows
from rpnb import RPNBClassifier, baselines
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.schema import StateSchema, reals
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.learner import Learner, Shapes

X, y = blobs(1, 80)


@final
class Majority(StreamClassifier):
    """Predicts the class that was most frequent so far; its state is their counts."""

    last: Any

    def __init__(self, handicap: float = 0.0) -> None:
        self.handicap = handicap

    def _learner(self) -> "CountLearner":
        return CountLearner(self)


@final
@dataclass
class CountLearner(Learner[FloatArray]):
    given: Majority

    accepts_sparse = True

    def begin(self, p: int, classes: NDArray[Any], declared: IntArray) -> FloatArray:
        unseen = np.full(classes.shape[0], -1)
        return self.grow(np.zeros(0), unseen, classes, declared)

    def grow(
        self,
        state: FloatArray,
        source: IntArray,
        classes: NDArray[Any],
        declared: IntArray,
    ) -> FloatArray:
        counts = np.where(source >= 0, np.append(state, 0.0)[source], -np.inf)
        counts[declared] = np.maximum(counts[declared], 0.0)
        return counts

    def learn(
        self,
        state: FloatArray,
        X: Any,
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        self.given.last = X
        for i, m in enumerate(y):
            if labels is not None:
                labels[i] = state.argmax() if state.max() >= 0 else -1
            state[m] = max(state[m], 0.0) + weight[i % weight.shape[0]]

    def classify(self, state: FloatArray, X: NDArray[Any]) -> IntArray:
        return np.full(X.shape[0], state.argmax())

    def row_counts(self, state: FloatArray) -> tuple[int, int]:
        total = int(np.maximum(state, 0.0).sum())
        return total, total

    def export(self, state: FloatArray) -> tuple[dict[str, Any], Any]:
        return {}, {"counts": state}

    def schema(self, state: Any, shapes: Shapes, M: int, p: int) -> StateSchema:
        return StateSchema({"counts": reals(M, infinite=True)})

    def restore(
        self, metadata: dict[str, Any], arrays: Any, classes: Any, p: int
    ) -> FloatArray:
        counts: FloatArray = arrays["counts"]
        return counts

    def copy(self, state: FloatArray) -> FloatArray:
        return state.copy()


def test_the_shared_part_alone_is_no_classifier() -> None:
    with pytest.raises(TypeError, match="abstract"):
        StreamClassifier()


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_are_numbered_whatever_they_are_and_whenever_they_come(
    family: str,
) -> None:
    labels = FAMILIES[family][y]
    whole, single = Majority(), Majority()
    predictions = whole.predict_then_learn(X, labels)
    one_by_one = [single.predict_then_learn(X[c], labels[c])[0] for c in rows(80)]
    assert predictions.tolist() == one_by_one
    assert_array_equal(whole._state, np.bincount(y))
    assert_array_equal(single._state, np.bincount(y))
    assert (whole.n_samples_seen_, whole.n_updates_) == (80, 80)
    most = FAMILIES[family][np.bincount(y).argmax()]
    assert whole.predict(X[:2]).tolist() == [most, most]


def test_classes_can_be_declared_at_any_time() -> None:
    model = Majority().partial_fit(X, y, classes=[-5])
    assert_array_equal(model._state, [0, *np.bincount(y)])
    assert model.partial_fit(X, y, classes=[7, 7]).classes_.tolist() == [-5, 0, 1, 2, 7]
    assert Majority().fit(X[:1], ["only"]).predict(X[:1]).tolist() == ["only"]


def test_what_may_change_is_for_the_classifier_to_say() -> None:
    model = Majority().fit(X, y).set_params(handicap=1.0)
    with pytest.raises(ValueError, match=r"handicap was 0\.0 when learning began"):
        model.partial_fit(X, y)
    assert model.fit(X, y).n_samples_seen_ == 80


def test_weights_are_for_those_that_can_weigh() -> None:
    with pytest.raises(TypeError, match="sample_weight"):
        Majority().fit(X, y, sample_weight=np.ones(80))  # type: ignore[call-arg]


# Sparse rows


def test_sparse_rows_are_taken_by_those_that_say_so() -> None:
    assert Majority().__sklearn_tags__().input_tags.sparse
    assert RPNBClassifier().__sklearn_tags__().input_tags.sparse
    assert not baselines.make("AROW").__sklearn_tags__().input_tags.sparse
    for form in (
        scipy.sparse.csr_array,
        scipy.sparse.csc_array,
        scipy.sparse.csr_matrix,
    ):
        model = Majority().fit(form(X.astype(np.float32)), y)
        assert model.predict(form(X)).shape == (80,)
        assert model.n_features_in_ == 4
        with pytest.raises(ValueError, match="X has 3 features, but Majority is"):
            model.predict(form(X[:, :3]))


def test_sparse_rows_arrive_row_after_row_and_without_doubles() -> None:
    data, place = [1.0, 2.0, 4.0, 8.0], [[0, 0, 1, 1], [2, 2, 3, 0]]
    rows = scipy.sparse.coo_array((data, place), (2, 4))
    doubled = scipy.sparse.csr_array((data, [2, 2, 3, 0], [0, 2, 4]), (2, 4))
    model = Majority()
    for X in (rows, doubled):
        model.fit(X, ["a", "b"])
        assert type(model.last) is scipy.sparse.csr_array
        assert model.last.has_canonical_format
        assert model.last.toarray().tolist() == [[0, 0, 3, 0], [8, 0, 0, 4]]
    assert doubled.nnz == 4  # the caller's own is left alone


@pytest.mark.parametrize(
    ("value", "what"), [(np.nan, "NaN"), (-np.inf, "infinity"), (2e150, "the value 2e")]
)
def test_a_bad_value_in_sparse_rows_is_named_with_its_place(
    value: float, what: str
) -> None:
    rows = np.zeros((6, 5))
    rows[1, 0] = rows[3, 1] = 1.0
    rows[3, 4] = value
    rows[5, 0] = np.nan
    model = Majority().fit(np.ones((6, 5)), [1, 2, 3, 1, 2, 3])
    for ask in (model.predict, lambda rows: model.partial_fit(rows, [1] * 6)):
        with pytest.raises(ValueError, match=rf"{what}.* \(row 3, column 4\)"):
            ask(scipy.sparse.csr_array(rows))
    assert model.n_samples_seen_ == 6


# Files


def test_any_classifier_is_saved_and_loaded(tmp_path: Path) -> None:
    model = Majority(handicap=0.5).fit(X, y)
    model.save(tmp_path / "model")
    loaded = Majority.load(tmp_path / "model")
    assert_array_equal(loaded._state, model._state)
    assert loaded.get_params() == {"handicap": 0.5}
    with pytest.raises(ModelFileError, match=r"a Majority, .* load it with Majority"):
        RPNBClassifier.load(tmp_path / "model")
