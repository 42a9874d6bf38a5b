"""Docstrings have the text that they share, in `help` and on the site."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import rpnb
from rpnb import evaluate, preprocessing, river
from rpnb.drift import DriftAware
from rpnb.estimators.docstrings import _TEXTS, with_shared_text
from rpnb.estimators.registry import learners


def entries(docstring: str) -> set[str]:
    """The names before the colons of a NumPy docstring."""
    lines = re.findall(r"^(\w.*?) : ", docstring, re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


@pytest.mark.parametrize("name", learners())
def test_docstrings_name_all_parameters_and_attributes(name: str) -> None:
    estimator = learners()[name].estimator
    docstring = inspect.getdoc(estimator) or ""
    assert not re.search(r"^ *\{", docstring, re.MULTILINE)
    attributes = {"classes_", "n_features_in_", "feature_names_in_", "n_seen_"}
    assert {*inspect.signature(estimator).parameters, *attributes} <= entries(docstring)
    assert f" import {estimator.__name__}\n>>> " in docstring
    assert ("LIBOL" in docstring) == ("libol" in entries(docstring))


def test_entries_are_indented_as_the_line_that_stands_for_them() -> None:
    text = with_shared_text(
        "First.\n\n    {a, libol}\n\n    {not a name\n    {a} b", "AROW"
    )
    lines = text.splitlines()
    assert lines[2:5] == [
        "    a : float, default=1.0",
        "        Σ starts as a·I.",
        ("    libol : bool, default=False"),
    ]
    assert lines[-2:] == ["    {not a name", "    {a} b"]


def test_an_unknown_entry_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing"):
        with_shared_text("{a, nothing}", "AROW")


def test_every_text_is_used() -> None:
    sources = [inspect.getsource(each.estimator) for each in learners().values()]
    lines = re.findall(r"^ *\{(.+)\}$", "\n".join([*sources, *_TEXTS.values()]), re.M)
    assert {name for line in lines for name in line.split(", ")} == set(_TEXTS)


def test_the_site_has_the_docstrings_of_help() -> None:
    griffe = pytest.importorskip("griffe")  # of the group docs
    from shared_docstrings import SharedDocstrings

    found = griffe.load(
        "rpnb.estimators.learners",
        search_paths=[Path(rpnb.__file__).parents[1]],
        extensions=griffe.load_extensions(SharedDocstrings),
    )
    for name in ("AROW", "OnlineBoosting", "MajorityClass"):
        estimator = learners()[name].estimator
        read = found[estimator.__module__.rpartition(".")[2]][name]
        assert read.docstring.value == inspect.getdoc(estimator)


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
