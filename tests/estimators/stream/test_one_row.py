"""One row at a time: the fast path, and the cache of the last row."""

import copy
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from estimators.snapshots import snapshot, state_of
from estimators.streams import FAMILIES, blobs, families, rules, seeds, small
from rpnb import PooledClassifier

X, y = blobs(1, 60)


def small_pool(**parameters: Any) -> PooledClassifier:
    return PooledClassifier(n_projections=16, window=32, random_state=0, **parameters)


@given(seeds, families, rules, st.sampled_from([1, 4, None]))
def test_the_short_way_gives_what_the_long_way_gives(
    seed: int, family: str, rule: Any, size: int | None
) -> None:
    rows, numbers = blobs(seed, 40)
    labels = FAMILIES[family][numbers]
    short = small(combiner=rule, batch_size=size, class_prior="frequency")
    long = small(combiner=rule, batch_size=size, class_prior="frequency")
    short.learn_one(rows[0], labels[0])
    long.partial_fit(rows[:1], labels[:1])
    for i in range(1, 40):
        prediction = short.predict_one(rows[i])
        assert prediction == long.predict(rows[[i, i]])[0]
        assert type(prediction) is type(short.classes_[0])
        short.learn_one(rows[i], labels[i])
        long.partial_fit(rows[i : i + 1], labels[i : i + 1])
    assert state_of(short) == state_of(long)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("weight", [None, "balanced"])
@pytest.mark.parametrize("learner", [small, small_pool])
def test_a_plain_row_is_learned_as_one_that_is_checked_at_length(
    learner: Any, weight: Any, family: str
) -> None:
    labels = FAMILIES[family][y]
    plain, listed = learner(class_weight=weight), learner(class_weight=weight)
    for model in plain, listed:
        model.partial_fit(X[:9], labels[:9])
    for i in range(9, 60):
        one = slice(i, i + 1)
        found = plain.predict_then_learn(X[one], labels[one])
        assert found == listed.predict_then_learn(X[one].tolist(), labels[one].tolist())
        assert found.dtype == plain.classes_.dtype
    assert state_of(plain) == state_of(listed)


UNPLAIN: dict[str, tuple[Any, Any, str]] = {
    "NaN": (np.array([[0, np.nan, 0, 0]]), y[:1], r"NaN \(row 0, column 1\)"),
    "too large": (np.array([[0, 0, 1e151, 0]]), y[:1], r"1e\+151, too large"),
    "too short": (np.ones((1, 3)), y[:1], "3 features, but RPNBC.* expecting 4"),
    "no class": (X[:1], np.array([True]), "y holds booleans"),
    "two labels": (X[:1], y[:2], "1 rows and y has 2 labels"),
    "masked": (np.ma.masked_equal(X[:1], X[0, 0]), y[:1], "X .*mask"),
    "masked label": (X[:1], np.ma.masked_equal(y[:1], y[0]), "y .*mask"),
}


@pytest.mark.parametrize("kind", UNPLAIN)
def test_a_table_of_one_row_is_refused_like_any_other(kind: str) -> None:
    row, label, message = UNPLAIN[kind]
    model = small().fit(X, y)
    before = snapshot(model)
    for learn in model.partial_fit, model.predict_then_learn:
        with pytest.raises(ValueError, match=message):
            learn(row, label)
    assert snapshot(model) == before


def test_a_row_without_the_names_that_the_model_learned_still_warns() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = small().fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict_then_learn(X[:1], y[:1])


