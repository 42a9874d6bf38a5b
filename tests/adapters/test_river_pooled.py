"""The pooled classifier of River: its checks, and features that come and go."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from river import checks, compose, evaluate, metrics, preprocessing

import rpnb
from adapters.river_copies import COPIES
from estimators.snapshots import snapshot
from estimators.streams import blobs
from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.named import named_columns
from rpnb.estimators.named.feature_numbers import feature_number
from rpnb.river import PooledClassifier

Observation = dict[Hashable, Any]
NAMES: list[Hashable] = ["ant", "bee", 3, ("cat", 1), b"dog", "elk"]
ORDER = sorted(range(len(NAMES)), key=lambda j: feature_number(NAMES[j]))
SETTINGS: dict[str, Any] = {"n_projections": 16, "window": 64}


def small(**parameters: Any) -> PooledClassifier:
    return PooledClassifier(**{**SETTINGS, "seed": 3, **parameters})


def estimator() -> rpnb.PooledClassifier:
    return rpnb.PooledClassifier(**SETTINGS, random_state=3)


def estimator_of(model: PooledClassifier) -> rpnb.PooledClassifier:
    assert model._features is not None
    return model._features.classifier


def dicts(X: FloatArray) -> list[Observation]:
    """Return rows as observations; a value that is NaN is absent."""
    return [
        {name: value for name, value in zip(NAMES, row, strict=True) if value == value}
        for row in X.tolist()
    ]


X, y = blobs(1, 300, p=6)
X = np.asarray(X, np.float64)
CHECKS = list(checks.yield_checks(small()))


@pytest.mark.parametrize(
    "check", CHECKS, ids=[f"{check.__name__}-{i}" for i, check in enumerate(CHECKS)]
)
def test_rivers_checks_pass(check: Any) -> None:
    check(small(seed=None))


def test_no_check_is_left_out() -> None:
    assert small()._unit_test_skips() == set()
    assert len(CHECKS) > 50


def test_it_is_the_estimator_on_a_table_of_all_first_features() -> None:
    rng = np.random.default_rng(0)
    table = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    table[:200, 2] = np.nan  # it appears at row 200
    table[:, 4] = np.nan  # never
    dense = estimator()
    columns = [j for j in ORDER if j != 4]
    model = small()
    for i, x in enumerate(dicts(table)):
        if i == 210:  # from here on all features that ever matter are known
            dense.partial_fit(table[:i, columns], y[:i])
        if i >= 210:
            expected = dense.predict_one(np.ascontiguousarray(table[i, columns]))
            assert model.predict_one({**x, "late": 7.0}) == expected
            shares = dense.predict_next_proba(table[i : i + 1, columns])[0]
            assert list(model.predict_proba_one(x).values()) == shares.tolist()
            dense.partial_fit(table[i : i + 1, columns], y[i : i + 1])
        # Fifteen observations with a feature are not enough for a column.
        late: Observation = {"late": 5.0} if 256 <= i < 271 else {}
        shuffled = [*x.items()]
        rng.shuffle(shuffled)
        model.learn_one({**late, **dict(shuffled)}, int(y[i]))
    assert estimator_of(model).n_samples_seen_ == 300
    assert snapshot(estimator_of(model)) == snapshot(dense)
    assert model._features is not None
    assert model._features.names == [NAMES[j] for j in columns]
    assert model.weights_ == dense.weights_
    assert model.member_errors_ == dense.member_errors_


@pytest.mark.parametrize("often", [1.0, 0.3])
def test_features_that_appear_late_are_learned(often: float) -> None:
    """The only informative feature first appears at row 300."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1500)
    model, right = small(), []
    for i, label in enumerate(y.tolist()):
        x = {"noise": rng.normal(), "more": rng.normal()}
        if i < 300:
            x["old"] = rng.normal() + 3.0 * label
        elif rng.random() < often:
            x["new"] = 1000.0 * (rng.normal() + 3.0 * label)
            right.append(model.predict_one(x) == label)
        model.learn_one(x, label)
    assert np.mean(right[len(right) // 2 :]) > 0.85
    assert model._features is not None
    assert "new" in model._features.names


def test_late_features_keep_early_classes_and_are_added_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(named_columns, "_MOST_RECENT", 300)
    rng = np.random.default_rng(4)
    model = small()
    used: list[Any] = []
    for i in range(1200):
        y = "early" if i < 20 else "pq"[i % 2]  # of which no row is kept
        x = {"a": rng.normal()} | ({"b": rng.normal()} if i >= 600 else {})
        model.learn_one(x, y)
        if not used or used[-1] is not estimator_of(model):
            used.append(estimator_of(model))
    assert model.predict_proba_one({"a": 0.0, "b": 0.0}).keys() == {"early", "p", "q"}
    late = [each for each in used if each.n_features_in_ == 2]
    assert len(late) == 1


def test_late_features_do_not_depend_on_the_calls() -> None:
    rng = np.random.default_rng(2)
    n = 700
    y = rng.integers(0, 3, n)
    table = pd.DataFrame(rng.normal(size=(n, 3)) + y[:, None], columns=list("abc"))
    table.loc[:400, "b"] = np.nan
    table.loc[:600, "c"] = np.nan
    loop, whole, parts = small(), small(), small()
    for i in range(n):
        row = table.iloc[i].to_dict()
        loop.learn_one({k: v for k, v in row.items() if v == v}, int(y[i]))
    whole.learn_many(table[["a"]][:401], pd.Series(y[:401]))
    whole.learn_many(table[["a", "b"]][401:601], pd.Series(y[401:601]))
    whole.learn_many(table[601:], pd.Series(y[601:]))
    for start in range(0, 401, 50):
        rows = slice(start, min(start + 50, 401))
        parts.learn_many(table[["a"]][rows], pd.Series(y[rows]))
    for start in range(401, n, 7):
        rows = slice(start, start + 7)
        parts.learn_many(table[rows], pd.Series(y[rows]))
    assert loop._features is not None
    assert loop._features.names == whole._features.names  # type: ignore[union-attr]
    assert set(loop._features.names) == set("abc")
    assert snapshot(estimator_of(loop)) == snapshot(estimator_of(whole))
    assert snapshot(estimator_of(loop)) == snapshot(estimator_of(parts))


@pytest.mark.parametrize("cut", [100, 270])
def test_many_at_once_equal_one_by_one_to_the_bit(cut: int) -> None:
    loop, many = small(), small()
    for i, x in enumerate(dicts(X)):
        known = x if i >= cut else {name: x[name] for name in NAMES[:4]}
        loop.learn_one(known, int(y[i]))
    frame = pd.DataFrame(dicts(X))[NAMES[::-1]]
    many.learn_many(frame[NAMES[:4]][:cut], pd.Series(y[:cut]))
    many.learn_many(frame[cut:], pd.Series(y[cut:]))
    assert snapshot(estimator_of(loop)) == snapshot(estimator_of(many))
    predicted = many.predict_many(frame[5:25])
    assert predicted.tolist() == [loop.predict_one(x) for x in dicts(X)[5:25]]
    shares = many.predict_proba_many(frame[5:9])
    for i in range(5, 9):
        assert shares.loc[i].to_dict() == loop.predict_proba_one(dicts(X)[i])


def test_it_has_the_parameters_of_the_estimator_and_passes_them_on() -> None:
    expected = rpnb.PooledClassifier().get_params()
    expected["seed"] = expected.pop("random_state")
    # River's learners have no threads and no rows that wait, and features are numbers.
    elsewhere = ["n_jobs", "delays", "shuffle"]
    elsewhere += ["categorical_features", "text_features"]
    for name in elsewhere:
        del expected[name]
    assert PooledClassifier()._get_params() == expected
    changed: dict[str, Any] = {
        "members": "mergeable",
        "n_projections": 32,
        "window": 99,
        "delay": 2,
        "class_weight": "balanced",
        "seed": 8,
    }
    assert set(changed) == set(expected)
    model = PooledClassifier(**changed)
    model.learn_one({"a": 1.0}, "ant")
    given = estimator_of(model).get_params()
    given["seed"] = given.pop("random_state")
    for name in elsewhere:
        assert given.pop(name) == rpnb.PooledClassifier().get_params()[name]
    assert given == changed


def test_without_a_seed_relearning_draws_no_other_projections() -> None:
    model = small(seed=None)
    model.learn_one({"a": 1.0}, "x")
    seed = estimator_of(model)._state.seed
    model.learn_one({"b": 1.0}, "y")
    assert estimator_of(model)._state.seed == seed
    assert estimator_of(model).n_samples_seen_ == 2


BAD: dict[str, tuple[Observation, Any, type[Exception], str]] = {
    "text": ({"new": "red"}, "x", TypeError, "feature 'new' must be a number"),
    "infinity": ({"new": -np.inf}, "x", ValueError, "feature 'new' is infinity"),
    "too large": ({"new": 10**400}, "x", ValueError, "PooledClassifier takes finite"),
    "a name": ({object(): 1.0}, "x", TypeError, "the name of a feature must be"),
    "a label": ({"new": 1.0}, 1.5, ValueError, "label"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("rows", [0, 40])
def test_what_is_refused_changes_nothing(kind: str, rows: int) -> None:
    x, label, error, message = BAD[kind]
    model = small()
    for i in range(rows):
        model.learn_one(dicts(X)[i], "even" if y[i] % 2 == 0 else "odd")
    before = snapshot(estimator_of(model)) if rows else None
    with pytest.raises(error, match=message):
        model.learn_one(x, label)
    if before is None:
        assert model.predict_one({"a": 1.0}) is None
    else:
        assert snapshot(estimator_of(model)) == before
        assert model._features is not None
        assert "new" not in model._features.names


def test_a_bad_column_is_refused_by_name() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, np.inf]})
    with pytest.raises(ValueError, match="feature 'b' is infinity in row 1"):
        small().learn_many(frame, pd.Series(["x", "y"]))


def test_two_names_with_one_number_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clash = {"a": 1, "b": 2, "c": 2}
    monkeypatch.setattr(named_columns, "feature_number", clash.__getitem__)
    model = small()
    model.learn_one({"a": 1.0, "b": 2.0}, 0)
    before = snapshot(estimator_of(model))
    with pytest.raises(ValueError, match="'b' and 'c' have the same 64-bit hash"):
        model.learn_one({"c": 1.0}, 1)
    assert snapshot(estimator_of(model)) == before


def test_before_anything_is_learned_there_is_no_prediction() -> None:
    model = small()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert (model.weights_, model.member_errors_) == ({}, {})
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    assert model.predict_many(frame).tolist() == [None, None]


def test_an_observation_without_features_is_all_missing() -> None:
    model = small()
    model.learn_one({}, "x")
    assert model.predict_one({}) == "x"
    model.learn_one({"a": 1.0}, "y")
    twin = estimator().partial_fit([[np.nan], [1.0]], ["x", "y"])
    assert snapshot(estimator_of(model)) == snapshot(twin)


@pytest.mark.parametrize("rows", [30, 270])
@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_learns_as_the_original_would(kind: str, rows: int) -> None:
    model = small()
    frame = pd.DataFrame(dicts(X))
    model.learn_many(frame[:rows], pd.Series(y[:rows]))
    before = snapshot(estimator_of(model))
    twin = COPIES[kind](model)
    model.learn_one({"new": 1.0}, 0)
    assert snapshot(estimator_of(twin)) == before
    twin.learn_one({"new": 1.0}, 0)
    assert snapshot(estimator_of(twin)) == snapshot(estimator_of(model)) != before


def test_a_pipeline_learns() -> None:
    rows, classes = blobs(3, 300, p=6, apart=3.0)
    stream = [
        ({**x, "word": w}, label)
        for x, w, label in zip(
            dicts(rows), ["a", "b", "c"] * 100, classes.tolist(), strict=True
        )
    ]
    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    model = (numbers + words) | small()
    metric = metrics.Accuracy()
    evaluate.progressive_val_score(stream, model, metric)
    assert metric.get() > 0.8
