"""Nested learners in one model file: parameters, state and schema."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from numpy.typing import NDArray

from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.registry import find_learner
from rpnb.estimators.saving.estimator import STATE_VERSION
from rpnb.estimators.saving.fitted import new_model
from rpnb.estimators.saving.schema import StateSchema, ValueSchema
from rpnb.estimators.stream.learner import Learner, Shapes

# Prefix of the inner learner's entries in model files, and name of its state version.
_PREFIX: Final = "learner."
_VERSION: Final = "learner_state_version"
# Wrappers are in a layer above this one, so they are imported only when needed.
_HOLDERS: Final = {"StreamPipeline": "rpnb.preprocessing"}


def learner_to_json(learner: Any) -> dict[str, Any]:
    """Return the class and the parameters of a learner as JSON values."""
    return {
        "estimator": type(learner).__name__,
        "parameters": learner._parameters_to_json(),
    }


def learner_from_json(given: Mapping[str, Any]) -> Any:
    """Return a new learner from the JSON values of `learner_to_json`."""
    name = given["estimator"]
    if name in _HOLDERS:
        estimator = getattr(import_module(_HOLDERS[name]), name)
    else:
        found = find_learner(name)
        if found is None:
            raise ValueError(f"there is no learner {name!r}")
        estimator = found.estimator
    return new_model(estimator, given["parameters"])


def export_learner(
    learner: Learner[Any], inner: Any
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return JSON values and arrays of the state of a learner."""
    metadata, arrays = learner.export(inner)
    return {_VERSION: STATE_VERSION, **_prefixed(metadata)}, _prefixed(arrays)


def learner_schema(
    learner: Learner[Any],
    state: Mapping[str, Any],
    shapes: Shapes,
    M: int,
    p: int,
) -> StateSchema:
    """Return the schema of a learner's state in a file."""
    inner = learner.schema(_of_learner(state), _of_learner(shapes), M, p)
    return StateSchema(
        _prefixed(inner.arrays),
        {
            _VERSION: ValueSchema(int, STATE_VERSION, STATE_VERSION),
            **_prefixed(inner.values),
        },
    )


def restore_learner(
    learner: Learner[Any],
    classes: LabelArray,
    p: int,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> Any:
    """Return the state of a learner with these classes and p features from a file."""
    return learner.restore(_of_learner(metadata), _of_learner(arrays), classes, p)


def _prefixed(held: Mapping[str, Any]) -> dict[str, Any]:
    return {_PREFIX + name: value for name, value in held.items()}


def _of_learner(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of the inner learner, without their prefix."""
    return {
        name.removeprefix(_PREFIX): value
        for name, value in held.items()
        if name.startswith(_PREFIX)
    }
