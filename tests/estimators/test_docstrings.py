"""Docstrings name all parameters, and describe the same parameter in the same words."""

import ast
import inspect
import re
from typing import Any

import pytest

from rpnb import evaluate, preprocessing, river
from rpnb.drift import DriftAware
from rpnb.estimators.registry import learners

#: Names that mean something else in each learner.
DIFFERENT = {"C", "eta", "n_estimators", "random_state", "update"}
#: Attributes whose text may differ between learners.
COUNTS = {"n_updates_"}


def entries(docstring: str) -> dict[str, str]:
    """Return the entries of a NumPy docstring: name, then type and text."""
    found = re.findall(r"^(\w+) : (.*\n(?:(?: {4}.*)?\n)*)", docstring, re.MULTILINE)
    return {name: text.strip() for name, text in found}


@pytest.mark.parametrize("name", learners())
def test_docstrings_name_all_parameters_and_attributes(name: str) -> None:
    estimator = learners()[name].estimator
    docstring = inspect.getdoc(estimator) or ""
    attributes = {"classes_", "n_features_in_", "feature_names_in_", "n_samples_seen_"}
    named = entries(docstring).keys()
    assert {*inspect.signature(estimator).parameters, *attributes} <= named
    assert f" import {estimator.__name__}\n>>> " in docstring
    assert ("LIBOL" in docstring) == ("libol" in named)


def test_learners_describe_the_same_parameter_in_the_same_words() -> None:
    texts: dict[str, dict[str, list[str]]] = {}
    for name, learner in learners().items():
        for entry, text in entries(inspect.getdoc(learner.estimator) or "").items():
            texts.setdefault(entry, {}).setdefault(text, []).append(name)
    two_class = {"ALMA", "SOP", "IELLIP", "NHERD", "NAROW"}
    for entry, by_text in texts.items():
        if entry in DIFFERENT | COUNTS:
            continue
        if entry == "form":  # some learners have the two-class form only
            assert sorted(map(len, by_text.values())) == [len(two_class), 11]
            assert two_class in map(set, by_text.values())
            continue
        if entry == "n_jobs":  # learners share out different work
            assert sorted(by_text.values()) == [["Pooled"], ["RPNB"]]
            continue
        assert len(by_text) == 1, (entry, [*by_text.values()])
    assert len(texts["class_weight"]) == 1
    assert sum(map(len, texts["libol"].values())) == 16


def documented() -> dict[str, Any]:
    """Return what the reference shows with parameters, by name."""
    found: dict[str, Any] = {name: each.estimator for name, each in learners().items()}
    found |= {"DriftAware": DriftAware, "prequential": evaluate.prequential}
    found |= {"river": river.RPNBClassifier, "river pooled": river.PooledClassifier}
    found["RunningScaler"] = preprocessing.RunningScaler
    return found


@pytest.mark.parametrize("name", documented())
def test_the_site_shows_the_defaults_of_the_signature(name: str) -> None:
    griffe = pytest.importorskip("griffe")  # of the group docs
    text = griffe.Docstring(inspect.getdoc(documented()[name]) or "")
    parts = (s for s in text.parse("numpy") if s.kind.value == "parameters")
    shown = {each.name: each.default for part in parts for each in part.value}
    actual = inspect.signature(documented()[name]).parameters
    for parameter, default in shown.items():
        if default is not None:
            value = 2.0**0.5 if default == "√2" else ast.literal_eval(str(default))
            assert value == actual[parameter].default, parameter
        else:
            usual = actual[parameter].default
            assert usual in (inspect.Parameter.empty, None), parameter
