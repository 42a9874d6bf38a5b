"""Estimators in model files, and the conversion of parameters to JSON."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from rpnb._version import __version__
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.files import (
    ModelFileError,
    ModelReader,
    ModelSource,
    name_of,
    write_model,
)
from rpnb.estimators.saving.schema import (
    MOST_FEATURES,
    StateSchema,
    check_arrays,
    check_values,
)

_KEYS: Final = {
    *("format", "format_version", "rpnb_version", "estimator", "parameters"),
    *("classes", "classes_dtype", "n_features_in", "feature_names_in"),
    *("state", "state_version"),
}
#: Version of parameters, state and arrays; raised when the format of one changes.
STATE_VERSION: Final = 1
_LABEL_DTYPE: Final = re.compile(r"\|b1|[<>|][iuf][1248]|<f16|[<>]U\d{1,9}|\|O")
#: Largest size of the labels as an array; their dtype gives the longest label.
_MOST_LABEL_BYTES: Final = 1 << 26


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
    state_version: int = STATE_VERSION
    """version of parameters, state and arrays"""
    rpnb_version: str = __version__
    """version of the package that wrote the file"""


def describe(
    estimator: Any,
    parameters: dict[str, Any],
    classes: LabelArray,
    state: dict[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> SavedEstimator:
    """Return a fitted estimator as a model file holds it."""
    names = getattr(estimator, "feature_names_in_", None)
    p = estimator.n_features_in_
    name = type(estimator).__name__
    return SavedEstimator(name, parameters, classes, p, names, state, arrays)


def require_fitted(estimator: Any) -> None:
    """Refuse to save an estimator that has learned nothing."""
    if not estimator.__sklearn_is_fitted__():
        raise NotFittedError(
            f"This {type(estimator).__name__} instance has nothing to save: it is not "
            "fitted yet."
        )


def load_estimator(
    estimator: Any,
    path: ModelSource,
    key: bytes | None,
    schema_of: Callable[[SavedEstimator], StateSchema],
    restore: Callable[[SavedEstimator, dict[str, NDArray[Any]]], Any],
) -> Any:
    """Read a model file of an estimator whose state has one schema.

    `restore` returns the estimator from the content and the checked arrays.
    """
    saved = read_estimator(
        path, estimator.__name__, key, lambda saved: schema_of(saved).arrays.keys()
    )
    with report_damage(path):
        schema = schema_of(saved)
        check_values(saved.state, schema)
        model = restore(saved, check_arrays(saved.arrays, schema))
        set_features(model, saved)
    return model


def set_features(estimator: Any, saved: SavedEstimator) -> None:
    """Set the number and the names of the features of an estimator from a file."""
    estimator.n_features_in_ = saved.n_features
    if saved.feature_names is not None:
        estimator.feature_names_in_ = saved.feature_names


def write_estimator(
    path: ModelSource,
    saved: SavedEstimator,
    *,
    attached: Mapping[str, Any] | None = None,
    key: bytes | None = None,
) -> None:
    """Write a model file atomically."""
    if saved.n_features > MOST_FEATURES:
        raise ValueError(
            f"a model of more than {MOST_FEATURES} features cannot be saved, got "
            f"{saved.n_features}"
        )
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
    write_model(path, metadata, saved.arrays, attached=attached, key=key)


def read_estimator(
    path: ModelSource,
    estimator: str,
    key: bytes | None = None,
    array_names: Callable[[SavedEstimator], Collection[str] | None] = lambda _: None,
) -> SavedEstimator:
    """Read a model file, which must hold an estimator of this class.

    `array_names` returns, before any array is read, which arrays the estimator must
    have; None stands for any.
    """
    with ModelReader(path) as file, report_damage(path):
        written_by = file.metadata.get("estimator")
        if written_by != estimator:
            raise ModelFileError(
                f"{name_of(path)} holds a {written_by}, not a {estimator}: load it "
                f"with {written_by}.load"
            )
        saved = _saved_without_arrays(file.metadata)
        _require_version(saved)
        names = array_names(saved)
        if names is not None:
            file.require_arrays(names)
        return saved._replace(arrays=file.read(key).arrays)


def _saved_without_arrays(metadata: dict[str, Any]) -> SavedEstimator:
    """Return the content of a file's metadata, or raise an error that names the key."""
    unknown = sorted(set(metadata) - _KEYS)
    if unknown:
        raise ValueError(f"its metadata have an unknown key {unknown[0]!r}")
    for name in sorted(_KEYS - set(metadata)):
        raise KeyError(name)
    for name in ("parameters", "state"):
        if not isinstance(metadata[name], dict):
            raise TypeError(f"its {name} are {type(metadata[name]).__name__}")
    p = metadata["n_features_in"]
    if type(p) is not int or not 1 <= p <= MOST_FEATURES:
        raise ValueError(f"n_features_in must be 1 to {MOST_FEATURES}, got {p!r}")
    version = metadata["rpnb_version"]
    if type(version) is not str:
        raise TypeError(f"its rpnb_version is {version!r}")
    return SavedEstimator(
        metadata["estimator"],
        metadata["parameters"],
        _labels(metadata["classes"], metadata["classes_dtype"]),
        p,
        _feature_names(metadata["feature_names_in"], p),
        metadata["state"],
        {},
        _state_version(metadata),
        version,
    )


