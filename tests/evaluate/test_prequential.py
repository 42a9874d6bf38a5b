"""`prequential` gives the same results as plain loops."""

from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from river import linear_model, naive_bayes, preprocessing
from river.evaluate import progressive_val_score
from river.metrics import Accuracy
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB as SklearnGaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from estimators.streams import blobs, cuts, seeds, small
from evaluate import naive
from rpnb import baselines
from rpnb.estimators.protocol import initialise
from rpnb.evaluate import PrequentialResult, prequential

WORDS = np.array(["ant", "bee", "cat"])


def test_learners_may_be_a_list_and_labels_a_column() -> None:
    X, numbers = blobs(3)
    models = [small(), SklearnGaussianNB(), baselines.GaussianNB()]
    named = {"RPNBClassifier": models[0], "GaussianNB": models[1]}
    named["GaussianNB 2"] = models[2]
    expected = prequential(named, X, WORDS[numbers], keep_answers=True)
    for frame in (pandas.DataFrame(X), polars.DataFrame(X)):
        frame.columns = [f"x{j}" for j in range(X.shape[1])]
        if isinstance(frame, pandas.DataFrame):
            frame.insert(1, "kind", WORDS[numbers])
        else:
            frame.insert_column(1, polars.Series("kind", WORDS[numbers]))
        found = prequential(models, frame, "kind", keep_answers=True)
        assert list(found)[:3] == list(named)
        assert predictions(found) == predictions(expected)
    with pytest.raises(ValueError, match="X has no column 'sort', only"):
        prequential(models, frame, "sort")
    with pytest.raises(TypeError, match="y='kind' names a column, for which X must be"):
        prequential(models, X, "kind")
    with pytest.raises(ValueError, match="models must hold at least one learner"):
        prequential([], X, WORDS[numbers])


@pytest.mark.parametrize("metric", ["accuracy", "log_loss"])
def test_scikit_learns_naive_bayes_gives_no_warnings(metric: Any) -> None:
    """Warnings are errors here; of classes without rows it divides by 0."""
    X, numbers = blobs(3)
    prequential(SklearnGaussianNB(), X, WORDS[numbers], metrics=[metric])


def test_scikit_learns_naive_bayes_row_by_row_gets_a_warning() -> None:
    X, numbers = blobs(3)
    X[:, 0] = 1.0  # as the corners of images are
    with pytest.warns(UserWarning, match=r"NB: .* set batch_size=100") as found:
        prequential({"NB": SklearnGaussianNB()}, X, WORDS[numbers])
    assert len(found) == 1
    # No warning, which would be an error.
    prequential({"NB": SklearnGaussianNB()}, X, WORDS[numbers], batch_size=10)


def native() -> dict[str, Any]:
    """Learners that learn from mistakes, from margins and from everything."""
    return {
        "RPNB": small(),
        "RPNB batches": small(batch_size=7),
        "PA": baselines.PA(),
        "AROW": baselines.AROW(),
        "NB": baselines.GaussianNB(),
    }


def predictions(result: PrequentialResult) -> dict[str, list[Any]]:
    return {name: list(result[name].answers or ()) for name in result}


@settings(max_examples=15)
@given(seeds, st.data())
def test_predictions_do_not_depend_on_the_chunking(
    seed: int, data: st.DataObject
) -> None:
    X, numbers = blobs(seed)
    y = WORDS[numbers]
    whole = prequential(native(), X, y, keep_answers=True, every=13)
    chunks = [(X[part], y[part]) for part in data.draw(cuts(len(y)))]
    every = data.draw(st.integers(1, 60))
    parts = prequential(native(), iter(chunks), keep_answers=True, every=every)
    assert predictions(parts) == predictions(whole)
    for name in whole:
        one, other = whole[name], parts[name]
        assert one.updates[-1] == other.updates[-1]
        assert one.rows[-1] == other.rows[-1] == len(y)
        assert one.last("kappa") == other.last("kappa")


def test_learners_of_the_package_predict_as_in_a_loop_of_single_rows() -> None:
    X, numbers = blobs(1, n=80)
    y = WORDS[numbers]
    result = prequential(native(), X, y, keep_answers=True)
    models = native()
    batches = models.pop("RPNB batches")
    for name, model in models.items():
        moments = range(len(y))
        expected = naive.process_late(model, X, y, moments, moments)
        assert list(result[name].answers or ()) == expected
        assert result[name].updates[-1] == model.n_updates_
    predicted: list[Any] = []
    for begin in range(0, 80, 7):
        part = slice(begin, begin + 7)
        predicted += batches.predict_then_learn(X[part], y[part]).tolist()
    # Before anything is learned a batch has no prediction, although its rows are seen.
    assert list(result["RPNB batches"].answers or ())[7:] == predicted[7:]


