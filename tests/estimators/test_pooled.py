"""The pooled classifier: laws that hold to the bit, and odd data."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits

from rpnb import PooledClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.member import same_state
from rpnb.core.pooled.model import MEMBERS, PooledModel
from rpnb.drift import DriftAware
from rpnb.estimators.pooled_learner import arrays_of
from rpnb.estimators.saving.files import ModelFileError
from rpnb.preprocessing import RunningScaler, make_stream_pipeline


def stream(seed: int, n: int, p: int = 5, M: int = 4) -> tuple[FloatArray, IntArray]:
    """Return rows of overlapping classes, the last of which comes late."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M - 1, n)
    y[n // 2 :] = rng.integers(0, M, n - n // 2)
    centres = rng.normal(0, 2.0, (M, p))
    X = centres[y] + rng.normal(size=(n, p)) * (1.0 + y[:, None])
    return X * np.geomspace(1e-3, 1e3, p), y


def small(**parameters: Any) -> PooledClassifier:
    return PooledClassifier(**{"n_projections": 32, "random_state": 3, **parameters})


def assert_same(a: PooledClassifier, b: PooledClassifier) -> None:
    assert_array_equal(a.classes_, b.classes_)
    for (name, one), (other, two) in zip(
        arrays_of(a._state).items(), arrays_of(b._state).items(), strict=True
    ):
        assert name == other
        assert same_state((one,), (two,)), name


def learn_in_parts(
    model: PooledClassifier,
    X: Any,
    y: IntArray,
    cuts: list[int],
    weight: FloatArray | None = None,
) -> list[Any]:
    answers: list[Any] = []
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        if start == stop:
            continue
        if weight is None:
            answers += list(model.predict_then_learn(X[start:stop], y[start:stop]))
        else:
            answers += list(model.predict(X[start:stop])) if start else []
            model.partial_fit(
                X[start:stop], y[start:stop], sample_weight=weight[start:stop]
            )
    return answers


@settings(max_examples=8)
@given(st.lists(st.integers(0, 700), max_size=6), st.integers(0, 3))
def test_nothing_depends_on_how_rows_are_cut_into_calls(
    cuts: list[int], seed: int
) -> None:
    X, y = stream(seed, 700)
    X[np.random.default_rng(seed).random(X.shape) < 0.05] = np.nan
    whole, parts = small(), small()
    expected = whole.predict_then_learn(X, y)
    assert learn_in_parts(parts, X, y, sorted(cuts)) == list(expected)
    assert_same(whole, parts)


def test_nothing_depends_on_how_weighted_rows_are_cut_into_calls() -> None:
    X, y = stream(5, 600)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 600)
    whole, parts = small(), small()
    whole.partial_fit(X, y, sample_weight=weight)
    learn_in_parts(parts, X, y, [1, 2, 100, 300, 301], weight)
    assert_same(whole, parts)


def test_threads_change_nothing() -> None:
    X, y = stream(4, 1500)
    one, two = small(), small(n_jobs=2)
    assert_array_equal(one.predict_then_learn(X, y), two.predict_then_learn(X, y))
    assert_same(one, two)
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize("row", [0, 3, 100, 255, 256, 400])
def test_a_label_changes_later_rows_only(row: int) -> None:
    X, y = stream(7, 600)
    flipped = y.copy()
    flipped[row] = (y[row] + 1) % 3
    a, b = small(), small()
    first = a.predict_then_learn(X, y, classes=[0, 1, 2, 3])
    second = b.predict_then_learn(X, flipped, classes=[0, 1, 2, 3])
    assert_array_equal(first[: row + 1], second[: row + 1])
    # The probabilities of the very next row differ.
    a, b = small(), small()
    a.partial_fit(X[: row + 1], y[: row + 1], classes=[0, 1, 2, 3])
    b.partial_fit(X[: row + 1], flipped[: row + 1], classes=[0, 1, 2, 3])
    assert (a.predict_proba(X[row + 1 :]) != b.predict_proba(X[row + 1 :])).any()


