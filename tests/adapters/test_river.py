"""The classifier of River: its checks, its tools, and features that come and go."""

import copy
from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import checks, compose, ensemble, evaluate, metrics, preprocessing

import rpnb
from adapters.river_copies import COPIES
from estimators.snapshots import moments_of, snapshot
from estimators.streams import FAMILIES, blobs, families, rules, seeds
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.record import make_projection
from rpnb.estimators.named import named_features
from rpnb.estimators.named.feature_numbers import feature_number
from rpnb.estimators.protocol import initialise
from rpnb.river import RPNBClassifier

Observation = dict[Hashable, Any]
NAMES: list[Hashable] = ["ant", "bee", 3, ("cat", 1), b"dog", "elk"]


def small(**parameters: Any) -> RPNBClassifier:
    return RPNBClassifier(**{"n_estimators": 7, "seed": 3, **parameters})


def dicts(X: FloatArray) -> list[Observation]:
    return [dict(zip(NAMES, row.tolist(), strict=False)) for row in X]


def estimator_of(model: RPNBClassifier) -> rpnb.RPNBClassifier:
    assert model._features is not None
    return model._features.classifier


def learned(model: RPNBClassifier) -> Any:
    """The learned statistics, to the bit, without the features."""
    inner = estimator_of(model)
    state = inner._state
    return moments_of(inner), inner.classes_.tolist(), state.n_seen, state.n_updates


X, numbers = blobs(1, 60)
WORDS = [["ant", "bee", "cat"][m] for m in numbers]


# River's own checks


CHECKS = list(checks.yield_checks(RPNBClassifier()))


# One check comes with several datasets.
NAMED = [f"{check.__name__}-{i}" for i, check in enumerate(CHECKS)]


@pytest.mark.parametrize("check", CHECKS, ids=NAMED)
def test_rivers_checks_pass(check: Any) -> None:
    check(RPNBClassifier())


def test_no_check_is_left_out() -> None:
    assert RPNBClassifier()._unit_test_skips() == set()
    assert len(CHECKS) > 50


# The same as the estimator


@given(seeds, families, rules, st.sampled_from(["mistakes", "all"]))
def test_it_is_the_estimator_with_rows_drawn_by_name(
    seed: int, family: str, rule: Any, update: Any
) -> None:
    rng = np.random.default_rng(seed)
    rows, classes = blobs(seed, 40, p=6)
    rows[rng.random(rows.shape) < 0.5] = 0.0
    labels = FAMILIES[family][classes]
    # The estimator sees all features in the order of their numbers, absent ones as 0.
    order = np.argsort([feature_number(name) for name in NAMES])
    features = np.array([feature_number(NAMES[i]) for i in order], np.uint64)
    parameters = {"n_components": 4, "combiner": rule, "update": update}
    dense = rpnb.RPNBClassifier(7, random_state=3, **parameters)
    initialise(dense, 6, np.zeros(0, np.int64))
    recipe = dense._state.projection
    dense._state.projection = make_projection(
        recipe.distribution, recipe.seed, features, 7, 4
    )
    expected = dense.predict_then_learn(rows[:, order], labels)

    model = small(**parameters)
    for i, x in enumerate(dicts(rows)):
        present = {name: value for name, value in x.items() if value != 0.0}
        assert model.predict_one(present) == expected[i]
        model.learn_one(present, labels[i])
    inner = estimator_of(model)
    assert moments_of(inner) == moments_of(dense)
    assert (inner.n_samples_seen_, inner.n_updates_) == (
        dense.n_samples_seen_,
        dense.n_updates_,
    )


@given(seeds, rules)
def test_neither_the_order_of_features_nor_questions_change_anything(
    seed: int, rule: Any
) -> None:
    rng = np.random.default_rng(seed)
    rows, classes = blobs(seed, 30, p=6)
    one, other = small(combiner=rule), small(combiner=rule)
    for x, y in zip(dicts(rows), classes.tolist(), strict=True):
        names = [NAMES[i] for i in rng.permutation(6)[: rng.integers(0, 7)]]
        first = {name: x[name] for name in names}
        second = {name: x[name] for name in sorted(names, key=repr)}
        if rng.random() < 0.5:  # features never learned, seen in between
            other.predict_one({**x, f"new {rng.integers(9)}": 1.0})
        assert one.predict_one(first) == other.predict_one(second)
        assert one.predict_proba_one(first) == other.predict_proba_one(second)
        one.learn_one(first, y)
        other.learn_one(second, y)
    assert learned(one) == learned(other)


