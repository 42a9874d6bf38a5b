"""A learner inside another, in one model file: parameters, state and schema."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from numpy.typing import NDArray
from sklearn.base import clone

from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.registry import find_learner
from rpnb.estimators.saving.schema import StateSchema, ValueSchema
from rpnb.estimators.stream.learner import Shapes, StreamLearner

# Names in model files: of what belongs to the inner learner, and its state's version.
_PREFIX: Final = "learner."
_VERSION: Final = "learner_state_version"
# A learner that holds another is in a layer above this one: imported if a file has it.
_HOLDERS: Final = {"StreamPipeline": "rpnb.preprocessing"}


def learner_to_json(learner: Any) -> dict[str, Any]:
    """Return the class and the parameters of a learner as JSON values."""
    return {
        "estimator": type(learner).__name__,
        "parameters": learner._parameters_to_json(),
    }


def learner_from_json(given: Mapping[str, Any]) -> Any:
    """Return the learner, which has seen nothing, that `learner_to_json` was given."""
    name = given["estimator"]
    if name in _HOLDERS:
        estimator = getattr(import_module(_HOLDERS[name]), name)
    else:
        found = find_learner(name)
        if found is None:
            raise ValueError(f"there is no learner {name!r}")
        estimator = found.estimator
    return estimator._from_saved_parameters(given["parameters"])


def export_learner(
    learner: StreamLearner[Any], inner: Any
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return JSON values and arrays of the state of a learner."""
    metadata, arrays = learner._export_state(inner)
    version: Any = learner
    return (
        {_VERSION: version._state_version, **_prefixed(metadata)},
        _prefixed(arrays),
    )


def learner_schema(
    learner: StreamLearner[Any],
    state: Mapping[str, Any],
    shapes: Shapes,
    M: int,
    p: int,
) -> StateSchema:
    """Return what a file must hold of the state of a learner."""
    version = learner._state_version  # type: ignore[attr-defined]
    inner = learner._state_schema(_of_learner(state), _of_learner(shapes), M, p)
    return StateSchema(
        _prefixed(inner.arrays),
        {_VERSION: ValueSchema(int, version, version), **_prefixed(inner.values)},
    )


def import_learner(
    learner: Any,
    classes: LabelArray,
    p: int,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> Any:
    """Return the state of a learner with these classes and p features from a file."""
    reader = clone(learner)
    reader._set_classes(classes)
    reader.n_features_in_ = p
    M = classes.shape[0]
    return reader._import_state(_of_learner(metadata), _of_learner(arrays), M, p)


def _prefixed(held: Mapping[str, Any]) -> dict[str, Any]:
    return {_PREFIX + name: value for name, value in held.items()}


def _of_learner(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return what belongs to the learner, by the names that it has there."""
    return {
        name.removeprefix(_PREFIX): value
        for name, value in held.items()
        if name.startswith(_PREFIX)
    }