def test_rows_without_a_label_are_predicted_and_leave_no_trace() -> None:
    X, y = stream(9, 500)
    a, b = small(), small()
    classes = np.arange(4)
    a.partial_fit(X[:1], y[:1], classes=classes)
    b.partial_fit(X[:1], y[:1], classes=classes)
    known = np.random.default_rng(0).random(500) < 0.6
    numbers = np.where(known, y, -1)
    labels = np.empty(500, np.int64)
    a._learner().learn(a._state, X, numbers, np.ones(1), labels)
    expected = []
    for i in range(500):
        expected.append(b.predict_next(X[i : i + 1])[0])
        if known[i]:
            b.partial_fit(X[i : i + 1], y[i : i + 1])
    assert_array_equal(labels, expected)
    assert_same(a, b)


def test_a_saved_model_goes_on_as_it_would_have(tmp_path: Path) -> None:
    X, y = stream(10, 600)
    for cut, delay in ((1, 0), (77, 0), (256, 0), (400, 0), (77, 9), (400, 30)):
        members = ["shared_covariance", "neighbours", "transitions"]
        model = small(members=members, delay=delay)
        model.partial_fit(X[:cut], y[:cut])
        model.save(tmp_path / "model.npz")
        loaded = PooledClassifier.load(tmp_path / "model.npz")
        assert_same(model, loaded)
        assert_array_equal(
            model.predict_then_learn(X[cut:], y[cut:]),
            loaded.predict_then_learn(X[cut:], y[cut:]),
        )
        assert_same(model, loaded)


def test_a_file_with_other_projections_is_refused(tmp_path: Path) -> None:
    X, y = stream(10, 60)
    model = small().partial_fit(X, y)
    model._state.features.dense[0, 0] += 1.0
    model.save(tmp_path / "model.npz")
    with pytest.raises(ModelFileError, match="projections drawn from the file's seed"):
        PooledClassifier.load(tmp_path / "model.npz")


def test_shards_merge_into_what_one_model_would_have_learned() -> None:
    X, y = stream(11, 1400)
    base = small(members="mergeable").partial_fit(X[:400], y[:400])
    parts = []
    for rows in (slice(400, 900), slice(900, 1400)):
        part = small(members="mergeable").partial_fit(X[:400], y[:400])
        parts.append(part.partial_fit(X[rows], y[rows]))
    merged = parts[0].merge(parts[1], base)
    whole = small(members="mergeable").partial_fit(X, y)
    assert merged.n_samples_seen_ == whole.n_samples_seen_ == 1400
    for name, of in zip(whole._state.names, whole._state.states, strict=True):
        its = merged._state.states[whole._state.names.index(name)]
        assert_allclose(its.class_weight, of.class_weight)
    shared = whole._state.names.index("shared_covariance")
    assert_allclose(merged._state.states[shared].B, whole._state.states[shared].B)
    covariance = whole._state.names.index("class_covariance")
    assert_allclose(
        merged._state.states[covariance].scatter,
        whole._state.states[covariance].scatter,
        rtol=1e-6,
        atol=1e-6,
    )


def test_models_of_other_scales_are_not_merged() -> None:
    X, y = stream(12, 600)
    a = small().partial_fit(X[:300], y[:300])
    b = small().partial_fit(X[300:], y[300:])
    with pytest.raises(ValueError, match="scales its rows differently"):
        a.merge(b)
    with pytest.raises(ValueError, match="other members"):
        a.merge(small(random_state=4).partial_fit(X[:300], y[:300]))
    with pytest.raises(ValueError, match="not seen any data"):
        a.merge(small())
    with pytest.raises(TypeError, match="must be a PooledClassifier"):
        a.merge("b")  # type: ignore[arg-type]


def test_late_labels_are_learned_alike_however_they_come() -> None:
    X, y = stream(11, 330)
    whole, single = small(delay=20), small(delay=20)
    whole.partial_fit(X, y)
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    assert_same(whole, single)
    twin = clone(whole).partial_fit(X[:300], y[:300])
    twin = pickle.loads(pickle.dumps(twin))  # noqa: S301 - our own bytes
    assert_same(whole, twin.partial_fit(X[300:], y[300:]))
    with pytest.raises(ValueError, match="this model has delay=20"):
        whole.merge(single)


@pytest.mark.parametrize("p", [40, 5000])
def test_sparse_rows_give_the_bits_of_dense_ones(p: int) -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, p)) < 0.02, rng.normal(size=(300, p)), 0.0)
    y = (X[:, :20].sum(axis=1) > 0).astype(np.int64)
    dense, sparse = small(), small()
    expected = dense.predict_then_learn(X, y)
    assert_array_equal(expected, sparse.predict_then_learn(csr_array(X), y))
    assert_same(dense, sparse)


