"""The scikit-learn interface that all classifiers of this package share.

It checks the input, numbers labels, adds new classes, and changes the learner's state
only after everything that can fail.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from operator import attrgetter, is_
from typing import Any, Literal, NamedTuple, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from rpnb._core.streams import first_bad
from rpnb.core.asking import Asking
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.row_blocks import weights_of
from rpnb.estimators.checks.columns import (
    Columns,
    find_columns,
    unnamed_texts,
)
from rpnb.estimators.checks.costs import Costs, check_costs, least_costly
from rpnb.estimators.checks.frames import refuse_uncoded
from rpnb.estimators.checks.labels import (
    LabelArray,
    as_labels,
    decode,
    encode,
    number_labels,
)
from rpnb.estimators.checks.parameters import check_integer, check_real
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.checks.spread import warn_of_spread
from rpnb.estimators.checks.texts import warn_of_texts
from rpnb.estimators.notebook import bundle_with_facts, with_facts
from rpnb.estimators.saving.estimator import parameters_to_json, write_estimator
from rpnb.estimators.saving.files import ModelSource
from rpnb.estimators.saving.fitted import load_model, saved_model
from rpnb.estimators.stream.asking import RANDOM_SHARE, Questions, choose_rows
from rpnb.estimators.stream.class_weights import (
    ClassWeight,
    check_class_weight,
    class_weight_from_json,
    class_weight_to_json,
    is_balanced,
    weigh_rows,
)
from rpnb.estimators.stream.frame_encoder import FrameEncoder, code_table
from rpnb.estimators.stream.labelled_rows import (
    LabelledRows,
    check_labelled_rows,
    drawn_order,
    reorder,
)
from rpnb.estimators.stream.learner import Learner
from rpnb.estimators.stream.locks import lock_of
from rpnb.estimators.stream.new_classes import (
    ScoredPart,
    ScoredRows,
    initial_classes,
    join_scored,
    learn_adding_classes,
)
from rpnb.estimators.stream.prediction_sets import (
    has_probabilities,
    has_sets,
    predict_sets,
    predict_sets_then_learn,
)
from rpnb.estimators.trust.sets import check_coverage
from rpnb.labels import CodedLabels, LabelIndex

_Method = TypeVar("_Method", bound=Callable[..., Any])
_NO_CLASSES: LabelArray = np.zeros(0, np.int64)
_DOUBLE = np.dtype(np.float64)
_ONE = np.ones(1)
# Attributes besides the state that learning, or asking for labels, changes in place.
_CHANGED_IN_PLACE = ("_class_counts", "_frame", "_asking", "_waiting")


def _only_if(condition: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """Return a decorator for a method that estimators have on a condition."""
    decorate: Callable[[_Method], _Method] = available_if(condition)
    return decorate


def _only_with(*functions: str) -> Callable[[_Method], _Method]:
    """Return a decorator for a method that needs one of some functions of a learner."""
    return _only_if(lambda model: model._learner().provides(*functions))


class _LearnCall(NamedTuple):
    """Arguments of a call that learns rows, after all checks but that of features."""

    X: Any
    """the rows as given, for their names"""
    labelled: LabelledRows
    declared: LabelArray | None
    classes: LabelArray
    """(M,) all classes, known, declared and new"""
    numbers: IntArray
    """(n,) numbers of the rows' classes among them"""
    first: bool
    whole: bool
    """whether there are no other rows"""

    def adds_at_first_row(self, known: LabelArray, learner: Learner[Any]) -> bool:
        """Return whether there are classes that must be added at their first row."""
        return learner.requires_seen_classes and self.classes is not known


class StreamClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """Abstract base: a scikit-learn classifier around a learner.

    It checks the input, numbers labels, keeps the learner's state, and writes files.
    Other packages of rpnb use the functions of `rpnb.estimators.protocol`.
    """

    classes_: LabelArray
    """(M,) class labels known so far, sorted"""
    n_features_in_: int
    """number of features"""
    feature_names_in_: LabelArray
    """(p,) names of the features, if the first rows had names that are all strings"""
    _state: Any
    """the learner's state; there is none before the first row"""
    _index: LabelIndex
    """the numbers of the classes"""
    _recorded_parameters: dict[str, Any]
    """the parameters with which the state was created"""
    _class_counts: IntArray | None = None
    """(M,) number of rows seen of each class, if class weights depend on them"""
    _given_columns: Columns | None = None
    """kinds of the columns, set in advance by a caller that encodes rows itself"""
    _frame: FrameEncoder | None = None
    """encoder of tables whose columns are not all numbers"""
    _set_thresholds: FloatArray | None = None
    """thresholds of prediction sets for all coverages; None until one is learned"""
    _asking: Asking | None = None
    """counts of the rows that `ask` was given; None before the first"""

    @abstractmethod
    def _learner(self) -> Learner[Any]:
        """Return the learner with the current parameters."""

    # Learning

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to a table, in one pass.

        Discards whatever was learned before. Samples are learned in a random order
        unless `shuffle` is False, so tables sorted by class or time are learned well;
        `partial_fit` keeps the order given. All classes in `y` may be predicted from
        the first sample on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
            The fitted model.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import PA
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PA().fit(X, y)
        >>> round(model.score(X, y), 1) >= 0.6
        True
        """
        self._learn_all(X, y, None)
        return self

    def partial_fit(self, X: Any, y: Any, classes: ArrayLike | None = None) -> Self:
        """Learn more samples, in the order given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class labels. A label never seen before becomes a new class.
        classes : array-like of shape (n_classes,), optional
            Classes that may be predicted from now on, seen or not. Allowed on any
            call, never required.

        Returns
        -------
        self
            The model.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import PA
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PA().partial_fit(X[:50], y[:50])
        >>> model = model.partial_fit(X[50:], y[50:])
        >>> model.classes_.tolist()
        [0, 1, 2]
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
        costs: Costs | None = None,
    ) -> LabelArray: ...
    @overload
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        *,
        return_proba: Literal[True],
        costs: Costs | None = None,
    ) -> tuple[LabelArray, FloatArray]: ...
    def predict_then_learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        *,
        return_proba: bool = False,
        costs: Costs | None = None,
    ) -> LabelArray | tuple[LabelArray, FloatArray]:
        """Predict each sample with the model before it, then learn it.

        This is the protocol of prequential evaluation. The result is that of a loop
        over `predict_next` and `partial_fit` of one sample at a time, however the data
        is split into calls.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels. A label that was not declared may be predicted from the sample
            after its first.
        classes : array-like of shape (n_classes,), optional
            Classes that may be predicted from the first of these samples on.
        return_proba : bool, default=False
            Whether to return the probabilities of each sample before it was learned as
            well, for learners with `predict_proba`. They change neither labels nor what
            is learned. `RPNBClassifier` and `PooledClassifier` compute them in one
            pass, others sample by sample.
        costs : array-like of shape (n_classes, n_classes) or mapping, optional
            Cost of each prediction by true class (row) and predicted class (column), in
            the order of `classes_` as they are afterwards, or by true class. The label
            with the lowest expected cost is predicted; see `predict`. Costs do not
            change what is learned.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Predicted labels. A sample for which no class was known yet counts as a
            mistake and has None; only then is the array of dtype object. It does not
            happen where `classes` are declared on the first call.
        probabilities : ndarray of shape (n_samples, n_classes)
            With `return_proba`: probabilities of `classes_` as they are afterwards, 0
            for a class that was not known yet.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from rpnb.baselines import PA
        >>> X, y = load_digits(return_X_y=True)
        >>> predicted = PA().predict_then_learn(X, y)
        >>> print(f"error {(predicted != y).mean():.2f}")
        error 0.11
        """
        if costs is not None:
            labels, P = self._decided_then_learned(X, y, classes, costs)
            return (labels, P) if return_proba else labels
        if return_proba:
            scored = self._scored_then_learned(X, y, classes)
            return decode(scored.predicted, self.classes_), scored.P
        first = not self.__sklearn_is_fitted__()
        _, numbers = self._learn_batch(X, y, classes, first=first, predict=True)
        return decode(numbers, self.classes_)

    def _scored_then_learned(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
    ) -> ScoredRows:
        """Predict rows, then learn them; return what was predicted before each.

        A row before the first known class has no prediction, and probabilities of 0.
        """
        if not hasattr(self, "predict_proba"):
            raise ValueError(
                f"return_proba must be False for {type(self).__name__}, which has no "
                "probabilities"
            )
        first = not self.__sklearn_is_fitted__()
        parts: list[ScoredPart] = []
        truth, predicted = self._learn_batch(
            X, y, classes, sample_weight, first=first, predict=True, scored=parts
        )
        P = join_scored(parts, self._index)
        P[predicted < 0] = 0.0
        return ScoredRows(truth, predicted, P)

    def _decided_then_learned(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        costs: Any,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[LabelArray, FloatArray]:
        """Predict rows by costs, then learn them; return labels and probabilities."""
        _require_probabilities(self)
        first = not self.__sklearn_is_fitted__()
        known = _NO_CLASSES if first else self.classes_
        index = LabelIndex() if first else self._index
        declared = None if classes is None else as_labels(classes, "classes")
        labels = LabelIndex().coded(as_labels(y))
        afterwards, _ = number_labels(labels, known, index, declared)
        checked = check_costs(costs, afterwards)
        P = self._scored_then_learned(X, labels, classes, sample_weight).P
        numbers = np.where(P.any(axis=1), least_costly(P, checked), -1)
        return decode(numbers, self.classes_), P

    def _learn_batch(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        *,
        first: bool,
        predict: bool = False,
        scored: list[ScoredPart] | None = None,
        checked: bool = False,
    ) -> tuple[IntArray, IntArray]:
        """Check all arguments, update classes, then learn.

        Returns the numbers of the true and the predicted classes; without `predict`,
        the latter mean nothing. The scores of the rows before they were learned are
        added to `scored`, if given. `checked` means that X has passed `check_rows`.
        """
        if not first:
            self._check_unchanged()
            if classes is None and sample_weight is None and scored is None:
                learned = self._learn_plain_row(X, y, predict=predict)
                if learned is not None:
                    return learned
        labelled = self._check_labelled(
            X, y, sample_weight, first=first, checked=checked
        )
        declared = None if classes is None else as_labels(classes, "classes")
        return self._learn_labelled(
            X, labelled, declared, first=first, predict=predict, scored=scored
        )

    def _learn_plain_row(
        self, X: Any, y: Any, *, predict: bool
    ) -> tuple[IntArray, IntArray] | None:
        """Do what `_learn_batch` does for one row of a known class, but faster.

        Checking arbitrary arguments takes longer than learning a row. Returns None
        without changing anything if X or y needs more than these checks.
        """
        if isinstance(y, CodedLabels) and len(y) == 1:
            y = y.decoded()
        if (
            type(X) is not np.ndarray
            or X.shape != (1, self.n_features_in_)
            or X.dtype != _DOUBLE
            or not X.flags.c_contiguous
            or type(y) is not np.ndarray
            or y.shape != (1,)
            or not y.dtype.kind == self.classes_.dtype.kind != "O"
            or self._frame is not None
            or hasattr(self, "feature_names_in_")
            or first_bad(X) >= 0
        ):
            return None
        number = self._index.find(y.item())
        if number is None:
            return None
        numbers = np.array([number])
        predicted = np.empty_like(numbers) if predict else None
        with lock_of(self):
            weight = self._row_weights(numbers, _ONE)
            self._learner().learn(self._state, X, numbers, weight, predicted)
        return numbers, numbers if predicted is None else predicted

    def _check_labelled(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        *,
        first: bool,
        checked: bool = False,
    ) -> LabelledRows:
        """Return the rows of positive weight, or raise an error."""
        if first:
            self._shuffles()
        if sample_weight is not None:
            self._check_uses_weights()
        columns = self._find_columns(X) if first else self._known_columns
        coded, names = self._code(X, columns)
        return check_labelled_rows(
            self,
            coded,
            y,
            sample_weight,
            sparse=self._learner().accepts_sparse,
            limits=self._learner().weight_limits,
            names=names,
            checked=checked and columns is None,
        )

    def _code(
        self, X: Any, columns: Columns | None
    ) -> tuple[Any, Sequence[Any] | None]:
        """Return a table as numbers, with text hashed, and the names of its columns."""
        if columns is None:
            return X, None
        if columns is self._known_columns and hasattr(X, "columns"):
            # Refuse other columns before looking at their values.
            accept_rows(self, X, first=False)
        frame = self._frame
        if frame is not None and columns is frame.columns:
            frame.refuse_numbers(X)
        return code_table(columns, X, allow_nan=get_tags(self).input_tags.allow_nan)

    def _learn_all(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> None:
        """Check all arguments, forget everything, then learn, shuffled if wanted."""
        labelled = self._check_labelled(X, y, sample_weight, first=True)
        # Rows of weight 0 are left out, but not their classes.
        labels = labelled.labels if sample_weight is None else as_labels(y)
        if self._shuffles():
            seed, n = getattr(self, "random_state", 0), labelled.labels.shape[0]
            labelled = reorder(labelled, drawn_order(seed, n))
        self._learn_labelled(X, labelled, np.unique(labels), first=True, whole=True)
        self._asking = None

    def _shuffles(self) -> bool:
        """Check and return whether `fit` shuffles the samples.

        Learners for which the order is essential, or irrelevant, have no such
        parameter.
        """
        shuffle = getattr(self, "shuffle", False)
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"shuffle must be True or False, got {shuffle!r}")
        return bool(shuffle)

    def _learn_labelled(
        self,
        X: Any,
        labelled: LabelledRows,
        declared: LabelArray | None,
        *,
        first: bool,
        predict: bool = False,
        scored: list[ScoredPart] | None = None,
        whole: bool = False,
    ) -> tuple[IntArray, IntArray]:
        """Update the classes and learn rows that have been checked.

        The names of the features are those of X, which need not be in the same order.
        `whole` means that there are no other rows.
        """
        known = _NO_CLASSES if first else self.classes_
        index = LabelIndex() if first else self._index
        joined, numbers = number_labels(labelled.labels, known, index, declared)
        if joined is not known:
            check_class_weight(self._class_weight, joined, whole=whole)
        with lock_of(self):
            call = _LearnCall(X, labelled, declared, joined, numbers, first, whole)
            if call.adds_at_first_row(known, self._learner()):
                predicted = self._learn_adding_classes(call, known, scored)
            else:
                predicted = self._learn_known(call, predict, scored)
        return numbers, predicted

    def _learn_adding_classes(
        self, call: "_LearnCall", known: LabelArray, scored: list[ScoredPart] | None
    ) -> IntArray:
        """Learn rows, adding each class at its first row; return what was predicted."""
        first_class = call.classes[call.numbers[:1]]
        self._prepare(call, initial_classes(first_class, known, call.declared))
        found = learn_adding_classes(
            *(self, call.labelled, call.classes, call.numbers),
            whole=call.whole,
            scored=scored,
        )
        if call.first and call.declared is None:
            found[0] = -1  # no class was known yet
        return found

    def _learn_known(
        self, call: "_LearnCall", predict: bool, scored: list[ScoredPart] | None
    ) -> IntArray:
        """Learn rows after all classes; return what was predicted, if requested.

        Without `predict`, the true numbers are returned.
        """
        self._prepare(call, call.classes)
        rows, _, weight = call.labelled
        predicted = np.empty_like(call.numbers) if predict else None
        self._learn_numbered(
            rows, call.numbers, weight, predicted, scored, whole=call.whole
        )
        return call.numbers if predicted is None else predicted

    def _prepare(self, call: "_LearnCall", classes: LabelArray) -> None:
        """Commit the classes, and on a first call the columns.

        The last check, of the features, is in `_commit`, which changes nothing if it
        fails.
        """
        frame, p = self._frame, call.labelled.rows.shape[1]
        if call.first:
            frame = self._new_frame(call.X, classes)
            p = p if frame is None else frame.width
        elif classes is not self.classes_:
            # The last check, since growing gives up the current state.
            self._accept_rows(call.X, frame, first=False)
        state = self._state_for(p, classes, call.declared, first=call.first)
        self._commit(call.X, classes, state, frame, first=call.first)
        if call.first and self._learner().sensitive_to_scale and frame is None:
            names = getattr(self, "feature_names_in_", None)
            warn_of_spread(call.labelled.rows, names)
        if call.first and frame is not None and self._given_columns is None:
            text = getattr(self, "text_features", None)
            unnamed = unnamed_texts(
                call.X, frame.columns, self.categorical_features, text
            )
            warn_of_texts(call.X, unnamed)

    # Weights of rows

    def _learn_numbered(
        self,
        X: Any,
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
        scored: list[ScoredPart] | None = None,
        *,
        whole: bool = False,
    ) -> None:
        """Weight rows of known classes y, then learn them, predicting into `labels`.

        All methods that learn tables end here, so that they weight rows alike, with or
        without probabilities, which are added to `scored`.
        """
        weight = self._row_weights(y, weight, whole=whole)
        frame = self._frame
        if frame is None:
            self._learn_features(X, y, weight, labels, scored)
            return
        for part in frame.parts(y):
            w = weights_of(weight, part)
            # The last part may have changed the layout.
            features = frame.learn(X[part], y[part], w)
            some = None if labels is None else labels[part]
            self._learn_features(features, y[part], w, some, scored)
            self._state = frame.look(self._learner(), self._state, self.classes_)

    def _learn_features(
        self,
        X: Any,
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
        scored: list[ScoredPart] | None,
    ) -> None:
        """Learn weighted rows of features, predicting into `labels`."""
        if scored is None:
            self._learner().learn(self._state, X, y, weight, labels)
            return
        assert labels is not None  # noqa: S101 - probabilities come with predictions
        found = self._learner().learn_scored(self._state, X, y, weight, labels)
        scored.append(ScoredPart(self.classes_, found))

    # Tables

    @property
    def _known_columns(self) -> Columns | None:
        """Kinds of the columns, None if all are numbers."""
        return None if self._frame is None else self._frame.columns

    def _find_columns(self, X: Any) -> Columns | None:
        """Return the kinds of the first rows' columns, None if all are numbers."""
        if self._given_columns is not None:
            return self._given_columns
        if not hasattr(self, "categorical_features"):
            return None
        text = getattr(self, "text_features", None)
        return find_columns(X, self.categorical_features, text)

    def _new_frame(self, X: Any, classes: LabelArray) -> FrameEncoder | None:
        """Return the encoder of tables like X, None if all columns are numbers."""
        columns = self._find_columns(X)
        if columns is None:
            return None
        return FrameEncoder.begin(columns, classes.shape[0])

    def _row_weights(
        self, y: IntArray, weight: FloatArray, *, whole: bool = False
    ) -> FloatArray:
        """Return the weights of rows of classes y, multiplied by their class weights.

        Must be called once for all rows that are learned, in order, since balanced
        weights depend on the rows counted so far. `whole` means that there are no other
        rows.
        """
        given = self._class_weight
        if given is None:
            return weight
        if is_balanced(given) and self._class_counts is None:
            self._class_counts = np.zeros(self.classes_.shape[0], np.int64)
        return weigh_rows(
            given, self.classes_, y, weight, self._class_counts, whole=whole
        )

    def _check_uses_weights(self) -> None:
        """Refuse weights that would have no effect."""

    def _state_for(
        self, p: int, classes: LabelArray, declared: LabelArray | None, *, first: bool
    ) -> Any:
        """Return the state to learn with: an initial, grown or the current one.

        The current one must not be used any longer if the classes are others.
        """
        if not first and classes is self.classes_:
            return self._state
        active = np.zeros(0, np.int64)
        if declared is not None:
            index = LabelIndex(classes.tolist())
            active = np.unique(encode(declared, classes, index))
        if first:
            return self._learner().begin(p, classes, active)
        source = self._index.find_all(classes.tolist())
        return self._learner().grow_last(self._state, source, classes, active)

    def _state_with_classes(self, classes: LabelArray, declared: IntArray) -> Any:
        """Return the state grown to all `classes`, known and new ones."""
        source = self._index.find_all(classes.tolist())
        return self._learner().grow(self._state, source, classes, declared)

    def _set_classes(self, classes: LabelArray) -> None:
        """Set `classes_`, sorted labels, and their numbers; rearrange the counts."""
        index = LabelIndex(classes.tolist())
        if self._class_counts is not None:
            counts = np.zeros(classes.shape[0], np.int64)
            counts[index.find_all(self.classes_.tolist())] = self._class_counts
            self._class_counts = counts
        if self._frame is not None:
            known = LabelIndex(self.classes_.tolist())
            self._frame.arrange_classes(known.find_all(classes.tolist()))
        self.classes_ = classes
        self._index = index

    def _commit(
        self,
        X: Any,
        classes: LabelArray,
        state: Any,
        frame: FrameEncoder | None = None,
        *,
        first: bool,
    ) -> None:
        """Set new attributes, after a last check in the first line."""
        self._accept_rows(X, frame, first=first)
        if first:
            self._record_parameters()
            self._set_thresholds = None
            self.__dict__.pop("_frame", None)
        if first or classes is not self.classes_:
            self._set_classes(classes)
        if first and frame is not None:
            self._frame = frame
        self._state = state

    # Predicting

    def predict(self, X: Any, *, costs: Costs | None = None) -> LabelArray:
        """Predict the label of each sample.

        Samples may be in any order: no prediction depends on which samples were learned
        last. `predict_next` predicts the next sample of a stream.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.
        costs : array-like of shape (n_classes, n_classes) or mapping, optional
            Cost of each prediction by true class (row) and predicted class (column), in
            the order of `classes_`; or a mapping from true labels to the cost of a
            mistake, 1 by default. The label with the lowest expected cost is predicted,
            the first of equals, by learners with `predict_proba`. By default all
            mistakes cost the same.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import PA
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PA().fit(X, y)
        >>> model.predict(X[:2]).shape
        (2,)
        """
        if costs is not None:
            return self._least_costly(X, costs, "predict_proba")
        rows = self._rows_to_predict(X)
        return decode(
            self._learner().classify_unordered(self._state, rows), self.classes_
        )

    def predict_next(self, X: Any, *, costs: Costs | None = None) -> LabelArray:
        """Predict the label of each sample as the next of the stream.

        Learners that use the most recent labels, such as `PooledClassifier`, use them
        here and in `predict_then_learn`, but not in `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.
        costs : array-like of shape (n_classes, n_classes) or mapping, optional
            Cost of each prediction; see `predict`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).partial_fit(X, y)
        >>> model.predict(X[:1]).tolist(), model.predict_next(X[:1]).tolist()
        ([0], [0])
        """
        if costs is not None:
            return self._least_costly(X, costs, "predict_next_proba")
        rows = self._rows_to_predict(X)
        return decode(self._learner().classify(self._state, rows), self.classes_)

    @_only_with("decisions")
    def decision_function(self, X: Any) -> FloatArray:
        """Compute the score of each class; the class with the largest is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to score.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores of the classes. For two classes, the score of the second minus that
            of the first, as in scikit-learn.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import PA
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PA().fit(X, y)
        >>> model.decision_function(X[:2]).shape
        (2, 3)
        """
        rows = self._rows_to_predict(X)
        return self._learner().decisions(self._state, rows)

    @_only_with("log_probabilities")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Compute the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of what `predict_proba` returns.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> model.predict_log_proba(X[:2]).shape
        (2, 3)
        """
        rows = self._rows_to_predict(X)
        return self._learner().log_probabilities(self._state, rows, ordered=False)

    @_only_with("probabilities", "log_probabilities")
    def predict_proba(self, X: Any) -> FloatArray:
        """Compute the class probabilities.

        Samples may be in any order, as in `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`; rows sum to one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> model.predict_proba(X[:2]).sum(axis=1).round(6).tolist()
        [1.0, 1.0]
        """
        rows = self._rows_to_predict(X)
        return self._learner().probabilities(self._state, rows, ordered=False)

    @_only_with("probabilities", "log_probabilities")
    def predict_next_proba(self, X: Any) -> FloatArray:
        """Compute the class probabilities of each sample as the next of the stream.

        Relates to `predict_proba` as `predict_next` does to `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of `classes_`; rows sum to one.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> model.predict_next_proba(X[:1]).shape
        (1, 3)
        """
        rows = self._rows_to_predict(X)
        return self._learner().probabilities(self._state, rows, ordered=True)

    def _least_costly(self, X: Any, costs: Any, method: str) -> LabelArray:
        """Return the labels with the lowest expected cost by a method's probabilities.

        The costs are checked before the rows.
        """
        _require_probabilities(self)
        self._require_fitted()
        checked = check_costs(costs, self.classes_)
        P: FloatArray = getattr(self, method)(X)
        return decode(least_costly(P, checked), self.classes_)

    def _rows_to_predict(self, X: Any) -> NDArray[Any]:
        """Check that the model is fitted and X fits it; return X as an array."""
        self._require_fitted()
        rows = self._coded_rows(X)
        self._accept_rows(X, self._frame, first=False)
        return self._features(rows)

    def _accept_rows(self, X: Any, frame: FrameEncoder | None, *, first: bool) -> None:
        """Compare the features of X with the known ones, or set them on the first call.

        Rows that the caller has already encoded have no names.
        """
        if frame is None or not frame.columns.is_coded(X):
            accept_rows(self, X, first=first)
        elif first:
            self.n_features_in_ = len(frame.columns.kinds)
            self.__dict__.pop("feature_names_in_", None)

    def _coded_rows(self, X: Any) -> Any:
        """Return rows as an array of numbers, with text hashed."""
        refuse_uncoded(self, X)
        coded, names = self._code(X, self._known_columns)
        return check_rows(
            self, coded, sparse=self._learner().accepts_sparse, names=names
        )

    def _features(self, rows: Any) -> Any:
        """Return rows as features for the learner, with categories encoded."""
        return rows if self._frame is None else self._frame.encode(rows)

    # Prediction sets

    @_only_if(has_sets)
    def predict_set(self, X: Any, coverage: float = 0.9) -> BoolArray:
        """Predict a set of classes for each sample that contains the true class.

        Adaptive conformal inference: the probability that a class needs to be in a set
        rises with each sample whose class was in its set and falls with each other one.
        In the long run the share of samples whose class is in the set is `coverage`,
        whatever the stream and however it drifts. A set may be empty, if the model is
        right more often than that, and may contain all classes. The better the
        probabilities, the smaller the sets.

        `predict_set_then_learn` moves the thresholds with every sample; other ways of
        learning do not move them. Before its first use, a set holds the classes with a
        probability of one half or more, and `RPNBClassifier`, which needs
        temperature="auto" and the combiner "log_sum" or "product", uses thresholds
        that follow the samples from which it calibrates its probabilities, also in a
        pipeline and with a drift detector.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.
        coverage : float, default=0.9
            Target coverage, from 0.5 to 0.99.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether each of `classes_` is in the set of each sample.

        References
        ----------
        I. Gibbs and E. Candès, "Adaptive conformal inference under distribution shift",
        NeurIPS 2021.

        A. N. Angelopoulos, E. J. Candès and R. J. Tibshirani, "Conformal PID control
        for time series prediction", NeurIPS 2023.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> model = GaussianNB().fit(X, y)
        >>> model.predict_set(X[:2], coverage=0.9).shape
        (2, 3)
        """
        return predict_sets(self, X, check_coverage(coverage))

    @_only_if(has_sets)
    def predict_set_then_learn(
        self, X: Any, y: Any, coverage: float = 0.9, classes: ArrayLike | None = None
    ) -> tuple[LabelArray, BoolArray]:
        """Predict label and set of each sample before it is learned, then learn it.

        The thresholds of all coverages are updated with every sample; a sample of a
        class that was not known yet counts as not covered.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the order of their arrival.
        y : array-like of shape (n_samples,)
            Class labels.
        coverage : float, default=0.9
            Target coverage; see `predict_set`.
        classes : array-like of shape (n_classes,), optional
            Classes that may be predicted from the first of these samples on.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels as `predict_then_learn` returns them.
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each of `classes_`, as they are afterwards, is in the sample's set.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from rpnb.baselines import GaussianNB
        >>> X, y = load_digits(return_X_y=True)
        >>> model = GaussianNB()
        >>> labels, sets = model.predict_set_then_learn(X, y, classes=np.arange(10))
        >>> print(f"coverage {sets[np.arange(1797), y].mean():.1f}")
        coverage 0.9
        """
        return predict_sets_then_learn(self, X, y, check_coverage(coverage), classes)

    # Asking for labels

    @_only_with("probabilities", "log_probabilities")
    def ask(
        self,
        X: Any,
        budget: float = 0.05,
        *,
        random_share: float = RANDOM_SHARE,
        random_state: int = 0,
    ) -> Questions:
        """Choose the samples of a stream whose labels are worth asking for.

        Samples are drawn one by one, uncertain ones more often, so that about a share
        `budget` of them is asked for: never more than ``budget * n_samples + 31`` on a
        stream whose budget stays the same. Samples about which the model is certain are
        drawn as well, by `random_share`: they show changes that the model does not
        expect. The first 10 samples of a stream are all asked for, also by a model that
        has learned nothing yet.

        Every sample is drawn with a known probability. Its inverse is the importance
        weight, with which `rpnb.evaluate.estimate_error` estimates the error on all
        samples from those that were asked for; an average without weights would be too
        high. Learn the labels without weights: on most streams that gives the lower
        error.

        The model counts, also in files, how many samples it was shown and asked for;
        nothing else changes. The result does not depend on how the data is split into
        calls, as long as the same samples are learned before each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Next samples of the stream.
        budget : float, default=0.05
            Share of the samples to ask for; above 0, at most 1.
        random_share : float, default=0.2
            Share of the odds of being asked for that is the same for every sample. 1 is
            random choice. Small shares give large weights; at least 0.01.
        random_state : int, default=0
            Seed of the draws.

        Returns
        -------
        Questions
            The `rows` to ask for, their `weights`, and the `probabilities` of all rows.

        References
        ----------
        I. Žliobaitė, A. Bifet, B. Pfahringer and G. Holmes, "Active learning with
        drifting streaming data", IEEE Transactions on Neural Networks and Learning
        Systems 25, 2014.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb import PooledClassifier
        >>> from rpnb.datasets import streams
        >>> model = PooledClassifier(random_state=0)
        >>> for X, y in streams.mixture(4000, M=3, chunk=50):
        ...     asked = model.ask(X, budget=0.05)
        ...     if len(asked.rows):
        ...         model = model.partial_fit(X[asked.rows], y[asked.rows])
        >>> bool(190 <= model.n_samples_seen_ <= 231)
        True
        """
        budget = check_real("budget", budget, 0.0, above=True, high=1.0)
        share = check_real("random_share", random_share, 0.01, high=1.0)
        seed = check_integer("random_state", random_state, 0, None)
        return choose_rows(self, X, budget, share, seed)

    # Attributes

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples seen so far.

        Examples
        --------
        >>> from rpnb.baselines import MajorityClass
        >>> MajorityClass().partial_fit([[0.0], [1.0]], [0, 1]).n_samples_seen_
        2
        """
        return self._learner().row_counts(self._fitted_state("n_samples_seen_"))[0]

    @property
    def n_seen_(self) -> int:
        """Old name of `n_samples_seen_`, kept until version 1.0.

        Examples
        --------
        >>> from rpnb.baselines import MajorityClass
        >>> MajorityClass().partial_fit([[0.0], [1.0]], [0, 1]).n_seen_
        2
        """
        return self._learner().row_counts(self._fitted_state("n_seen_"))[0]

    @property
    def n_updates_(self) -> int:
        """Number of samples that changed the model.

        Examples
        --------
        >>> from rpnb.baselines import MajorityClass
        >>> MajorityClass().partial_fit([[0.0], [1.0]], [0, 1]).n_updates_
        2
        """
        return self._learner().row_counts(self._fitted_state("n_updates_"))[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        learner = self._learner()
        tags.input_tags.sparse = learner.accepts_sparse
        return learner.tag(tags)

    # Parameters

    @property
    def _class_weight(self) -> ClassWeight:
        """The parameter `class_weight`; None for learners without it."""
        given: ClassWeight = getattr(self, "class_weight", None)
        return given

    def _record_parameters(self) -> None:
        """Record the parameters at the start of learning, and reset the counts."""
        self._class_counts = None
        self._recorded_parameters = {
            name: getattr(self, name) for name in _parameter_names(type(self))
        }

    def _check_unchanged(self) -> None:
        """Refuse parameters that changed since learning began and must not."""
        recorded = self._recorded_parameters
        if all(map(is_, _parameter_values(type(self))(self), recorded.values())):
            return
        for name, value in recorded.items():
            now = getattr(self, name)
            if now is value or _same(now, value):
                continue
            learner = self._learner()
            if name not in learner.changeable:
                raise ValueError(
                    f"{name} was {value!r} when learning began and is {now!r} now: "
                    "use fit, or a clone, to start again with other parameters"
                )
            learner.check_changeable()

    # Whether the model is fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def _require_fitted(self) -> None:
        """Raise NotFittedError if nothing has been learned."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet: call fit, "
                "partial_fit or predict_then_learn first."
            )

    def _fitted_state(self, attribute: str) -> Any:
        """Return the state, or raise AttributeError for `attribute` if not fitted."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"{type(self).__name__} has no {attribute} before it has seen data"
            )
        return self._state

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        super().__setstate__(attributes)
        # joblib may pass arrays that are memory-mapped read-only, and `copy.copy`
        # passes those of another model.
        self.__dict__.update(self._copied_attributes())

    def _copied_attributes(self) -> dict[str, Any]:
        """Return all attributes, with copies of what learning changes in place."""
        copied = dict(self.__dict__)
        if self.__sklearn_is_fitted__():
            copied["_state"] = self._learner().copy(self._state)
        for name in _CHANGED_IN_PLACE:
            if name in copied:
                copied[name] = deepcopy(copied[name])
        return copied

    # Files

    def save(self, path: ModelSource, *, key: bytes | None = None) -> None:
        """Write the model to a file, completely or not at all.

        The file holds arrays and JSON, no pickle. Projections are not in it: they
        follow from the seed.

        Parameters
        ----------
        path : str, path or binary file
            File to write. An open file is written from its current position on.
        key : bytes, optional
            Secret of at least 16 bytes with which to sign the file (HMAC-SHA-256):
            whoever has it can verify, by `load` with the same key, that the file was
            written by someone who has it. The content is not encrypted.

        Notes
        -----
        If another thread is learning with the model, this waits until its call has
        ended: the file holds the state between two calls.

        Examples
        --------
        >>> import io
        >>> from rpnb import RPNBClassifier
        >>> file = io.BytesIO()
        >>> RPNBClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"]).save(file)
        >>> RPNBClassifier.load(file).predict([[1.0]]).tolist()
        ['b']
        """
        with lock_of(self):
            write_estimator(path, saved_model(self), key=key)

    @classmethod
    def load(cls, path: ModelSource, *, key: bytes | None = None) -> Self:
        """Read a model that `save` wrote; it behaves as the saved one, to the bit.

        All content of a file is checked before it is used, so that untrusted files do
        no harm; but only a signature proves who wrote it.

        Parameters
        ----------
        path : str, path or binary file
            File to read. An open file must be able to seek, and is left open.
        key : bytes, optional
            Secret with which the file must have been signed. Without one, signed files
            are loaded as well, and their signature is not verified.

        Returns
        -------
        estimator
            The model.

        Raises
        ------
        ModelFileError
            If the file is not a complete model of this class, or not signed with the
            key.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import PA
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PA().fit(X, y)
        >>> model.save("iris.rpnb")
        >>> PA.load("iris.rpnb").n_samples_seen_
        150
        """
        model: Self = load_model(cls, path, key)
        return model

    def _parameters_to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON values, for a model file."""
        self._shuffles()  # refuse a value that files must not contain
        parameters = parameters_to_json(self.get_params(deep=False))
        given = parameters.pop("class_weight", None)
        if given is not None:
            parameters["class_weight"] = class_weight_to_json(given)
        return parameters

    @classmethod
    def _parameters_from_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters from the JSON values of `_parameters_to_json`."""
        if "class_weight" not in parameters:
            return parameters
        given = class_weight_from_json(parameters["class_weight"])
        return {**parameters, "class_weight": given}

    # Notebooks

    def _repr_html_inner(self) -> str:
        return with_facts(self, super()._repr_html_inner())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return bundle_with_facts(self, super()._repr_mimebundle_(**options))


def _require_probabilities(model: Any) -> None:
    """Refuse costs for a learner without probabilities."""
    if not has_probabilities(model):
        raise ValueError(
            f"costs must be None for {type(model).__name__}, which has no probabilities"
        )


@cache
def _parameter_names(estimator: type[BaseEstimator]) -> tuple[str, ...]:
    """Return the names of the parameters that must not change after learning began."""
    # A seed is used once, and the order of samples concerns `fit` alone.
    names = estimator._get_param_names()
    return tuple(name for name in names if name not in ("random_state", "shuffle"))


@cache
def _parameter_values(estimator: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads the parameters of `_parameter_names` at once."""
    names = _parameter_names(estimator)
    if len(names) > 1:
        return attrgetter(*names)
    return lambda model: tuple(getattr(model, name) for name in names)


def _same(a: Any, b: Any) -> bool:
    """Return whether two values of a parameter are equal; arrays are allowed.

    True and 1 are different: a numeric parameter must not be a boolean, and cannot be
    saved as one.
    """
    if isinstance(a, bool) is not isinstance(b, bool):
        return False
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        return bool(a == b)
    return bool(np.array_equal(a, b))
