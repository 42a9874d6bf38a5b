"""Tables with categories, text and dates, learned by any learner in a pipeline."""

import copy
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from rpnb import RPNBClassifier, load
from rpnb.baselines import PA
from rpnb.core.columns.categories import Categories
from rpnb.drift import DriftAware
from rpnb.estimators.protocol import saved_model
from rpnb.estimators.registry import learners
from rpnb.estimators.saving.estimator import write_estimator
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.evaluate import prequential
from rpnb.preprocessing import RunningScaler, StreamPipeline, make_stream_pipeline

N = 560  # beyond the last look at the layout
rng = np.random.default_rng(0)
COLOUR = rng.choice(["red", "green", "blue", "grey"], N).astype(object)
COLOUR[rng.random(N) < 0.05] = None
FRAME = pd.DataFrame(
    {
        "size": rng.normal(size=N),
        "colour": COLOUR,
        "shop": rng.integers(0, 40, N).astype(str),
        "when": pd.Timestamp("2024-01-01")
        + pd.to_timedelta(rng.integers(0, 10**7, N), unit="s"),
    }
)
Y = np.where(FRAME["colour"].isin(["red", "blue"]) & (FRAME["size"] > -1), "x", "y")
CUTS = [0, 1, 3, 31, 32, 33, 129, 500, 512, 513, N]
# With the sizes that a test can wait for.
SMALL: dict[str, dict[str, Any]] = {
    "Pooled": {"n_projections": 16, "window": 64, "random_state": 0},
    "RPNB": {"n_estimators": 5, "random_state": 0},
    "OnlineBagging": {"n_estimators": 2, "random_state": 0},
    "OnlineBoosting": {"n_estimators": 2, "random_state": 0},
}


def pipeline(name: str = "PA", **given: Any) -> StreamPipeline:
    learner = learners()[name].estimator(**SMALL.get(name, {}))
    return make_stream_pipeline(RunningScaler(), learner, **given)


def bits(model: StreamClassifier) -> bytes:
    stream = BytesIO()
    write_estimator(stream, saved_model(model))
    return stream.getvalue()


@pytest.mark.parametrize("name", learners())
def test_any_learner_learns_tables_cut_anywhere_and_saved(
    name: str, tmp_path: Path
) -> None:
    whole, parts = pipeline(name), pipeline(name)
    expected = whole.predict_then_learn(FRAME, Y, classes=["x", "y"])
    for begin, end in pairwise(CUTS):
        some = FRAME.iloc[begin:end]
        if begin > 0:
            assert parts.predict_next(some)[0] == expected[begin]
        found = parts.predict_then_learn(some, Y[begin:end], classes=["x", "y"])
        assert_array_equal(found, expected[begin:end])
        if end in (33, 513):
            parts.save(tmp_path / "m.rpnb")
            parts = load(tmp_path / "m.rpnb")
    assert bits(parts) == bits(whole)
    assert whole.n_samples_seen_ == N
    assert whole.n_features_in_ == 4
    again = whole.predict(FRAME.iloc[:9].assign(colour="violet"))
    assert again.shape == (9,)
    if hasattr(whole, "predict_proba"):
        assert whole.predict_proba(FRAME[:5]).shape == (5, 2)


@pytest.mark.parametrize("name", ["AROW", "RPNB", "OnlineBayes"])
def test_categories_are_worth_more_than_codes(name: str) -> None:
    X = FRAME[["size", "colour"]]
    codes = X.assign(colour=pd.factorize(X["colour"])[0])
    native = np.mean(pipeline(name).predict_then_learn(X, Y) != Y)
    coded = np.mean(pipeline(name).predict_then_learn(codes, Y) != Y)
    assert native < coded


def test_features_are_those_of_the_columns_encoder() -> None:
    """The oracle: the encoder by hand, then the same pipeline of numbers."""
    X = FRAME[["size", "shop"]].iloc[:30]  # before the first look
    y = np.where(Y[:30] == "x", 0, 1)
    model = pipeline()
    found = model.predict_then_learn(X, y, classes=[0, 1])
    assert model._frame is not None
    columns = model._frame.columns
    categories = Categories([1], 2, 2)
    rows = categories.learn(columns.code(X), y, np.ones(1))
    by_hand = pipeline()
    assert_array_equal(by_hand.predict_then_learn(rows, y, classes=[0, 1]), found)


def test_new_classes_and_late_labels() -> None:
    y = np.where(np.arange(N) % 50 == 49, "new", Y)
    for name in ("PA", "OnlineBagging", "GaussianNB"):
        whole = prequential({"m": pipeline(name)}, FRAME, y, delay=7, every=N)
        parts = prequential({"m": pipeline(name)}, FRAME, y, delay=7, every=40)
        assert bits(whole.models["m"]) == bits(parts.models["m"])


def test_one_row_is_a_table_of_one() -> None:
    X = np.stack([rng.normal(size=N), rng.integers(0, 5, N)], axis=1)
    y = np.isin(X[:, 1], [1, 4])
    one, whole = (pipeline(categorical_features=[1]) for _ in range(2))
    expected = whole.predict_then_learn(X, y)
    for i, (row, label) in enumerate(zip(X, y, strict=True)):
        if i > 1:
            assert one.predict_one(row) == expected[i]
        one.learn_one(row, label)
    assert bits(one) == bits(whole)
    assert np.mean(expected[-200:] != y[-200:]) < 0.02


def test_parameters_are_kept(tmp_path: Path) -> None:
    model = pipeline(categorical_features=["shop"], text_features=None)
    model.fit(FRAME, Y).save(tmp_path / "m.rpnb")
    again = load(tmp_path / "m.rpnb")
    for name in ("categorical_features", "text_features"):
        assert again.get_params()[name] == model.get_params()[name]
        assert clone(again).get_params()[name] == model.get_params()[name]


def test_refusals_name_the_column_and_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"'colour' holds text.*make_stream_pipeline"):
        PA().fit(FRAME, Y)
    model = pipeline()
    with pytest.raises(ValueError, match=r"NaN \(row 3, column 'size'\)"):
        model.fit(FRAME.assign(size=FRAME["size"].where(FRAME.index != 3)), Y)
    assert not model.__sklearn_is_fitted__()
    with pytest.raises(ValueError, match=r"NaN \(row 0, column 'when'\)"):
        pipeline().fit(FRAME.assign(when=FRAME["when"].where(FRAME.index > 0)), Y)
    batches = RPNBClassifier(batch_size=10)
    with pytest.raises(ValueError, match="batch_size must be 1, got 10"):
        make_stream_pipeline(RunningScaler(), batches).fit(FRAME, Y)
    with pytest.raises(ValueError, match="'colour' holds text"):
        DriftAware(pipeline()).fit(FRAME, Y)
    gaussian = make_stream_pipeline(
        RunningScaler(), RPNBClassifier(n_estimators=2, random_state=0)
    ).fit(FRAME, Y)
    with pytest.raises(ValueError, match="only models of numbers can be merged"):
        gaussian.merge(copy.deepcopy(gaussian))
