"""What a model keeps from call to call: its parameters, its state, and its file.

Parameters that shape the state may not change once there is one.
"""

from collections.abc import Collection, Mapping
from functools import cache
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.saving.columns import (
    array_names,
    check_categories,
    saved_columns,
    with_columns,
    without_columns,
)
from rpnb.estimators.saving.estimator import (
    SavedEstimator,
    check_parameters,
    parameters_to_json,
    read_estimator,
    report_damage,
    require_version,
    write_estimator,
)
from rpnb.estimators.saving.schema import (
    StateSchema,
    check_arrays,
    check_values,
    saturated,
)
from rpnb.estimators.stream.activity import lock_of
from rpnb.estimators.stream.asking import (
    ASKING,
    AsksForLabels,
    check_asking,
    has_asking,
    with_asking,
    without_asking,
)
from rpnb.estimators.stream.class_weights import (
    COUNTS,
    ClassWeight,
    check_class_weight,
    class_weight_from_json,
    class_weight_to_json,
    counts_schema,
    is_balanced,
)
from rpnb.estimators.stream.learner import Shapes, State, StreamLearner
from rpnb.estimators.stream.prediction_sets import (
    ENTRY,
    PredictsSets,
    check_thresholds,
    has_thresholds,
    with_thresholds,
    without_thresholds,
)


