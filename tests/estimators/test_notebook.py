"""Models in notebooks: scikit-learn's diagram, and a line of facts."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn import config_context

from rpnb import FrozenRPNB, RPNBClassifier
from rpnb.baselines import make
from rpnb.drift import DriftAware
from rpnb.estimators.notebook import size_of
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(60, 3))
Y = np.array(["<a>", "b", "c"])[_RNG.integers(0, 3, 60)]


def facts(model: Any) -> str:
    shown: str = model._repr_html_()
    (line,) = re.findall(r'<div class="rpnb-facts"[^>]*>(.*?)</div>', shown)
    assert shown.endswith("</div>")
    assert model._repr_mimebundle_()["text/html"].count("rpnb-facts") == 1
    return str(line)


def test_a_model_says_what_it_has_seen() -> None:
    model = RPNBClassifier(5, random_state=0)
    assert facts(model) == "RPNBClassifier that has seen no rows yet"
    model.partial_fit(X, Y)
    classes, features, rows, updates, size = facts(model).split(" · ")
    assert classes == "3 classes: &lt;a&gt;, b, c"
    assert (features, rows) == ("3 features", "60 rows seen")
    assert updates == f"{model.n_updates_} updates"
    assert size == f"{(size_of(model) or 0) / 1000:.0f} kB"


def test_a_frozen_model_does_not_learn() -> None:
    frozen = RPNBClassifier(5, random_state=0).partial_fit(X, Y).compile()
    assert "3 features · does not learn · " in facts(frozen)
    assert "no rows yet" in facts(FrozenRPNB())


@pytest.mark.parametrize(
    "model",
    [
        make("PA"),
        DriftAware(make("GaussianNB")),
        make_stream_pipeline(RunningScaler(), make("AROW")),
    ],
    ids=["linear", "drift", "pipeline"],
)
def test_every_learner_has_one_line(model: Any) -> None:
    assert "60 rows seen" in facts(model.partial_fit(X, Y))


def test_many_classes_are_counted() -> None:
    y = np.array([f"a class with quite a long name {i}" for i in range(60)])
    shown = facts(make("GaussianNB").partial_fit(X, y))
    assert shown.startswith("60 classes: a class with quite a lo…, ")
    assert ", 54 more · " in shown


def test_whoever_wants_text_gets_text() -> None:
    model = RPNBClassifier(5, random_state=0).partial_fit(X, Y)
    with config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")