def test_fit_presents_rows_in_random_order_unless_told_otherwise() -> None:
    X, y = stream(13, 500)
    order = np.argsort(y, kind="stable")
    model = small().fit(X[order], y[order])
    again = small().fit(X[order], y[order])
    assert_same(model, again)
    kept = small(shuffle=False).fit(X, y)
    assert_same(kept, small().partial_fit(X, y, classes=y))
    assert model.score(X, y) > 0.6


def test_probabilities_are_such_from_the_first_row_on() -> None:
    X, y = stream(14, 300)
    model = small()
    for i in range(300):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        P = model.predict_proba(X[:20])
        assert np.isfinite(P).all()
        assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "column",
    [
        lambda rng, n: np.full(n, 7.0),
        lambda rng, n: np.full(n, 1e150),
        lambda rng, n: rng.normal(size=n) * 1e149,
        lambda rng, n: rng.normal(size=n) * 1e-300,
        lambda rng, n: np.full(n, np.nan),
        lambda rng, n: np.where(rng.random(n) < 0.9, np.nan, 1.0),
        lambda rng, n: 1e12 + rng.normal(size=n),
    ],
    ids=[
        "constant",
        "huge constant",
        "huge",
        "tiny",
        "missing",
        "nearly always missing",
        "far from zero",
    ],
)
def test_odd_columns_do_no_harm(column: Any) -> None:
    X, y = stream(15, 600)
    rng = np.random.default_rng(1)
    odd = np.column_stack([X, column(rng, 600), X[:, 0]])
    plain = np.mean(small().predict_then_learn(X, y) != y)
    with_odd = np.mean(small().predict_then_learn(odd, y) != y)
    assert with_odd < plain + 0.05


def test_one_feature_and_one_class_are_enough() -> None:
    model = small().partial_fit([[1.0], [2.0], [3.0]], ["a", "a", "a"])
    assert list(model.predict([[5.0]])) == ["a"]
    assert_allclose(model.predict_proba([[5.0]]), [[1.0]])
    model.partial_fit([[9.0]] * 9, ["b"] * 9)
    assert list(model.predict([[9.0], [2.0]])) == ["b", "a"]


def test_a_feature_that_moves_or_changes_units_is_followed() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 4000)
    X = rng.normal(size=(4000, 3))
    X[:, 0] += 2.0 * y
    still = np.mean(small().predict_then_learn(X, y)[2400:] != y[2400:])
    shifted = X.copy()
    shifted[2000:, 0] += 50.0
    units = X.copy()
    units[2000:, 0] *= 1000.0
    shrunk = X.copy()
    shrunk[2000:, 0] /= 1000.0
    for moved in (shifted, units, shrunk):
        error = np.mean(small().predict_then_learn(moved, y)[2400:] != y[2400:])
        assert error < still + 0.03


def test_informative_features_are_found_among_many() -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1500, 200))
    # No two of these features separate the classes by a line.
    y = ((X[:, 7] > 0.3) ^ (X[:, 50] > 0.3)).astype(np.int64)
    whole = small().partial_fit(X, y)
    without = [name for name in MEMBERS if name != "selected_neighbours"]
    rest = small(members=without).partial_fit(X, y)
    errors = whole.member_errors_
    assert errors["pool"] < 0.8 * rest.member_errors_["pool"]
    assert min(errors, key=lambda name: errors[name]) in ("selected_neighbours", "pool")


def test_a_new_class_does_not_copy_the_rows_that_boosted_trees_keep() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    members = ("boosted_trees", "transitions")
    model = PooledClassifier(members, random_state=0)
    model.partial_fit(X[:200], y[:200])
    before = model._state.states[0]
    y[200], y[300] = 2, 3
    with pytest.raises(ValueError, match="feature"):
        model.partial_fit(X[200:300, :2], y[200:300])
    assert before.rank.shape == (2,)
    model.partial_fit(X[200:300], y[200:300])
    model.predict_then_learn(X[300:], y[300:])
    assert model._state.states[0] is before
    assert before.rank.shape == (4,)


