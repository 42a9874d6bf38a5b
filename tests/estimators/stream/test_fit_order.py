"""`fit` takes rows as a set: their order is drawn, so that sorted rows do no harm."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from estimators.snapshots import state_of
from estimators.streams import blobs, small
from rpnb import PooledClassifier, RPNBClassifier
from rpnb.baselines import AROW, NoChange, OnlineBagging
from rpnb.estimators.stream.labelled_rows import drawn_order

LOADERS: dict[str, tuple[Callable[..., Any], int]] = {
    # Number of orders for a reliable mean score.
    "iris": (load_iris, 12),
    "wine": (load_wine, 24),
    "digits": (load_digits, 2),
    "breast cancer": (load_breast_cancer, 4),
}
pandas: Any = pytest.importorskip("pandas")
X, y = blobs(3, 60, apart=1.0)


@pytest.mark.parametrize("name", LOADERS)
def test_rows_sorted_by_class_score_like_shuffled_ones(name: str) -> None:
    load, seeds = LOADERS[name]
    X, y = load(return_X_y=True)
    by_class = np.argsort(y, kind="stable")
    scores = np.empty((3, seeds))
    for seed in range(seeds):
        shuffled = np.random.default_rng(seed).permutation(y.shape[0])
        for kind, (rows, shuffle) in enumerate(
            [(by_class, True), (shuffled, False), (by_class, False)]
        ):
            model = RPNBClassifier(100, shuffle=shuffle, random_state=seed)
            model.fit(X[rows], y[rows])
            scores[kind, seed] = model.score(X, y)
    safe, reference, naive = scores.mean(axis=1)
    assert abs(safe - reference) < 0.02
    assert naive < reference - 0.2  # what the order given would do


MAKERS: dict[str, Callable[[], Any]] = {
    "RPNB": small,
    "AROW": AROW,
    "trees": lambda: OnlineBagging(3, random_state=1),
    "pooled": lambda: PooledClassifier(n_projections=16, random_state=2),
}


@pytest.mark.parametrize("learner", MAKERS)
def test_the_order_follows_from_the_seed(learner: str, tmp_path: Path) -> None:
    make, weight = MAKERS[learner], np.arange(1.0, 61.0)
    order = drawn_order(getattr(make(), "random_state", 0), 60)
    assert_array_equal(np.sort(order), np.arange(60))
    ordered = make().set_params(shuffle=False)
    if learner in ("RPNB", "pooled"):
        drawn = make().fit(X, y, sample_weight=weight)
        same = ordered.fit(X[order], y[order], weight[order])
    else:
        drawn, same = make().fit(X, y), ordered.fit(X[order], y[order])
    for name, model in (("drawn", drawn), ("same", same)):
        model.set_params(shuffle=True).save(tmp_path / name)
    assert (tmp_path / "drawn").read_bytes() == (tmp_path / "same").read_bytes()


def test_the_given_order_is_kept_on_request_and_by_partial_fit() -> None:
    kept = small(shuffle=False).fit(X, y)
    stream = small().partial_fit(X, y, classes=np.unique(y))
    assert state_of(kept) == state_of(stream)
    assert state_of(kept) != state_of(small().fit(X, y))


def test_the_last_label_of_the_rows_given_is_what_no_change_predicts() -> None:
    labels = np.repeat(["b", "a"], 20)
    model = NoChange().fit(X[:40], labels)
    assert model.predict(X[:1]).tolist() == ["a"]


def test_names_of_features_are_learned_and_weights_of_zero_leave_rows_out() -> None:
    frame = pandas.DataFrame(X, columns=[*"abcdefgh"][: X.shape[1]])
    weight = np.where(y == 0, 0.0, 1.0)
    model = small().fit(frame, y, sample_weight=weight)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model.n_samples_seen_ == int(weight.sum())


def test_an_order_that_is_no_truth_value_is_refused() -> None:
    model = small().fit(X, y)
    before = state_of(model)
    with pytest.raises(TypeError, match="shuffle must be True or False, got 'no'"):
        model.set_params(shuffle="no").fit(X, y)
    assert state_of(model) == before
    file = io.BytesIO()
    with pytest.raises(TypeError, match="shuffle must be True or False, got 'no'"):
        model.save(file)
    assert file.getvalue() == b""