# Few rows, so that many return while they are cached.
steps = st.lists(
    st.tuples(
        st.sampled_from(["predict", "ask one", "learn", "learn one", "declare"]),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=30,
)


@given(steps, st.sampled_from(["mistakes", "all"]), st.booleans())
def test_a_cached_row_changes_no_prediction_and_no_state(
    taken: list[tuple[str, int, int]], update: Any, counts: bool
) -> None:
    prior = "frequency" if counts else "uniform"
    model = small(update=update, class_prior=prior).fit(X[:9], y[:9])
    twin = copy.deepcopy(model)
    for what, i, label in taken:
        row = X[i : i + 1]
        twin = copy.deepcopy(twin)  # which remembers nothing
        if what == "predict":
            assert model.predict(row) == twin.predict(X[[i, i]])[0]
        elif what == "ask one":
            assert model.predict_one(X[i]) == twin.predict(X[[i, i]])[0]
        elif what == "declare":
            model.partial_fit(row, [label], classes=[label + 5])
            twin.partial_fit(row, [label], classes=[label + 5])
        elif what == "learn":
            model.partial_fit(row, [label])
            twin.partial_fit(row, [label])
        else:
            model.learn_one(X[i], label)
            twin.partial_fit(row, [label])
    assert state_of(model) == state_of(twin)


def test_a_row_is_remembered_as_it_was_not_where_it_stands() -> None:
    model = small().fit(X, y)
    predictions = model.predict(X)
    row = np.empty(4)
    for i in range(60):
        row[:] = X[i]  # one buffer, refilled
        assert model.predict_one(row) == predictions[i]


def test_merging_forgets_what_was_remembered() -> None:
    model, other = small().fit(X[:20], y[:20]), small().fit(X[20:], y[20:])
    for i in range(60):
        model.predict_one(X[i])
        merged = small().fit(X[:20], y[:20])
        merged.predict_one(X[i])
        merged.merge(other)
        assert merged.predict_one(X[i]) == merged.predict(X[[i, i]])[0]


def test_asking_for_one_row_changes_nothing() -> None:
    model = small().fit(X, y)
    before = snapshot(model)
    model.predict_one(X[3])
    assert snapshot(model) == before


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "a list": (X[0].tolist(), TypeError, "one-dimensional NumPy array of float64"),
    "single precision": (X[0].astype(np.float32), TypeError, "array of float64"),
    "a table": (X[:1], TypeError, "x must be a one-dimensional NumPy array"),
    "too short": (X[0, :3], ValueError, "x has 3 features, but RPNBC.* expecting 4"),
    "too long": (np.ones(5), ValueError, "x has 5 features, but RPNBC.* expecting 4"),
    "NaN": (np.array([0, np.nan, 0, 0]), ValueError, r"NaN \(row 0, column 1\)"),
    "infinity": (np.array([0, 0, 0, -np.inf]), ValueError, r"infinity \(row 0, col"),
    "too large": (np.array([1e151, 0, 0, 0]), ValueError, r"1e\+151, too large"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_row_is_refused_and_nothing_changes(kind: str) -> None:
    row, error, message = BAD[kind]
    model = small().fit(X, y)
    before = snapshot(model)
    with pytest.raises(error, match=message):
        model.predict_one(row)
    with pytest.raises(error, match=message):
        model.learn_one(row, 1)
    assert snapshot(model) == before


def test_a_bad_first_row_leaves_the_model_unfitted() -> None:
    model = small()
    for row in (np.array([np.nan, 1.0]), np.zeros(0)):
        with pytest.raises(ValueError, match=r"Input X contains NaN|0 feature"):
            model.learn_one(row, "a")
    with pytest.raises(TypeError, match="ndarray with 2 dimensions"):
        model.learn_one(np.ones((2, 2)), "a")
    with pytest.raises(ValueError, match="Unknown label type"):
        model.learn_one(np.ones(2), None)
    assert snapshot(model) == snapshot(small())
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.predict_one(np.ones(2))


def test_a_changed_parameter_is_noticed_the_short_way_too() -> None:
    model = small().fit(X, y).set_params(n_estimators=8)
    with pytest.raises(ValueError, match=r"n_estimators was 7 .* and is 8 now"):
        model.learn_one(X[0], 1)
    model.set_params(n_estimators=7, update="never")
    with pytest.raises(ValueError, match="update must be one of"):
        model.learn_one(X[0], 1)
    assert model.n_samples_seen_ == 60


def test_threads_that_predict_at_the_same_time_get_the_labels_of_one() -> None:
    rows, labels = blobs(2, 200, p=20, M=4, apart=2.0)
    model = small(n_estimators=200).fit(rows, labels)
    predictions = model.predict(rows)
    wrong: list[int] = []

    def ask(seed: int) -> None:
        order = np.random.default_rng(seed).integers(0, 200, 2000)
        given = np.array([model.predict(rows[i : i + 1])[0] for i in order])
        wrong.extend(order[given != predictions[order]].tolist())

    threads = [Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_boolean_is_not_the_class_one() -> None:
    small().learn_one(X[0], True)
    model = small().fit(X, y)
    before = model.n_samples_seen_
    with pytest.raises(ValueError, match="holds booleans"):
        model.learn_one(X[0], True)
    assert model.n_samples_seen_ == before


@pytest.mark.parametrize("x", [None, 3.0, [[1.0, 2.0]]])
def test_what_is_no_row_is_refused_before_the_first_one(x: Any) -> None:
    model = small()
    with pytest.raises(TypeError, match="x must be a one-dimensional NumPy array"):
        model.learn_one(x, 1)
    assert "classes_" not in vars(model)