@pytest.mark.parametrize("batch_size", [1, 4])
def test_scikit_learn_predicts_a_batch_then_learns_it(batch_size: int) -> None:
    X, y = blobs(2, n=50)
    learner = SGDClassifier(random_state=0)
    result = prequential(
        learner, X, y, batch_size=batch_size, keep_answers=True, every=7
    )
    model = deepcopy(learner)
    expected: list[Any] = []
    for begin in range(0, 50, batch_size):
        part = slice(begin, begin + batch_size)
        begun = begin > 0
        here = len(y[part])
        expected += model.predict(X[part]).tolist() if begun else [None] * here
        model.partial_fit(X[part], y[part], **({} if begun else {"classes": [0, 1, 2]}))
    one = result["SGDClassifier"]
    assert list(one.answers or ()) == expected
    assert_array_equal(result.models["SGDClassifier"].coef_, model.coef_)
    assert one.updates[-1] == 50
    assert one.updates[0] == 7 // batch_size * batch_size


def river_nb() -> Any:
    return naive_bayes.GaussianNB()


def river_models() -> dict[str, Any]:
    return {
        "NB": river_nb(),
        "LR": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    }


@pytest.mark.parametrize("delay", [None, 0, 1, 5])
def test_river_classifiers_have_the_accuracy_that_river_computes(
    delay: int | None,
) -> None:
    X, y = blobs(3, M=2, n=100)
    labels = y.astype(bool)
    rows: list[Any] = [
        (dict(enumerate(x)), bool(t)) for x, t in zip(X.tolist(), labels, strict=True)
    ]
    found = prequential(river_models(), iter(rows), delay=delay)
    table = prequential(river_models(), X, labels, delay=delay)
    for name, model in river_models().items():
        accuracy: Any = Accuracy()
        metric = progressive_val_score(rows, model, accuracy, delay=delay)
        # River leaves out rows without a prediction, which count as mistakes here.
        missing = sum(1 for a in _predictions_of(name, X, labels, delay) if a is None)
        expected = metric.get() * (100 - missing) / 100
        assert_allclose(found[name].last("accuracy"), expected, rtol=1e-12)
        assert_allclose(table[name].last("accuracy"), expected, rtol=1e-12)


def _predictions_of(name: str, X: Any, y: Any, delay: int | None) -> tuple[Any, ...]:
    model = river_models()[name]
    result = prequential(model, X, y, delay=delay, keep_answers=True, references=False)
    (one,) = result.courses.values()
    assert one.answers is not None
    return one.answers


def test_dicts_with_features_in_another_order_are_the_same_rows() -> None:
    X, y = blobs(4)
    names = ["a", "b", "c", "d"]
    rows = [
        (dict(zip(names, x, strict=True)), t)
        for x, t in zip(X.tolist(), y, strict=True)
    ]
    rows[3] = (dict(reversed(rows[3][0].items())), rows[3][1])
    result = prequential(native(), iter(rows), keep_answers=True)
    assert predictions(result) == predictions(
        prequential(native(), X, y, keep_answers=True)
    )


def test_frames_and_sparse_matrices_are_tables() -> None:
    X, y = blobs(5)
    X[X < 0.0] = 0.0
    names = ["a", "b", "c", "d"]
    models = {"PA": baselines.PA(), "river": river_nb()}
    expected = predictions(prequential(models, X, y, keep_answers=True))
    tables = [pandas.DataFrame(X, columns=names), polars.DataFrame(X, schema=names)]
    for table in tables:
        assert predictions(prequential(models, table, y, keep_answers=True)) == expected
        for delay in (0, 4):
            late = prequential(models, table, y, keep_answers=True, delay=delay)
            plain = prequential(models, X, y, keep_answers=True, delay=delay)
            assert predictions(late) == predictions(plain)
    sparse = prequential(
        {"PA": baselines.PA()}, csr_array(X), y, keep_answers=True, delay=3
    )
    dense = prequential({"PA": baselines.PA()}, X, y, keep_answers=True, delay=3)
    assert predictions(sparse) == predictions(dense)


def test_references_are_the_majority_and_the_last_label() -> None:
    X, numbers = blobs(6)
    result = prequential(small(), X, WORDS[numbers], keep_answers=True)
    truth = WORDS[numbers].tolist()
    assert list(result) == ["RPNBClassifier", "majority class", "same as last"]
    assert list(result["same as last"].answers or ()) == [None, *truth[:-1]]
    majority = [None] + [
        max(sorted(set(truth[:i])), key=truth[:i].count) for i in range(1, len(truth))
    ]
    assert list(result["majority class"].answers or ()) == majority
    assert result["same as last"].last("kappa_temporal") == 0.0
    alone = prequential(small(), X, WORDS[numbers], references=False)
    assert list(alone) == ["RPNBClassifier"]


def test_checkpoints_stand_every_so_many_rows_and_at_the_end() -> None:
    X, y = blobs(7, n=95)
    result = prequential(small(), X, y, every=20, window=30, keep_answers=True)
    one = result["RPNBClassifier"]
    assert one.rows.tolist() == [20, 40, 60, 80, 95]
    predicted = list(one.answers or ())
    wrong = np.array([a != t for a, t in zip(predicted, y.tolist(), strict=True)])
    for i, row in enumerate(one.rows):
        last = wrong[max(row - 30, 0) : row]
        assert_allclose(one.figures["window"]["accuracy"][i], 1.0 - last.mean())
        # Only mistakes are learned.
        assert one.updates[i] == wrong[:row].sum()
    assert (np.diff(one.seconds) > 0.0).all()


