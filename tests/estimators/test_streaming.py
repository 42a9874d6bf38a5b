"""What every classifier of a stream shares, shown on the simplest one there is."""

from pathlib import Path
from typing import Any, final

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from estimators.streams import FAMILIES, blobs, rows
from rpnb import RPNBClassifier
from rpnb.core.arrays import FloatArray, IntArray
from rpnb.estimators.persistence import ModelFileError, take_array
from rpnb.estimators.streaming import StreamClassifier

X, y = blobs(1, 80)


@final
class Majority(StreamClassifier[FloatArray]):
    """Answers the class that was most frequent so far; its state is their counts."""

    def __init__(self, handicap: float = 0.0) -> None:
        self.handicap = handicap

    def _begin(self, p: int) -> FloatArray:
        return np.zeros(0)

    def _check_unchanged(self) -> None:
        pass

    def _arrange(
        self,
        state: FloatArray,
        source: IntArray,
        classes: NDArray[Any],
        declared: IntArray,
    ) -> FloatArray:
        counts = np.where(source >= 0, np.append(state, 0.0)[source], -np.inf)
        counts[declared] = np.maximum(counts[declared], 0.0)
        return counts

    def _learn(
        self,
        state: FloatArray,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        for i, m in enumerate(y):
            if labels is not None:
                labels[i] = state.argmax() if state.max() >= 0 else -1
            state[m] = max(state[m], 0.0) + weight[i % weight.shape[0]]

    def _classify(self, state: FloatArray, X: NDArray[Any]) -> IntArray:
        return np.full(X.shape[0], state.argmax())

    def _tally(self, state: FloatArray) -> tuple[int, int]:
        total = int(np.maximum(state, 0.0).sum())
        return total, total

    def _dump(self, state: FloatArray) -> tuple[dict[str, Any], Any]:
        return {}, {"counts": state}

    def _restore(
        self, metadata: dict[str, Any], arrays: Any, M: int, p: int
    ) -> FloatArray:
        return take_array(arrays, "counts", np.float64, (M,))

    def _copy(self, state: FloatArray) -> FloatArray:
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
    answers = whole.predict_then_learn(X, labels)
    one_by_one = [single.predict_then_learn(X[c], labels[c])[0] for c in rows(80)]
    assert answers.tolist() == one_by_one
    assert_array_equal(whole._state, np.bincount(y))
    assert_array_equal(single._state, np.bincount(y))
    assert (whole.n_seen_, whole.n_updates_) == (80, 80)
    most = FAMILIES[family][np.bincount(y).argmax()]
    assert whole.predict(X[:2]).tolist() == [most, most]


def test_weights_reach_the_learner() -> None:
    model = Majority().fit(X, y, sample_weight=np.where(y == 2, 3.0, 0.0))
    assert_array_equal(model._state, [0, 0, 3 * np.count_nonzero(y == 2)])
    assert model.partial_fit(X, y, classes=[-5])._state[0] == 0.0


def test_any_classifier_is_saved_and_loaded(tmp_path: Path) -> None:
    model = Majority(handicap=0.5).fit(X, y)
    model.save(tmp_path / "model")
    loaded = Majority.load(tmp_path / "model")
    assert_array_equal(loaded._state, model._state)
    assert loaded.get_params() == {"handicap": 0.5}
    with pytest.raises(ModelFileError, match=r"a Majority, .* load it with Majority"):
        RPNBClassifier.load(tmp_path / "model")
