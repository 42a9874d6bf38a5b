"""Models saved and loaded: the same to the bit, written atomically."""

import copy
import os
import pickle
from collections.abc import Callable
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from estimators.snapshots import snapshot, state_of
from estimators.streams import FAMILIES, blobs, small
from rpnb import PooledClassifier, RPNBClassifier

joblib = pytest.importorskip("joblib")
pandas = pytest.importorskip("pandas")

X, y = blobs(1, 90, M=5)

MODELS: dict[str, Callable[[], RPNBClassifier]] = {
    **{
        name: lambda family=family: small().fit(X, family[y])  # type: ignore[misc]
        for name, family in FAMILIES.items()
    },
    "booleans": lambda: small().fit(X, y > 2),
    "one class": lambda: small().fit(X, 0 * y),
    "a class never seen": lambda: small().partial_fit(X, y, classes=[9]),
    "frequency": lambda: small(class_prior="frequency").fit(X, y),
    "an array as prior": lambda: small(class_prior=np.full(5, 0.2)).fit(X, y),
    "a mapping as prior": lambda: small(
        class_prior={2: 0.1, 0: 0.3, 1: 0.2, 4: 0.3, 3: 0.1}
    ).fit(X, y),
    "a mapping with text": lambda: small(class_prior={"b": 0.4, "a": 0.6}).fit(
        X, np.array(["a", "b"])[y % 2]
    ),
    "another rule": lambda: small(combiner="median", update="all").fit(X, y),
    "other numbers": lambda: small(
        n_estimators=np.int64(3),
        n_components=np.int32(5),
        projection="achlioptas",
        prior_mean=np.float32(0.1),
        prior_variance=2,
        prior_weight=np.float64(0.0),
        var_floor=1e-6,
        temperature=1.5,
        batch_size=None,
        random_state=np.int64(9),
    ).fit(X, y),
    "no seed": lambda: small(random_state=None).fit(X, y),
    "a generator": lambda: small(random_state=np.random.default_rng(0)).fit(X, y),
    "a random state": lambda: small(random_state=np.random.RandomState(0)).fit(X, y),
    "named features": lambda: small().fit(
        pandas.DataFrame(X, columns=["a", "β", "c c", ""]), y
    ),
}


def saved(model: RPNBClassifier, folder: Path) -> Path:
    path = folder / "model.rpnb"
    model.save(path)
    return path


# The same to the bit


@pytest.mark.parametrize("kind", MODELS)
def test_a_loaded_model_is_the_saved_one_to_the_bit(kind: str, tmp_path: Path) -> None:
    model = MODELS[kind]()
    before = snapshot(model)
    loaded = RPNBClassifier.load(saved(model, tmp_path))
    assert snapshot(model) == before
    assert state_of(loaded) == state_of(model)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.n_features_in_ == 4
    rows = X
    if kind == "named features":
        rows = pandas.DataFrame(X, columns=model.feature_names_in_)
        assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    for ask in ("predict", "decision_function", "predict_proba"):
        assert_array_equal(getattr(loaded, ask)(rows), getattr(model, ask)(rows))
    labels = model.classes_[y % model.classes_.shape[0]]
    assert_array_equal(
        loaded.predict_then_learn(rows, labels), model.predict_then_learn(rows, labels)
    )
    assert state_of(loaded) == state_of(model)


@pytest.mark.parametrize("kind", MODELS)
def test_parameters_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    model = MODELS[kind]()
    expected = model.get_params()
    if not isinstance(model.random_state, int | np.integer):
        expected["random_state"] = None  # a generator cannot be kept, its draw is
    given = RPNBClassifier.load(saved(model, tmp_path)).get_params()
    if isinstance(expected["class_prior"], np.ndarray):
        expected["class_prior"] = expected["class_prior"].tolist()
    assert given == expected
    assert all(type(value).__module__ == "builtins" for value in given.values())


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    whole, in_parts = small(shuffle=False).fit(X, y), small(shuffle=False)
    for row in range(90):
        in_parts.partial_fit(X[row : row + 1], y[row : row + 1], classes=range(5))
    first = saved(whole, tmp_path).read_bytes()
    assert saved(in_parts, tmp_path).read_bytes() == first
    loaded = RPNBClassifier.load(tmp_path / "model.rpnb")
    assert saved(loaded, tmp_path).read_bytes() == first
    assert saved(whole.partial_fit(X, y), tmp_path).read_bytes() != first