def _labels(labels: Any, dtype: Any) -> LabelArray:
    """Return the classes of a model: sorted, unique labels of the given type."""
    if type(labels) is not list or not labels:
        raise TypeError("its classes are not a list of labels")
    if type(dtype) is not str or _LABEL_DTYPE.fullmatch(dtype) is None:
        raise TypeError(f"its classes are of type {dtype!r}")
    kind = np.dtype(dtype)
    expected = {"b": bool, "f": float, "U": str, "O": str}.get(kind.kind, int)
    for label in labels:
        if type(label) is not expected:
            raise TypeError(f"its class {label!r} is not of type {dtype}")
    if len(labels) * kind.itemsize > _MOST_LABEL_BYTES:
        raise ValueError(f"its classes, {len(labels)} of type {dtype}, are too long")
    classes = np.array(labels, dtype=kind)
    rising = bool((classes[:-1] < classes[1:]).all())
    if classes.dtype != kind or classes.tolist() != labels or not rising:
        raise ValueError(f"its classes are not sorted labels of type {dtype}")
    return classes


def _feature_names(names: Any, p: int) -> NDArray[Any] | None:
    """Return the names of p features, None if they have none."""
    if names is None:
        return None
    if type(names) is not list or not all(type(name) is str for name in names):
        raise TypeError("feature_names_in is not a list of strings")
    if len(names) != p:
        raise ValueError(f"feature_names_in has {len(names)} names for {p} features")
    return np.array(names, dtype=object)


def _require_version(saved: SavedEstimator) -> None:
    """Refuse a model file of another state version than this one."""
    if saved.state_version != STATE_VERSION:
        raise ModelFileError(
            f"the model file holds a {saved.estimator} of state version "
            f"{saved.state_version}, written by rpnb {saved.rpnb_version}; this rpnb "
            f"reads version {STATE_VERSION}: use the rpnb that wrote it"
        )


def _state_version(metadata: Mapping[str, Any]) -> int:
    """Return the state version in a file's metadata."""
    version = metadata["state_version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"its state version is {version!r}")
    return version


@contextmanager
def report_damage(path: ModelSource) -> Iterator[None]:
    """Turn errors caused by invalid content of a model file into ModelFileError."""
    try:
        yield
    except ModelFileError:
        raise
    except (
        AttributeError,
        IndexError,
        KeyError,
        MemoryError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
        ZeroDivisionError,
    ) as error:
        raise ModelFileError(
            f"{name_of(path)} is damaged: {type(error).__name__}: {error}"
        ) from error


def check_parameters(given: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse parameters that files never contain, and invalid seeds."""
    for name in given:
        if name not in known:
            raise TypeError(f"it has a parameter {name!r}, which is not kept in files")
    seed = given.get("random_state", 0)
    if type(seed) is not int or seed < 0:
        raise ValueError(f"its random_state is {seed!r}")
    shuffle = given.get("shuffle", True)
    if type(shuffle) is not bool:
        raise ValueError(f"its shuffle is {shuffle!r}")


def parameters_to_json(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as JSON values; a seed that is not a number is left out."""
    return {
        name: _as_json(value)
        for name, value in parameters.items()
        if name != "random_state" or _is_seed(value)
    }


def _is_seed(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and value >= 0


def _as_json(value: Any) -> Any:
    """Return a NumPy scalar, or a number such as a fraction, as a Python number."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Real) and not isinstance(value, int | float):
        return float(value)
    return value
