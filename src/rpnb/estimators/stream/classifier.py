"""What every classifier of this package does with rows and labels that users give it.

It checks the input, gives labels their numbers, adds new classes, and changes the
learner's state only when nothing can fail any more.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from os import PathLike
from typing import Any, Literal, Self, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import (
    LabelArray,
    as_labels,
    decode,
    encode,
    number_labels,
)
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.checks.spread import warn_of_spread
from rpnb.estimators.notebook import NotebookView
from rpnb.estimators.saving.estimator import (
    SavedEstimator,
    check_parameters,
    parameters_to_json,
    read_estimator,
    report_damage,
    write_estimator,
)
from rpnb.estimators.saving.migrations import migrate
from rpnb.estimators.saving.schema import StateSchema, check_arrays, check_values
from rpnb.estimators.stream.class_weights import (
    COUNTS,
    ClassWeight,
    balanced_weights,
    check_class_weight,
    class_weight_from_json,
    class_weight_to_json,
    counts_schema,
    fixed_weights,
    is_balanced,
    whole_weights,
)
from rpnb.estimators.stream.labelled_rows import (
    LabelledRows,
    check_labelled_rows,
    drawn_order,
    reorder,
)
from rpnb.estimators.stream.learner import Shapes, State, StreamLearner
from rpnb.estimators.stream.new_classes import initial_classes, learn_adding_classes
from rpnb.estimators.stream.prediction_sets import (
    ENTRY,
    PredictsSets,
    check_thresholds,
    has_thresholds,
    with_thresholds,
    without_thresholds,
)
from rpnb.labels import LabelIndex

#: A function like `_learn`.
Learn: TypeAlias = Callable[[Any, Any, IntArray, FloatArray, IntArray | None], None]

_NO_CLASSES: LabelArray = np.zeros(0, np.int64)
_NONE_DECLARED = np.zeros(0, np.int64)


class StreamClassifier(
    NotebookView,
    PredictsSets,
    ClassifierMixin,  # type: ignore[misc]
    StreamLearner[State],
    BaseEstimator,  # type: ignore[misc]
):
    """Abstract: a classifier that learns from a stream, row by row or by mini-batch."""

    _state_version = 1
    """Version of what `save` writes: see `rpnb.estimators.saving.migrations`."""
    _changeable_parameters: tuple[str, ...] = ()
    """Parameters that may be changed between calls; the others shape the state."""

    # Learning

    def fit(self, X: Any, y: Any, *, shuffle: bool = True) -> Self:
        """Forget everything and learn from the rows of X, once, in a random order.

        Rows that are sorted, by class for instance, are a stream that no learner can
        follow; here they are a set. `partial_fit` keeps the order given. All classes in
        `y` may be predicted from the first row on, as in the paper.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels.
        shuffle : bool, default=True
            Whether the order of the rows is drawn, from `random_state` if the learner
            has one and from a fixed seed otherwise; if not, they are learnt in the
            order given.

        Returns
        -------
        self
        """
        self._learn_all(X, y, None, shuffle)
        return self

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels. A label never seen before becomes a new class.
        classes : array-like, optional
            Classes that may be predicted from now on, seen or not. Allowed on any
            call, never required.

        Returns
        -------
        self
        """
        first = not self.__sklearn_is_fitted__()
        self._learn_batch(X, y, classes, first=first)
        return self

    @overload
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        *,
        return_proba: Literal[False] = False,
    ) -> LabelArray: ...
    @overload
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        *,
        return_proba: Literal[True],
    ) -> tuple[LabelArray, FloatArray]: ...
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        *,
        return_proba: bool = False,
    ) -> LabelArray | tuple[LabelArray, FloatArray]:
        """Predict each row with what was known before it, then learn it.

        This is the protocol of the paper and of prequential evaluation. The result is
        what a loop over `predict` and `partial_fit` of one row at a time would give,
        however rows are cut into calls.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations, in the order of their arrival.
        y : array-like of shape (n,)
            Their labels. A label that was not declared may be predicted from the row
            after its first.
        classes : array-like, optional
            Classes that may be predicted from the first of these rows on.
        return_proba : bool, default=False
            Whether to return the probabilities of each row before it was learnt, too,
            for learners with `predict_proba`. `RPNBClassifier` computes them in one
            pass, others row by row.

        Returns
        -------
        array of shape (n,)
            The predicted labels. A row for which no class was known yet counts as a
            mistake and has None; only then is the array of dtype object. It does not
            happen where `classes` are declared on the first call.
        array of shape (n, M)
            With `return_proba`: the probabilities of `classes_` as they are afterwards,
            0 for a class that was not known yet.
        """
        if return_proba:
            return self._predict_proba_then_learn(X, y, classes)
        first = not self.__sklearn_is_fitted__()
        numbers = self._learn_batch(X, y, classes, first=first, predict=True)
        return decode(numbers, self.classes_)

    def _predict_proba_then_learn(
        self, X: Any, y: Any, classes: ArrayLike | None
    ) -> tuple[LabelArray, FloatArray]:
        """Do what `predict_then_learn` does row by row; return probabilities too."""
        if not hasattr(self, "predict_proba"):
            raise ValueError(
                f"return_proba must be False for {type(self).__name__}, which has no "
                "probabilities"
            )
        labelled = check_labelled_rows(self, X, y, None, sparse=self._accepts_sparse)
        labels: list[LabelArray] = []
        found: list[tuple[LabelArray, FloatArray]] = []
        for i in range(labelled.labels.shape[0]):
            one = slice(i, i + 1)
            known = _NO_CLASSES, np.zeros(0)
            if self.__sklearn_is_fitted__():
                known = self.classes_, self.predict_proba(labelled.rows[one])[0]
            found.append(known)
            declared = classes if i == 0 else None
            x, t = labelled.rows[one], labelled.labels[one]
            labels.append(self.predict_then_learn(x, t, declared))
        P = np.zeros((len(found), self.classes_.shape[0]))
        for row, (known_classes, p) in zip(P, found, strict=True):
            row[self._index.find_all(known_classes.tolist())] = p
        if any(part.dtype == object for part in labels):
            labels = [part.astype(object) for part in labels]
        return np.concatenate(labels), P

    def _learn_batch(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        *,
        first: bool,
        predict: bool = False,
        learn: Learn | None = None,
        whole: bool = False,
    ) -> IntArray:
        """Check all arguments, update classes, then learn; return the predictions.

        Without `predict`, the numbers returned mean nothing. `learn` is called instead
        of `_learn`, if given. `whole` says that there are no other rows.
        """
        if sample_weight is not None:
            self._check_uses_weights()
        if not first:
            self._check_unchanged()
        labelled = check_labelled_rows(
            self,
            X,
            y,
            sample_weight,
            sparse=self._accepts_sparse,
            limits=self._weight_limits,
        )
        return self._learn_labelled(
            X, labelled, classes, first=first, predict=predict, learn=learn, whole=whole
        )

    def _learn_all(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, shuffle: bool
    ) -> None:
        """Check all arguments, forget everything, then learn in the order wanted."""
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"shuffle must be True or False, got {shuffle!r}")
        if not shuffle:
            self._learn_batch(X, y, y, sample_weight, first=True, whole=True)
            return
        if sample_weight is not None:
            self._check_uses_weights()
        labelled = check_labelled_rows(
            self,
            X,
            y,
            sample_weight,
            sparse=self._accepts_sparse,
            limits=self._weight_limits,
        )
        order = drawn_order(getattr(self, "random_state", 0), labelled.labels.shape[0])
        self._learn_labelled(X, reorder(labelled, order), y, first=True, whole=True)

    def _learn_labelled(
        self,
        X: Any,
        labelled: LabelledRows,
        classes: ArrayLike | None,
        *,
        first: bool,
        predict: bool = False,
        learn: Learn | None = None,
        whole: bool = False,
    ) -> IntArray:
        """Update classes with rows that were checked, then learn them.

        The names of the features are those of X, which need not be in the same order.
        """
        declared = None if classes is None else as_labels(classes, "classes")
        known = _NO_CLASSES if first else self.classes_
        index = LabelIndex() if first else self._index
        joined, numbers = number_labels(labelled.labels, known, index, declared)
        if joined is not known:
            check_class_weight(self._class_weight, joined, whole=whole)
        add_at_first_row = self._requires_seen_classes and joined is not known
        if add_at_first_row:
            joined = initial_classes(labelled.labels, known, declared)
        state = self._state_for(labelled.rows.shape[1], joined, declared, first=first)
        self._commit(X, joined, state, first=first)
        if first and self._sensitive_to_scale:
            warn_of_spread(labelled.rows)
        if add_at_first_row:
            found = learn_adding_classes(self, labelled, whole=whole)
            if first and declared is None:
                found[0] = -1  # no class was known yet
            return found
        predicted = np.empty_like(numbers) if predict else None
        function = self._learn if learn is None else learn
        weight = self._row_weights(numbers, labelled.weight, whole=whole)
        function(state, labelled.rows, numbers, weight, predicted)
        return numbers if predicted is None else predicted

    # Weights of classes

    @property
    def _class_weight(self) -> ClassWeight:
        """The parameter `class_weight`, of learners that have it."""
        given: ClassWeight = getattr(self, "class_weight", None)
        return given

    def _row_weights(
        self, y: IntArray, weight: FloatArray, *, whole: bool = False
    ) -> FloatArray:
        """Return the weights of rows of classes y, times those of their classes.

        To be called once for all rows that are learnt, in their order: rows are
        counted, where weights follow the counts. `whole` says that there are no others.
        """
        given = self._class_weight
        if given is None:
            return weight
        if not isinstance(given, str):
            of_class = fixed_weights(given, self.classes_)
            return weight * np.where(y >= 0, of_class[y], 1.0)
        if self._class_counts is None:
            self._class_counts = np.zeros(self.classes_.shape[0], np.int64)
        weights = whole_weights if whole else balanced_weights
        return weight * weights(y, self._class_counts)

    def _check_uses_weights(self) -> None:
        """Refuse weights that would have no effect."""

    def _state_for(
        self, p: int, classes: LabelArray, declared: LabelArray | None, *, first: bool
    ) -> State:
        """Return the state to learn with: a first one, one of more classes, or this."""
        if not first and classes is self.classes_:
            return self._state
        active = _NONE_DECLARED
        if declared is not None:
            index = LabelIndex(classes.tolist())
            active = np.unique(encode(declared, classes, index))
        if first:
            return self._new_state(p, classes, active)
        return self._state_with_classes(classes, active)

    def _commit(
        self, X: Any, classes: LabelArray, state: State, *, first: bool
    ) -> None:
        """Set the attributes that are new; the last check is the first line."""
        accept_rows(self, X, first=first)
        if first:
            self._record_parameters()
            self._set_thresholds = None
        if first or classes is not self.classes_:
            self._set_classes(classes)
        self._state = state

    # For adapters to other libraries

    def _initialise(self, p: int, classes: LabelArray) -> None:
        """Make the state for p features and these classes, all active, before any row.

        For libraries that may ask for a prediction before the first row is learnt.
        """
        state = self._new_state(p, classes, np.arange(classes.shape[0]))
        self._record_parameters()
        self._set_classes(classes)
        self.n_features_in_ = p
        self._state = state

    # Predicting

    def predict(self, X: Any) -> LabelArray:
        """Return the label of each row of X (n, p); changes nothing."""
        rows = self._rows_to_predict(X)
        return decode(self._classify(self._state, rows), self.classes_)

    def _rows_to_predict(self, X: Any) -> NDArray[Any]:
        """Check that the model is fitted and X fits it; return X as an array."""
        self._require_fitted()
        rows = check_rows(self, X, sparse=self._accepts_sparse)
        accept_rows(self, X, first=False)
        return rows

    # Attributes

    @property
    def n_seen_(self) -> int:
        """Number of rows seen since the start."""
        return self._row_counts(self._fitted_state("n_seen_"))[0]

    @property
    def n_updates_(self) -> int:
        """Number of rows that changed the model."""
        return self._row_counts(self._fitted_state("n_updates_"))[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags

    # Parameters

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
        """Raise NotFittedError if nothing has been learnt."""
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
        super().__setstate__(attributes)
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
        """
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
            saved = migrate(saved, cls._state_version)
            model = cls._from_saved_parameters(saved.parameters)
            model._set_thresholds = check_thresholds(saved)
            saved = without_thresholds(saved)
            check_class_weight(model._class_weight, saved.classes, whole=False)
            model._set_classes(saved.classes)
            model.n_features_in_ = saved.n_features
            if saved.feature_names is not None:
                model.feature_names_in_ = saved.feature_names
            M, p = saved.classes.shape[0], saved.n_features
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
        if saved.state_version < cls._state_version:
            return None
        saved = migrate(saved, cls._state_version)
        model = cls._from_saved_parameters(saved.parameters)
        M, p = saved.classes.shape[0], saved.n_features
        own = without_thresholds(saved).state
        names = {*model._file_schema(own, {}, M, p).arrays}
        return names | {ENTRY} if has_thresholds(saved) else names

    @classmethod
    def _from_saved_parameters(cls, parameters: dict[str, Any]) -> Self:
        """Return a model that has seen nothing, with the parameters of a file."""
        known = cls._get_param_names()
        check_parameters(parameters, [name for name in known if name != "n_jobs"])
        return cls(**cls._parameters_from_json(parameters))

    def _parameters_to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON values, for a model file."""
        parameters = parameters_to_json(self.get_params(deep=False))
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