class FittedModel(PredictsSets, AsksForLabels, StreamLearner[State]):
    """Abstract: parameters that stay as they were, a state, files of both.

    A mixin of scikit-learn's `BaseEstimator`, which must come after it.
    """

    _state_version = 1
    """Version of what `save` writes; raised by one when that changes."""
    _changeable_parameters: tuple[str, ...] = ()
    """Parameters that may be changed between calls; the others shape the state."""
    feature_names_in_: LabelArray
    """(p,) names of the features, if the first rows had names that are texts."""

    # Parameters

    @property
    def _class_weight(self) -> ClassWeight:
        """The parameter `class_weight`, of learners that have it."""
        given: ClassWeight = getattr(self, "class_weight", None)
        return given

    def _record_parameters(self) -> None:
        """Keep the parameters that the state was made with; count rows anew."""
        self._class_counts = None
        self._recorded_parameters = {
            name: getattr(self, name) for name in _parameter_names(type(self))
        }

    def _check_unchanged(self) -> None:
        """Refuse parameters that were changed since, unless they are changeable."""
        for name, value in self._recorded_parameters.items():
            now = getattr(self, name)
            if now is value or _same(now, value):
                continue
            if name not in self._changeable_parameters:
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {now!r} now: "
                    "use fit, or a clone, to start anew with other parameters"
                )
            self._check_changeable_parameters()

    def _check_changeable_parameters(self) -> None:
        """Check the parameters that may be changed between calls."""

    # Whether there is a state

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def _require_fitted(self) -> None:
        """Raise NotFittedError if nothing has been learned."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit, "
                "partial_fit or predict_then_learn first."
            )

    def _fitted_state(self, attribute: str) -> State:
        """Return the state; without one, say that there is no such attribute."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"{type(self).__name__} has no {attribute} before it has seen data"
            )
        return self._state

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        parent: Any = super()
        parent.__setstate__(attributes)
        if self.__sklearn_is_fitted__():
            # joblib may have handed out arrays mapped from a file, for reading only.
            self._state = self._copy(self._state)

    # Files

    def save(self, path: str | PathLike[str], *, key: bytes | None = None) -> None:
        """Write the model to a file, whole or not at all.

        The file holds arrays and JSON, no pickle. Projections are not in it: they
        follow from the seed.

        Parameters
        ----------
        path : str or path
            The file to write.
        key : bytes, optional
            A secret of at least 16 bytes with which the file is signed (HMAC-SHA-256):
            whoever has it can verify, by `load` with the same key, that the file was
            written by someone who has it. The content is not encrypted.

        Notes
        -----
        If another thread is learning with the model, this waits until its call has
        ended: the file holds the state between two calls.
        """
        with lock_of(self):
            write_estimator(path, self._as_saved(), key=key)

    def _as_saved(self) -> SavedEstimator:
        """Return what a model file holds of this model."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance has nothing to save: it is not "
                "fitted yet."
            )
        self._check_unchanged()
        metadata, arrays = self._export_state(self._state)
        if is_balanced(self._class_weight):
            counts = self._class_counts
            if counts is None:  # before the first row
                counts = np.zeros(self.classes_.shape[0], np.int64)
            arrays = {**arrays, COUNTS: counts}
        shapes = {name: array.shape for name, array in arrays.items()}
        schema = self._file_schema(
            metadata, shapes, self.classes_.shape[0], self._n_inputs()
        )
        metadata, arrays = saturated(metadata, arrays, schema)
        saved = SavedEstimator(
            type(self).__name__,
            self._parameters_to_json(),
            self.classes_,
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            metadata,
            arrays,
            self._state_version,
        )
        saved = with_columns(saved, self._columns, self._categories)
        saved = with_asking(saved, self._asking)
        return with_thresholds(saved, self._set_thresholds)

    @classmethod
    def load(cls, path: str | PathLike[str], *, key: bytes | None = None) -> Self:
        """Read a model that `save` wrote; it behaves as the saved one, to the bit.

        Everything that a file says is checked before it is used, so that a file from
        elsewhere can do no harm, whatever it holds; but only a signature tells who
        wrote it.

        Parameters
        ----------
        path : str or path
            The file.
        key : bytes, optional
            Refuse files that were not signed with this key. Without one, signed files
            are loaded as well, and their signature is not looked at.

        Raises
        ------
        ModelFileError
            If the file is not a whole model of this class, or not signed with the key.
        """
        saved = read_estimator(path, cls.__name__, key, cls._array_names)
        with report_damage(path):
            require_version(saved, cls._state_version)
            model = cls._from_saved_parameters(saved.parameters)
            model._set_thresholds = check_thresholds(saved)
            model._asking = check_asking(saved)
            saved = without_asking(without_thresholds(saved))
            found = saved_columns(saved)
            categories = None if found is None else check_categories(saved, found)
            saved = without_columns(saved)
            check_class_weight(model._class_weight, saved.classes, whole=False)
            model._set_classes(saved.classes)
            model.n_features_in_ = saved.n_features
            if saved.feature_names is not None:
                model.feature_names_in_ = saved.feature_names
            M = saved.classes.shape[0]
            p = saved.n_features if found is None else found.width
            shapes = {name: array.shape for name, array in saved.arrays.items()}
            schema = model._file_schema(saved.state, shapes, M, p)
            check_values(saved.state, schema)
            arrays = check_arrays(saved.arrays, schema)
            counts = arrays.pop(COUNTS, None)
            # Numbers of a damaged file may be anything, and overflow.
            with np.errstate(all="ignore"):
                model._state = model._import_state(saved.state, arrays, M, p)
            model._record_parameters()
            model._class_counts = counts
            if found is not None:
                model._require_columns()
                model._columns, model._categories = found.columns, categories
        return model

    def _file_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        """Return what a model file of M classes and p features must hold."""
        schema = self._state_schema(state, shapes, M, p)
        if not is_balanced(self._class_weight):
            return schema
        return StateSchema({**schema.arrays, COUNTS: counts_schema(M)}, schema.values)

    @classmethod
    def _array_names(cls, saved: SavedEstimator) -> Collection[str] | None:
        """Return the arrays that a file of this version must have."""
        require_version(saved, cls._state_version)
        model = cls._from_saved_parameters(saved.parameters)
        M, p = saved.classes.shape[0], saved.n_features
        with report_damage("the model file"):
            found = saved_columns(saved)
        own = without_columns(without_asking(without_thresholds(saved))).state
        if found is not None:
            p = found.width
        names = {*model._file_schema(own, {}, M, p).arrays}
        if found is not None:
            names |= array_names(found)
        if has_asking(saved):
            names |= {ASKING}
        return names | {ENTRY} if has_thresholds(saved) else names

    def _n_inputs(self) -> int:
        """Return the number of features that the learner has of a row."""
        if self._categories is not None:
            return self._categories.width
        return self.n_features_in_ if self._columns is None else self._columns.width

    def _forget_columns(self) -> None:
        """Learn numbers from now on."""
        for name in ("_columns", "_categories"):
            self.__dict__.pop(name, None)

    def _require_columns(self) -> None:
        """Refuse a file with columns that are no numbers, of a learner of numbers."""
        if not hasattr(self, "categorical_features"):
            raise ValueError(f"{type(self).__name__} learns numbers only")

    @classmethod
    def _from_saved_parameters(cls, parameters: dict[str, Any]) -> Self:
        """Return a model that has seen nothing, with the parameters of a file."""
        estimator: Any = cls
        known = estimator._get_param_names()
        check_parameters(parameters, [name for name in known if name != "n_jobs"])
        return cls(**cls._parameters_from_json(parameters))

    def _parameters_to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON values, for a model file."""
        model: Any = self
        parameters = parameters_to_json(model.get_params(deep=False))
        given = parameters.pop("class_weight", None)
        if given is not None:  # else as in files from before it existed
            parameters["class_weight"] = class_weight_to_json(given)
        return parameters

    @classmethod
    def _parameters_from_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters that `_parameters_to_json` made JSON values of."""
        if "class_weight" not in parameters:
            return parameters
        given = class_weight_from_json(parameters["class_weight"])
        return {**parameters, "class_weight": given}


@cache
def _parameter_names(estimator: type[BaseEstimator]) -> tuple[str, ...]:
    """Return the names of the parameters that must not change, but for the seed."""
    # A seed is used once: what becomes of it afterwards does not matter.
    names = estimator._get_param_names()
    return tuple(name for name in names if name != "random_state")


def _same(a: Any, b: Any) -> bool:
    """Return whether two values of a parameter are equal, arrays or not.

    True and 1 are not: parameters that are numbers are no booleans, and cannot be saved
    as such.
    """
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return bool(a == b)
    return bool(np.array_equal(a, b))