def test_a_feature_not_seen_before_counts_in_a_prediction() -> None:
    model = small(n_components=3)
    for value in (0.0, 0.1, -0.1):
        model.learn_one({"a": value}, "near")
        model.learn_one({"a": value, "b": 5.0}, "far")
    twin = copy.deepcopy(model)
    twin.learn_one({"c": 0.0}, "near")  # now it is known
    x = {"a": 0.0, "c": 40.0}
    assert model.predict_proba_one(x) != model.predict_proba_one({"a": 0.0})
    assert model.predict_one(x) == twin.predict_one(x)


def test_it_has_the_parameters_of_the_estimator_and_passes_them_on() -> None:
    model = RPNBClassifier()
    expected = rpnb.RPNBClassifier().get_params()
    expected["seed"] = expected.pop("random_state")
    del expected["shuffle"]  # River has no `fit`
    del expected["n_jobs"]  # River's learners have no threads
    del expected["scale"]  # River has its own scalers
    assert model._get_params() == expected
    changed: dict[str, Any] = {
        "n_estimators": 5,
        "n_components": 2,
        "projection": "achlioptas",
        "combiner": "vote",
        "update": "all",
        "batch_size": None,
        "prior_mean": 0.5,
        "prior_variance": 2.0,
        "prior_weight": 3.0,
        "forgetting": 50.0,
        "class_prior": {"ant": 0.5, "bee": 0.5},
        "class_weight": {"ant": 2.0},
        "var_floor": 1e-3,
        "temperature": 4.0,
        "seed": 8,
    }
    assert set(changed) == set(expected)
    model = RPNBClassifier(**changed)
    model.learn_one({"a": 1.0}, "ant")
    given = estimator_of(model).get_params()
    given["seed"] = given.pop("random_state")
    assert given.pop("shuffle") is True
    assert given.pop("n_jobs") is None
    assert given.pop("scale") is None
    assert given == changed


# Many at once


@given(
    seeds,
    families,
    rules,
    st.sampled_from(["mistakes", "all"]),
    st.sampled_from(["uniform", "frequency"]),
    st.integers(1, 39),
)
def test_many_at_once_equal_one_by_one_to_the_bit(
    seed: int, family: str, rule: Any, update: Any, prior: str, cut: int
) -> None:
    rows, classes = blobs(seed, 40)
    labels = FAMILIES[family][classes]
    parameters = {"combiner": rule, "update": update, "class_prior": prior}
    loop, many = small(**parameters), small(**parameters)
    observations = dicts(rows)
    for x, y in zip(observations, labels, strict=True):
        loop.learn_one(x, y)
    frame = pd.DataFrame(observations)[NAMES[2:4] + NAMES[:2]]
    many.learn_many(frame[:cut], pd.Series(labels[:cut]))
    many.learn_many(frame[cut:], pd.Series(labels[cut:]))
    assert learned(loop) == learned(many)
    predicted = many.predict_many(frame[5:25])
    assert predicted.tolist() == [loop.predict_one(x) for x in observations[5:25]]
    assert predicted.index.tolist() == list(range(5, 25))
    shares = many.predict_proba_many(frame[5:25])
    for i in range(5, 25):
        one = loop.predict_proba_one(observations[i])
        assert shares.loc[i].to_dict() == one


def test_frames_of_polars_are_taken_and_given() -> None:
    columns = {"a": X[:, 0], "b": X[:, 1] > 0, "c": np.round(X[:, 2]).astype(int)}
    pandas, polars = small(), small()
    pandas.learn_many(pd.DataFrame(columns), pd.Series(WORDS))
    polars.learn_many(pl.DataFrame(columns), pl.Series(WORDS))
    assert learned(pandas) == learned(polars)
    predictions = polars.predict_many(pl.DataFrame(columns))
    assert isinstance(predictions, pl.Series)
    assert predictions.to_list() == pandas.predict_many(pd.DataFrame(columns)).to_list()
    shares = polars.predict_proba_many(pl.DataFrame(columns))
    assert shares.columns == ["ant", "bee", "cat"]