def test_weights_and_errors_have_names() -> None:
    X, y = stream(16, 300)
    model = small(members=("binned_bayes", "transitions"))
    predicted = model.predict_then_learn(X, y, classes=np.arange(4))
    assert list(model.weights_) == ["binned_bayes", "transitions"]
    assert list(model.member_errors_) == ["binned_bayes", "transitions", "pool"]
    assert model.member_errors_["pool"] == np.mean(predicted != y)
    assert model.n_updates_ == 300


def changeable(wrapped: Any) -> PooledModel:
    """Return the state of a pool, also of one inside a pipeline or a detector."""
    state = wrapped._state
    found: PooledModel = getattr(state, "inner", state)
    return found


@pytest.mark.parametrize("wrap", [None, "scaled", "drift"])
def test_predictions_of_a_table_do_not_depend_on_the_last_label(wrap: Any) -> None:
    X, y = stream(3, 400)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]  # constant labels are informative
    model: Any = small()
    if wrap == "scaled":
        model = make_stream_pipeline(RunningScaler(), model)
    elif wrap == "drift":
        model = DriftAware(model)
    model.predict_then_learn(X, y)
    tables, following = [], []
    for last in range(4):
        pool = changeable(model)
        pool.states[pool.names.index("transitions")].last[0] = last
        tables.append((model.predict(X), model.predict_proba(X), model.predict_set(X)))
        following.append((model.predict_next(X), model.predict_next_proba(X)))
    for table in tables[1:]:
        for one, other in zip(table, tables[0], strict=True):
            assert_array_equal(one, other)
    assert (following[0][0] != following[1][0]).any()
    assert (following[0][1] != following[1][1]).any()
    one_by_one = [model.predict(X[i : i + 1])[0] for i in range(0, 400, 7)]
    assert_array_equal(one_by_one, tables[0][0][::7])


def test_a_model_of_a_sorted_stream_is_of_some_use_to_other_rows() -> None:
    """The next row of the stream would have the last label, whatever it holds."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    first, rest = order[:1200], order[1200:]
    first = first[np.argsort(y[first], kind="stable")]
    model = PooledClassifier(random_state=0)
    model.partial_fit(X[first], y[first])
    assert np.mean(model.predict_next(X[rest]) == y[rest]) < 0.2
    assert np.mean(model.predict(X[rest]) == y[rest]) > 0.5


def test_the_names_of_weights_are_names_of_members() -> None:
    X, y = stream(13, 60, p=40)
    model = small().fit(X, y)
    assert set(MEMBERS) < set(model.weights_)
    again = small(members=list(model.weights_)).fit(X, y)
    assert again.weights_ == model.weights_
    alone = small(members=["window_forest_fast"]).fit(X, y)
    assert list(alone.weights_) == ["window_forest", "window_forest_fast"]
    with pytest.raises(ValueError, match="members must be one of 'class_covariance'"):
        small(members=["forest"]).fit(X, y)


def test_the_history_of_the_members_adds_up() -> None:
    X, y = stream(13, 1000)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 1000)
    model = small().partial_fit(X, y, sample_weight=weight)
    rows, weights, errors = model.member_history_
    assert list(rows) == [*range(32, 1000, 32), 1000]
    assert list(weights) == list(model.weights_)
    assert list(errors) == list(model.member_errors_)
    parts = np.add.reduceat(weight, [0, *rows[:-1]])
    for name, total in model.member_errors_.items():
        assert_allclose(errors[name] @ parts, total * weight.sum())
    for name, value in model.weights_.items():
        assert weights[name][-1] == value
    halfway = small().partial_fit(X[:512], y[:512], sample_weight=weight[:512])
    assert_array_equal(halfway.member_history_.rows, rows[:16])
    for name, values in halfway.member_history_.weights.items():
        assert_array_equal(values, weights[name][:16])
    with pytest.raises(AttributeError, match="no member_history_ before"):
        _ = small().member_history_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": "some"}, "members must be one of"),
        ({"members": ["trees"]}, "members must be one of"),
        ({"members": []}, "at least one member"),
        ({"n_projections": 20}, "multiple of 16"),
        ({"window": 3}, "at least 16"),
        ({"delay": -1}, "delay must be an integer of at least 0"),
    ],
)
def test_bad_parameters_are_refused_by_name(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        small(**parameters).partial_fit([[1.0]], [0])


def test_infinities_are_refused_and_missing_values_are_not() -> None:
    X, y = stream(17, 50)
    X[3, 1] = np.nan
    model = small().partial_fit(X, y)
    model.predict_one(X[3])
    X[4, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X)