def test_default_checkpoints_are_a_fiftieth_of_a_table() -> None:
    X, y = blobs(8, n=101)
    assert prequential(baselines.PA(), X, y).every == 3
    assert len(prequential(baselines.PA(), X[:20], y[:20])["PA"].rows) == 20
    assert prequential(baselines.PA(), iter([(X, y)])).every == 1000


def test_log_loss_is_of_probabilities_before_the_label_is_learned() -> None:
    X, y = blobs(9, n=60)
    models = {
        "RPNB": small(),
        "PA": baselines.PA(),
        "SGD": SGDClassifier(loss="log_loss", random_state=0),
        "river": river_nb(),
    }
    result = prequential(models, X, y, metrics=["log_loss", "error"], classes=[0, 1, 2])
    model, losses = small(), []
    # The classes are declared: there are probabilities from the first row on.
    initialise(model, X.shape[1], np.arange(3))
    for i in range(60):
        row = slice(i, i + 1)
        p = model.predict_proba(X[row])[0, y[i]]
        losses.append(-np.log(max(p, np.finfo(float).eps)))
        model.partial_fit(X[row], y[row], classes=[0, 1, 2])
    assert_allclose(result["RPNB"].last("log_loss"), np.mean(losses), rtol=1e-12)
    assert np.isnan(result["PA"].last("log_loss"))
    assert np.isnan(result["majority class"].last("log_loss"))
    assert 0.0 < result["SGD"].last("log_loss") < 40.0
    assert 0.0 < result["river"].last("log_loss") < 40.0


def test_declared_classes_are_known_from_the_first_row_on() -> None:
    X, y = blobs(10)
    found = prequential(small(), X, y, classes=[2, 1, 0], keep_answers=True)
    expected = small().predict_then_learn(X, y, classes=[0, 1, 2]).tolist()
    assert list(found["RPNBClassifier"].answers or ()) == expected


def test_models_are_not_changed_and_learned_copies_are_returned() -> None:
    X, y = blobs(11)
    model, river_model = small(), river_nb()
    result = prequential({"a": model, "b": river_model}, X, y)
    assert not hasattr(model, "classes_")
    assert river_model.predict_one({0: 1.0}) is None
    assert result.models["a"].n_samples_seen_ == len(y)
    # One that has learned resumes, and its former updates are not counted again.
    warm = prequential(result.models["a"], X, y, keep_answers=True)
    again = small().partial_fit(X, y)
    before = again.n_updates_
    predicted = again.predict_then_learn(X, y).tolist()
    one = warm["RPNBClassifier"]
    assert list(one.answers or ()) == predicted
    assert one.updates[-1] == again.n_updates_ - before


def test_a_stream_is_read_once_and_not_beyond_its_chunk() -> None:
    X, y = blobs(12)
    read = []

    def chunks() -> Iterator[tuple[Any, Any]]:
        for begin, end in pairwise([0, 20, 40, 60]):
            read.append(begin)
            yield X[begin:end], y[begin:end]

    result = prequential({"a": small(), "b": baselines.PA()}, chunks())
    assert read == [0, 20, 40]
    assert result.rows == 60


def test_pipelines_of_scikit_learn_learn_step_by_step() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 120)
    X = (rng.normal(size=(120, 3)) + 2.0 * y[:, None]) * [1.0, 1e4, 1e-3]
    pipeline = make_pipeline(
        StandardScaler(), "passthrough", SGDClassifier(random_state=0)
    )
    result = prequential({"pipeline": pipeline}, X, y, keep_answers=True)
    scaler, learner = StandardScaler(), SGDClassifier(random_state=0)
    expected: list[Any] = [None]
    for i in range(120):
        row, label = X[i : i + 1], y[i : i + 1]
        if i > 0:
            expected.append(learner.predict(scaler.transform(row))[0])
        scaler.partial_fit(row)
        learner.partial_fit(scaler.transform(row), label, classes=[0, 1])
    assert result["pipeline"].answers is not None
    assert list(result["pipeline"].answers) == expected
    assert isinstance(result.models["pipeline"], Pipeline)
    assert_array_equal(
        result.models["pipeline"].predict(X[:5]),
        learner.predict(scaler.transform(X[:5])),
    )
    assert not hasattr(pipeline[-1], "classes_")
    with pytest.raises(TypeError, match="its step 'normalizer' has no partial_fit"):
        prequential(make_pipeline(Normalizer(), SGDClassifier()), X, y)
    with pytest.raises(TypeError, match="must learn from a stream"):
        prequential(make_pipeline(StandardScaler(), MinMaxScaler()), X, y)