def test_a_file_holds_the_statistics_and_little_else(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    letters = np.array([chr(ord("A") + m) for m in range(26)])
    rows, labels = rng.integers(0, 16, (200, 16)), letters[rng.integers(0, 26, 200)]
    model = RPNBClassifier(random_state=0)
    model.partial_fit(rows, labels, classes=letters)
    M, F = 26, 200 * 8
    assert model._state.moments.mean.shape == (M, F)
    assert saved(model, tmp_path).stat().st_size <= M * (2 * F + 1) * 8 + 16_000


def test_paths_may_be_text_and_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = small().fit(X, y)
    model.save("a model")
    assert state_of(RPNBClassifier.load("a model")) == state_of(model)
    assert os.listdir() == ["a model"]


# Whole or not at all


def fail(*_arguments: Any, **_named: Any) -> None:
    raise OSError("no space left")


def interrupt(*_arguments: Any, **_named: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("failure", [fail, interrupt])
@pytest.mark.parametrize(
    "step", ["os.fsync", "os.chmod", "os.replace", "numpy.lib.format.write_array"]
)
def test_a_failing_write_leaves_the_old_file_and_nothing_else(
    step: str, failure: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = saved(small().fit(X, y), tmp_path).read_bytes()
    model = small().fit(X, y + 1)
    with monkeypatch.context() as patch:
        patch.setattr(step, failure)
        with pytest.raises((OSError, KeyboardInterrupt)):
            model.save(tmp_path / "model.rpnb")
    assert [path.name for path in tmp_path.iterdir()] == ["model.rpnb"]
    assert (tmp_path / "model.rpnb").read_bytes() == old
    assert saved(model, tmp_path).read_bytes() != old


def test_a_model_that_has_seen_nothing_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="nothing to save"):
        small().save(tmp_path / "model.rpnb")
    with pytest.raises(FileNotFoundError):
        small().fit(X, y).save(tmp_path / "no such folder" / "model.rpnb")
    assert list(tmp_path.iterdir()) == []


def test_a_model_whose_parameters_were_changed_is_not_saved(tmp_path: Path) -> None:
    model = small().fit(X, y).set_params(n_estimators=8)
    with pytest.raises(ValueError, match=r"n_estimators was 7 .* and is 8 now"):
        model.save(tmp_path / "model.rpnb")
    assert list(tmp_path.iterdir()) == []


# Other ways to keep a model


def through_pickle(model: RPNBClassifier, _folder: Path) -> RPNBClassifier:
    restored: RPNBClassifier = pickle.loads(  # noqa: S301 - our own bytes
        pickle.dumps(model)
    )
    return restored


def through_a_mapped_file(model: RPNBClassifier, folder: Path) -> RPNBClassifier:
    joblib.dump(model, folder / "model.joblib")
    restored: RPNBClassifier = joblib.load(folder / "model.joblib", mmap_mode="r")
    return restored


def balanced_pool(**options: Any) -> PooledClassifier:
    return PooledClassifier(
        ["binned_bayes", "transitions"],
        class_weight="balanced",
        random_state=0,
        **options,
    )


KEPT = pytest.mark.parametrize(
    "kept",
    [
        through_pickle,
        through_a_mapped_file,
        lambda model, _folder: copy.deepcopy(model),
        lambda model, _folder: copy.copy(model),
    ],
    ids=["pickle", "joblib, mapped", "deepcopy", "copy"],
)


@KEPT
@pytest.mark.parametrize(
    "make",
    [
        lambda: small(class_prior="frequency"),
        lambda: small(class_weight="balanced"),
        balanced_pool,
    ],
    ids=["RPNB", "balanced RPNB", "balanced pool"],
)
def test_a_kept_model_learns_further_and_leaves_the_first_alone(
    make: Any, kept: Any, tmp_path: Path
) -> None:
    model = make().fit(X, y)
    before = snapshot(model)
    twin = kept(model, tmp_path)
    assert snapshot(twin) == before
    # First without a new class, so that it is the kept arrays that are written to.
    predictions = [twin.predict_then_learn(X, labels) for labels in (y, y + 1)]
    twin.learn_one(X[0], y[0])
    assert snapshot(model) == before
    for labels, expected in zip((y, y + 1), predictions, strict=True):
        assert_array_equal(model.predict_then_learn(X, labels), expected)
    model.learn_one(X[0], y[0])
    assert snapshot(model) == snapshot(twin)


@KEPT
def test_what_the_estimator_keeps_besides_the_state_is_copied_too(
    kept: Any, tmp_path: Path
) -> None:
    """Categories, rows that wait for labels, and counts of the rows asked for."""
    words = np.array(["ant", "bee", "cat"])[y % 3]
    frame = pandas.DataFrame({"a": X[:, 0], "b": words})
    model = balanced_pool(delays="varying").partial_fit(frame[:40], y[:40])
    ids = model.predict_later(frame[40:50])[1]
    model.ask(frame[50:60])
    saved = [BytesIO(), BytesIO(), BytesIO()]
    model.save(saved[0])
    twin = kept(model, tmp_path)
    twin.learn_later(ids[:5], y[40:45])
    twin.partial_fit(frame[50:], y[50:])
    twin.ask(frame[:5])
    model.save(saved[1])
    assert saved[0].getvalue() == saved[1].getvalue()
    assert len(model.waiting_) == 10
    twin.save(saved[2])
    assert saved[2].getvalue() != saved[0].getvalue()


def test_a_model_that_has_seen_nothing_can_be_kept_too(tmp_path: Path) -> None:
    assert snapshot(through_pickle(small(), tmp_path)) == snapshot(small())


def test_a_clone_has_the_parameters_and_has_seen_nothing() -> None:
    model = small(class_prior={0: 0.5, 1: 0.5}, update="all").fit(X, y % 2)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "classes_")
    assert state_of(twin.fit(X, y % 2)) == state_of(model)


def test_a_fraction_is_saved_as_a_number(tmp_path: Path) -> None:
    model = small(prior_weight=Fraction(1, 2)).fit(*blobs(1))
    model.save(tmp_path / "model")
    assert RPNBClassifier.load(tmp_path / "model").prior_weight == 0.5


def test_a_label_of_half_a_character_is_saved_as_it_is(tmp_path: Path) -> None:
    labels = np.array(["\ud800", "b"])[y % 2]
    model = small().fit(X, labels)
    model.save(tmp_path / "model.rpnb")
    again = RPNBClassifier.load(tmp_path / "model.rpnb")
    assert again.classes_.tolist() == ["b", "\ud800"]
    assert again.predict(X).tolist() == model.predict(X).tolist()