def test_columns_that_appear_later_count() -> None:
    model, loop = small(n_components=3), small(n_components=3)
    observations = dicts(X)
    for part, names in ((slice(30), NAMES[:2]), (slice(30, 60), NAMES[:4])):
        frame = pd.DataFrame(observations[part])[names]
        model.learn_many(frame, pd.Series(WORDS[part]))
        for x, y in zip(observations[part], WORDS[part], strict=True):
            loop.learn_one({name: x[name] for name in names}, y)
    assert learned(model) == learned(loop)


def test_a_frame_is_one_mini_batch_where_batches_are_asked_for() -> None:
    model = small(batch_size=None)
    frame = pd.DataFrame(dicts(X))
    model.learn_many(frame[:30], pd.Series(WORDS[:30]))
    model.learn_many(frame[30:], pd.Series(WORDS[30:]))
    loop = small()
    loop.learn_many(frame, pd.Series(WORDS))
    assert estimator_of(model).n_samples_seen_ == 60
    assert learned(model) != learned(loop)


# Values


def test_booleans_and_numbers_of_every_type_are_numbers() -> None:
    model, twin = small(), small()
    for i, x in enumerate(dicts(np.round(X))):
        odd = dict(x)
        odd["ant"] = np.float32(x["ant"])
        odd["bee"] = int(x["bee"])
        odd[3] = np.int8(x[3])
        odd["yes"] = np.bool_(i % 2)
        assert model.predict_one(odd) == twin.predict_one({**x, "yes": i % 2 == 1})
        model.learn_one(odd, WORDS[i])
        twin.learn_one({**x, "yes": float(i % 2)}, WORDS[i])
    assert learned(model) == learned(twin)


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "text": ("red", TypeError, "feature 'new' must be a number, got 'red' of type str"),
    "digits": ("1.5", TypeError, "feature 'new' must be a number, got '1.5'"),
    "nothing": (None, TypeError, "feature 'new' must be a number, got None"),
    "complex": (1j, TypeError, "feature 'new' must be a number"),
    "an array": (np.ones(1), TypeError, "feature 'new' must be a number"),
    "NaN": (np.nan, ValueError, "feature 'new' is NaN; .* impute"),
    "infinity": (-np.inf, ValueError, "feature 'new' is infinity"),
    "too large": (1e151, ValueError, r"feature 'new' is the value 1e\+151, too large"),
    "far too large": (10**400, ValueError, "feature 'new' is infinity"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("known", [True, False])
def test_a_bad_value_is_refused_by_name_and_changes_nothing(
    kind: str, known: bool
) -> None:
    value, error, message = BAD[kind]
    model = small()
    for x, y in zip(dicts(X), WORDS, strict=True):
        model.learn_one({**x, "new": 1.0} if known else x, y)
    assert model._features is not None
    before = learned(model), model._features.names, snapshot(estimator_of(model))
    bad = {**dicts(X)[0], "new": value}
    for call in (model.predict_one, model.predict_proba_one):
        with pytest.raises(error, match=message):
            call(bad)
    with pytest.raises(error, match=message):
        model.learn_one(bad, "ant")
    assert before == (
        learned(model),
        model._features.names,
        snapshot(estimator_of(model)),
    )


BAD_FRAMES: dict[str, tuple[Any, type[Exception], str]] = {
    "text": (["a", "b"], TypeError, "feature 'b' must hold numbers, got .* dtype"),
    "NaN": ([1.0, np.nan], ValueError, "feature 'b' is NaN in row 1"),
    "infinity": ([np.inf, 0.0], ValueError, "feature 'b' is infinity in row 0"),
}


@pytest.mark.parametrize("kind", BAD_FRAMES)
def test_a_bad_column_is_refused_by_name_and_changes_nothing(kind: str) -> None:
    values, error, message = BAD_FRAMES[kind]
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": values})
    fresh = small()
    with pytest.raises(error, match=message):
        fresh.learn_many(frame, pd.Series(["x", "y"]))
    assert fresh.predict_one({"a": 1.0}) is None
    model = small()
    model.learn_one({"a": 1.0}, "x")
    before = snapshot(estimator_of(model))
    with pytest.raises(error, match=message):
        model.learn_many(frame, pd.Series(["x", "y"]))
    with pytest.raises(error, match=message):
        model.predict_many(frame)
    assert snapshot(estimator_of(model)) == before


def test_a_frame_with_two_columns_of_one_name_is_refused() -> None:
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match=r"(?i)duplicate|unique"):
        small().learn_many(frame, pd.Series(["x"]))


