"""A saved, pickled or copied model continues exactly as the original would."""

import copy
import io
import pickle
from pathlib import Path

import numpy as np
import pandas  # type: ignore[import-untyped]
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import rpnb
from learners import content, names, new, stream_for
from rpnb import PooledClassifier
from rpnb.estimators.protocol import go_back, snapshot
from rpnb.estimators.saving.files import ModelFileError


@pytest.mark.parametrize("name", names())
def test_files_pickles_and_copies_learn_as_the_model_would(
    name: str, tmp_path: Path
) -> None:
    n, cut = (400, 300) if name == "Pooled" else (80, 50)
    X, y = stream_for(name, n)
    model = new(name).fit(X[:cut], y[:cut])
    path = tmp_path / "model"
    model.save(path)
    twins = [
        type(model).load(path),
        rpnb.load(path),
        pickle.loads(pickle.dumps(model)),  # noqa: S301 - our own bytes
        copy.deepcopy(model),
    ]
    before = content(model)
    for twin in twins:
        assert type(twin) is type(model)
        assert twin.get_params() == model.get_params()
        assert content(twin) == before
    expected = model.predict_then_learn(X[cut:], y[cut:])
    for twin in twins:
        assert_array_equal(twin.predict_then_learn(X[cut:], y[cut:]), expected)
        assert content(twin) == content(model) != before
    assert not clone(model).__sklearn_is_fitted__()


@pytest.mark.parametrize("name", names())
def test_equal_models_give_equal_bytes(name: str) -> None:
    X, y = stream_for(name, 50)
    first, second = io.BytesIO(), io.BytesIO()
    model = new(name).fit(X, y)
    model.save(first)
    first.seek(0)
    type(model).load(first).save(second)
    assert first.getvalue() == second.getvalue()


@pytest.mark.parametrize("name", names())
def test_a_class_refuses_the_file_of_another(name: str) -> None:
    file = io.BytesIO()
    new(name).fit(*stream_for(name, 50)).save(file)
    other = type(new("PA" if name == "NoChange" else "NoChange"))
    with pytest.raises(ModelFileError, match="load it with"):
        other.load(file)


@pytest.mark.parametrize("refused", ["learned", "waiting", "asked"])
def test_a_model_goes_back_to_its_snapshot(refused: str) -> None:
    X, y = stream_for("Pooled", 200)
    words = pandas.DataFrame({"x": X[:, 0], "word": np.array(["a", "b", "c"])[y]})
    model = PooledClassifier(
        ["binned_bayes"],
        class_weight="balanced",
        delays="varying",
        random_state=0,
    ).partial_fit(words[:60], y[:60])
    _, ids = model.predict_later(words[60:70])
    model.ask(words[60:70])
    before, held = content(model), snapshot(model)
    if refused == "learned":
        model.partial_fit(words[100:], y[100:])
        model.predict_then_learn(words[:9], y[:9])
    elif refused == "waiting":
        model.predict_later(words[70:80])
        model.learn_later(ids[::2], y[60:70:2])
    else:
        model.ask(words[70:100])
    assert content(model) != before
    go_back(model, held)
    assert content(model) == before
