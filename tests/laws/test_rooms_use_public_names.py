"""Rooms other than the estimators use no private name of an estimator or a learner.

What they need beyond public methods is in `rpnb.estimators.protocol`.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import rpnb
from rpnb.drift import DriftAware
from rpnb.estimators.registry import learners
from rpnb.preprocessing import RunningScaler, StreamPipeline

PACKAGE = Path(rpnb.__file__).parent
#: Where private names of estimators may be used.
OWN = {"core", "_core", "estimators"}
#: Functions that read an attribute by name.
READERS = {"getattr", "hasattr", "setattr", "delattr"}


def private_names() -> set[str]:
    """Return the private attributes and methods of all estimators and learners."""
    made = [each.estimator() for each in learners().values()]
    made += [DriftAware(made[0]), StreamPipeline(RunningScaler(), made[0])]
    found = {name for model in made for name in dir(model) + dir(model._learner())}
    for model in made:
        for each in type(model).__mro__:
            found |= {*inspect.get_annotations(each)}
    return {
        name for name in found if name.startswith("_") and not name.startswith("__")
    }


def sources() -> list[str]:
    """Return the files of all other rooms."""
    found = (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
    return sorted(path.as_posix() for path in found if path.parts[0] not in OWN)


def uses(text: str, names: set[str]) -> Iterator[str]:
    """Yield the private names that a source reads of something other than `self`."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and node.attr in names:
            owner = node.value
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls")) and (
                not ast.unparse(owner).startswith("super()")
            ):
                yield f"{node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in READERS:
            name = node.args[1]
            if isinstance(name, ast.Constant) and name.value in names:
                yield f"{node.lineno}: {ast.unparse(node)}"


PRIVATE = private_names()


@pytest.mark.parametrize("path", sources())
def test_no_private_name_of_an_estimator_is_used(path: str) -> None:
    # The scaler is an estimator of that room, and a pipeline merges pipelines.
    own = path.startswith("preprocessing/")
    allowed = {"_state"} if own else set()
    text = (PACKAGE / path).read_text(encoding="utf-8")
    assert [*uses(text, PRIVATE - allowed)] == []


def test_a_private_name_would_be_found() -> None:
    assert {"_state", "_learner", "_index", "_frame"} <= PRIVATE
    text = "self.model._index\nmodel._state.pool\nself._state\nsuper()._learner()"
    assert [*uses(text, PRIVATE)] == ["1: self.model._index", "2: model._state"]
    assert len([*uses('getattr(model, "_index", None)', PRIVATE)]) == 1