def test_two_names_with_one_number_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clash = {"a": 1, "b": 2, "c": 2, "d": 1}
    monkeypatch.setattr(named_features, "feature_number", clash.__getitem__)
    with pytest.raises(ValueError, match="'b' and 'c' have the same 64-bit hash"):
        small().learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, 0)
    model = small()
    model.learn_one({"a": 1.0, "b": 2.0}, 0)
    before = snapshot(estimator_of(model))
    with pytest.raises(ValueError, match="'a' and 'd' have the same 64-bit hash"):
        model.learn_one({"d": 1.0, "c": 1.0}, 1)
    with pytest.raises(ValueError, match="'b' and 'c' have the same 64-bit hash"):
        model.learn_one({"c": 1.0}, 1)
    assert snapshot(estimator_of(model)) == before
    assert model._features is not None
    assert model._features.names == ["a", "b"]


# The beginning


def test_before_anything_is_learned_there_is_no_prediction() -> None:
    model = small()
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 9])
    assert model.predict_many(frame).tolist() == [None, None]
    shares = model.predict_proba_many(frame)
    assert shares.shape == (2, 0)
    assert shares.index.tolist() == [7, 9]


def test_a_refused_beginning_leaves_a_model_that_knows_nothing() -> None:
    model = small()
    with pytest.raises(ValueError, match="Unknown label type"):
        model.learn_one({"a": 1.0}, None)
    with pytest.raises(TypeError, match="must be a number"):
        model.learn_one({"a": "1"}, "x")
    with pytest.raises(TypeError, match="name of a feature"):
        model.learn_one({object(): 1.0}, "x")
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0, "b": 1.0, "c": 1.0}, "x")
    assert estimator_of(model).n_components_ == 3
    with pytest.raises(ValueError, match="projection must be one of"):
        small(projection="identity").learn_one({"a": 1.0}, "x")


def test_the_first_observation_decides_the_dimension() -> None:
    model = small()
    model.learn_one(dict.fromkeys(range(16), 1.0), "x")
    model.learn_one(dict.fromkeys(range(99), 1.0), "y")
    assert estimator_of(model).n_components_ == 8
    model = small(n_components=5)
    model.learn_one({"a": 1.0}, "x")
    assert estimator_of(model).n_components_ == 5


def test_an_observation_without_features_is_all_zeros() -> None:
    model, twin = small(n_components=2), small(n_components=2)
    for x, y in [({}, "x"), ({"a": 3.0}, "y"), ({}, "y"), ({"b": 1.0}, "x"), ({}, "x")]:
        zeros = {"a": 0.0, "b": 0.0, **x}
        assert model.predict_one(x) == twin.predict_one(zeros)
        model.learn_one(x, y)
        twin.learn_one(zeros, y)
        assert model.predict_proba_one(x) == twin.predict_proba_one(zeros)
    assert learned(model) == learned(twin)
    assert model.predict_many(pd.DataFrame(index=[1, 2])).shape == (2,)


# Among River's tools


def test_progressive_validation_gives_the_accuracy_of_the_stream() -> None:
    metric = metrics.Accuracy()
    stream = list(zip(dicts(X), WORDS, strict=True))
    evaluate.progressive_val_score(stream, small(), metric)
    model, right = small(), 0
    for x, y in stream:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    # River does not update a metric with a row that has no prediction.
    assert metric.get() == right / 59
    # A row is learned exactly if it was a mistake.
    assert estimator_of(model).n_updates_ == 60 - right


