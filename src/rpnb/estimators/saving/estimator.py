"""Estimators that can be written to a file and read again."""

from abc import ABC, abstractmethod
from numbers import Real
from os import PathLike
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from rpnb._version import __version__
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.files import ModelFileError, read_model, write_model

State = TypeVar("State")


class SavedEstimator(BaseEstimator, ABC, Generic[State]):  # type: ignore[misc]
    """Abstract: an estimator whose state can be taken apart and put together."""

    classes_: LabelArray
    """(M,) the classes known so far, sorted."""
    n_features_in_: int
    """Number of features."""
    _state: State

    @abstractmethod
    def _dump(self, state: State) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a file must hold besides parameters and classes."""

    @abstractmethod
    def _restore(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> State:
        """Return the state that `_dump` took apart."""

    @abstractmethod
    def _set_classes(self, classes: LabelArray) -> None:
        """Take note of the classes."""

    @abstractmethod
    def _note_parameters(self) -> None:
        """Take note of the parameters that shaped the state."""

    @abstractmethod
    def _check_unchanged(self) -> None:
        """Refuse parameters that were changed since."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a file, whole or not at all.

        The file holds arrays and JSON, no pickle. Projections are not in it: they
        follow from the seed.
        """
        if "_state" not in self.__dict__:
            raise NotFittedError(
                f"This {type(self).__name__} instance has nothing to save: it is not "
                "fitted yet."
            )
        self._check_unchanged()
        metadata, arrays = self._dump(self._state)
        names = getattr(self, "feature_names_in_", None)
        write_model(
            path,
            {
                "rpnb_version": __version__,
                "estimator": type(self).__name__,
                "parameters": self._parameters_to_json(),
                "classes": self.classes_.tolist(),
                "classes_dtype": self.classes_.dtype.str,
                "n_features_in": self.n_features_in_,
                "feature_names_in": None if names is None else names.tolist(),
                "state": metadata,
            },
            arrays,
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` wrote; it behaves as the saved one, to the bit."""
        metadata, arrays = read_model(path)
        written_by = metadata.get("estimator")
        if written_by != cls.__name__:
            raise ModelFileError(
                f"{path} holds a {written_by}, not a {cls.__name__}: load it with "
                f"{written_by}.load"
            )
        try:
            model = cls(**cls._parameters_from_json(metadata["parameters"]))
            model._set_classes(
                np.array(metadata["classes"], dtype=np.dtype(metadata["classes_dtype"]))
            )
            model.n_features_in_ = int(metadata["n_features_in"])
            if metadata["feature_names_in"] is not None:
                model.feature_names_in_ = np.array(
                    metadata["feature_names_in"], dtype=object
                )
            model._state = model._restore(
                metadata["state"],
                arrays,
                model.classes_.shape[0],
                model.n_features_in_,
            )
            model._note_parameters()
        except ModelFileError:
            raise
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{path} is damaged: {type(error).__name__}: {error}"
            ) from error
        return model

    def _parameters_to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON values; a generator becomes None."""
        return {
            name: _as_json(value)
            for name, value in self.get_params(deep=False).items()
            if name != "random_state" or isinstance(value, int | np.integer)
        }

    @classmethod
    def _parameters_from_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        return parameters


def _as_json(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Real) and not isinstance(value, int | float):
        return float(value)
    return value
