"""What a model file holds of an estimator, and how parameters become JSON."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb._version import __version__
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.files import (
    ModelFile,
    ModelFileError,
    read_model,
    write_model,
)


class SavedEstimator(NamedTuple):
    """An estimator as a model file holds it."""

    estimator: str
    """name of its class"""
    parameters: dict[str, Any]
    """values that JSON has"""
    classes: LabelArray
    """(M,)"""
    n_features: int
    feature_names: NDArray[Any] | None
    state: dict[str, Any]
    """the part of its state that is JSON"""
    arrays: Mapping[str, NDArray[Any]]
    """the part of its state that is arrays"""
    state_version: int
    """of parameters, state and arrays: see `rpnb.estimators.saving.migrations`"""
    rpnb_version: str = __version__
    """of the package that wrote the file"""


def write_estimator(path: ModelFile, saved: SavedEstimator) -> None:
    """Write a model file; by its path, whole or not at all."""
    names = saved.feature_names
    metadata = {
        "rpnb_version": saved.rpnb_version,
        "estimator": saved.estimator,
        "parameters": saved.parameters,
        "classes": saved.classes.tolist(),
        "classes_dtype": saved.classes.dtype.str,
        "n_features_in": saved.n_features,
        "feature_names_in": None if names is None else names.tolist(),
        "state": saved.state,
        "state_version": saved.state_version,
    }
    write_model(path, metadata, saved.arrays)


def read_estimator(path: ModelFile, estimator: str) -> SavedEstimator:
    """Read a model file, which must hold an estimator of this class."""
    metadata, arrays = read_model(path)
    written_by = metadata.get("estimator")
    if written_by != estimator:
        raise ModelFileError(
            f"{path} holds a {written_by}, not a {estimator}: load it with "
            f"{written_by}.load"
        )
    with report_damage(path):
        names = metadata["feature_names_in"]
        return SavedEstimator(
            estimator,
            metadata["parameters"],
            np.array(metadata["classes"], dtype=np.dtype(metadata["classes_dtype"])),
            int(metadata["n_features_in"]),
            None if names is None else np.array(names, dtype=object),
            metadata["state"],
            arrays,
            _state_version(metadata),
            str(metadata.get("rpnb_version", "of a later version")),
        )


def _state_version(metadata: Mapping[str, Any]) -> int:
    """Return the state version in a file's metadata; 1 if it has none."""
    version = metadata.get("state_version", 1)
    if type(version) is not int or version < 1:
        raise ValueError(f"its state version is {version!r}")
    return version


@contextmanager
def report_damage(path: ModelFile) -> Iterator[None]:
    """Turn errors that wrong content of a model file leads to into ModelFileError."""
    try:
        yield
    except ModelFileError:
        raise
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path} is damaged: {type(error).__name__}: {error}"
        ) from error


def parameters_to_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON values; a seed that is no integer is left out."""
    return {
        name: _as_json(value)
        for name, value in parameters.items()
        if name != "random_state" or isinstance(value, int | np.integer)
    }


def _as_json(value: Any) -> Any:
    """Return a NumPy scalar, or a number such as a fraction, as Python's own."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Real) and not isinstance(value, int | float):
        return float(value)
    return value