def test_a_pipeline_and_an_ensemble_learn() -> None:
    rows, classes = blobs(3, 300, apart=3.0)
    stream = [
        ({**x, "word": w}, y)
        for x, w, y in zip(
            dicts(rows), ["a", "b", "c"] * 100, classes.tolist(), strict=True
        )
    ]
    scaled = compose.SelectType(float) | preprocessing.StandardScaler()
    words = compose.SelectType(str) | preprocessing.OneHotEncoder()
    for model in (
        (scaled + words) | small(),
        (scaled + words) | ensemble.BaggingClassifier(small(), n_models=2, seed=0),
    ):
        metric = metrics.Accuracy()
        evaluate.progressive_val_score(stream, model.clone(), metric)
        assert metric.get() > 0.8


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_learns_as_the_original_would(kind: str) -> None:
    model = small()
    for x, y in zip(dicts(X)[:30], WORDS, strict=False):
        model.learn_one(x, y)
    before = learned(model)
    twin = COPIES[kind](model)
    for x, y in zip(dicts(X)[30:], WORDS[30:], strict=True):
        model.learn_one({**x, y: 1.0}, y)
    assert learned(twin) == before
    for x, y in zip(dicts(X)[30:], WORDS[30:], strict=True):
        twin.learn_one({**x, y: 1.0}, y)
    assert learned(twin) == learned(model) != before


def test_a_clone_has_the_parameters_and_nothing_learned() -> None:
    model = small(update="all")
    model.learn_one({"a": 1.0}, "x")
    clone = model.clone({"prior_weight": 2.0})
    assert clone.predict_one({"a": 1.0}) is None
    assert (clone.update, clone.prior_weight, clone.seed) == ("all", 2.0, 3)
    assert 'update="all"' in repr(clone)


def test_labels_are_given_back_as_python_has_them() -> None:
    kinds: list[list[Any]] = [
        [True, False],
        [np.bool_(True), np.bool_(False)],
        [3, 7],
        ["a", "b"],
    ]
    for labels in kinds:
        model = small()
        for x, y in zip(dicts(X), labels * 30, strict=True):
            model.learn_one(x, y)
        prediction = model.predict_one(dicts(X)[0])
        shares = model.predict_proba_one(dicts(X)[0])
        assert type(prediction) in (bool, int, str)
        assert prediction in labels
        assert all(type(label) is type(prediction) for label in shares)
        assert set(shares) == set(labels)
        assert max(shares, key=lambda label: shares[label]) == prediction


def test_a_missing_river_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import sys

    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "rpnb.river")
    with pytest.raises(ImportError, match=r"pip install 'rpnb\[river\]'"):
        importlib.import_module("rpnb.river")


# Explaining and unlearning


def test_the_reasons_of_an_observation_add_up_to_its_score() -> None:
    model = small()
    for x, y in zip(dicts(X), WORDS, strict=True):
        model.learn_one(x, y)
    x = dicts(X)[7]
    reasons = model.explain_one(x, label="bee", against="ant")
    assert set(reasons) == set(x)
    inner = estimator_of(model)

    def score(observation: Observation) -> float:
        assert model._features is not None
        row = model._features.row(observation)[None, :]
        scores = dict(zip(inner.classes_, inner.decision_function(row)[0], strict=True))
        return float(scores["bee"] - scores["ant"])

    nothing = dict.fromkeys(x, 0.0)
    assert sum(reasons.values()) == pytest.approx(score(x) - score(nothing))
    # A feature that is zero adds nothing, like an absent one.
    without = {**x, "ant": 0.0}
    assert model.explain_one(without, label="bee", against="ant")["ant"] == 0.0


def test_an_observation_is_unlearned() -> None:
    model, other = small(update="all"), small(update="all")
    for i, (x, y) in enumerate(zip(dicts(X), WORDS, strict=True)):
        model.learn_one(x, y)
        if i != 30:
            other.learn_one(x, y)
    model.unlearn_one(dicts(X)[30], WORDS[30])
    mine, its = (estimator_of(each)._state.moments for each in (model, other))
    for part, expected in zip(mine, its, strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-9, atol=1e-12)


def test_nothing_can_be_explained_or_unlearned_before_something_is_learned() -> None:
    with pytest.raises(ValueError, match="nothing was learned yet"):
        small().explain_one({"ant": 1.0})
    with pytest.raises(ValueError, match="needs a learned observation"):
        small().unlearn_one({"ant": 1.0}, "bee")
