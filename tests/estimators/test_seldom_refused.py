"""Rare requests that are refused before anything changes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from estimators.streams import blobs, small
from rpnb import FrozenRPNB
from rpnb.estimators.saving.estimator import SavedEstimator, _labels, write_estimator
from rpnb.estimators.saving.schema import MOST_FEATURES
from rpnb.preprocessing import RunningScaler

X, y = blobs(1, 40)


def test_scaled_and_forgotten_rows_cannot_be_unlearned() -> None:
    for parameter, value in (("scale", "running"), ("forgetting", 50.0)):
        model = small(update="all", **{parameter: value}).fit(X, y)
        with pytest.raises(ValueError, match=f"unlearned with {parameter}={value!r}"):
            model.unlearn(X[:2], y[:2])
        assert model.n_samples_seen_ == 40


def test_what_was_not_fitted_is_not_saved(tmp_path: Path) -> None:
    unfitted: list[Any] = [FrozenRPNB(), RunningScaler(), small()]
    for each in unfitted:
        with pytest.raises(NotFittedError):
            each.save(tmp_path / "model.rpnb")
    assert list(tmp_path.iterdir()) == []


def test_models_of_too_many_features_or_entries_are_refused(tmp_path: Path) -> None:
    p = MOST_FEATURES + 1
    saved = SavedEstimator("PA", {}, np.arange(2), p, None, {}, {}, 1)
    with pytest.raises(ValueError, match=f"cannot be saved, got {p}"):
        write_estimator(tmp_path / "model.rpnb", saved)
    assert list(tmp_path.iterdir()) == []
    many = small(n_estimators=2**31 - 1, projection="very_sparse")
    with pytest.raises(ValueError, match="'very_sparse' would have about"):
        many.fit(X, y)


def test_classes_that_a_file_claims_take_no_memory() -> None:
    assert _labels(["a", "b"], "<U1").tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="2 of type <U99999999, are too long"):
        _labels(["a", "b"], "<U99999999")
    labels: Any
    for labels, dtype in ((["b", "a"], "<U1"), ([1, 1], "<i8"), (["ab"], "<U1")):
        with pytest.raises(ValueError, match="not sorted labels of type"):
            _labels(labels, dtype)
    for labels, dtype in (([], "<U1"), ([1], "<U1"), ([True], "<i8"), (["a"], "|S1")):
        with pytest.raises(TypeError, match="its class"):
            _labels(labels, dtype)
