"""What every classifier of this package does with rows and labels that users give it.

It checks the input, gives labels their numbers, adds new classes, and changes the
learner's state only when nothing can fail any more.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from rpnb.core.columns.categories import LOOKS, Categories
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.rows import row_blocks
from rpnb.core.passes.blocks import weights_of
from rpnb.estimators.checks.columns import Columns, find_columns
from rpnb.estimators.checks.costs import Costs, check_costs, least_costly
from rpnb.estimators.checks.labels import (
    LabelArray,
    as_labels,
    decode,
    encode,
    number_labels,
)
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.checks.spread import warn_of_spread
from rpnb.estimators.docstrings import with_shared_text
from rpnb.estimators.notebook import NotebookView
from rpnb.estimators.stream.activity import lock_of
from rpnb.estimators.stream.class_weights import (
    balanced_weights,
    check_class_weight,
    fixed_weights,
    whole_weights,
)
from rpnb.estimators.stream.fitted_model import FittedModel
from rpnb.estimators.stream.labelled_rows import (
    LabelledRows,
    check_labelled_rows,
    drawn_order,
    reorder,
)
from rpnb.estimators.stream.learner import ScoredRows, State
from rpnb.estimators.stream.new_classes import initial_classes, learn_adding_classes
from rpnb.estimators.stream.prediction_sets import has_probabilities
from rpnb.estimators.stream.scored_parts import ScoredPart, join_scored
from rpnb.labels import LabelIndex

_NO_CLASSES: LabelArray = np.zeros(0, np.int64)


def new_categories(columns: Columns | None, M: int) -> Categories | None:
    """Return what is known of categories before the first row, None without any."""
    if columns is None or not columns.categories:
        return None
    return Categories(columns.categories, columns.width, M)


class StreamClassifier(
    NotebookView,
    ClassifierMixin,  # type: ignore[misc]
    FittedModel[State],
    BaseEstimator,  # type: ignore[misc]
):
    """Abstract: a classifier that learns from a stream, row by row or by mini-batch."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__:  # python -OO has none
            cls.__doc__ = with_shared_text(cls.__doc__, cls.__name__)

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
            has one and from a fixed seed otherwise; if not, they are learned in the
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
            Whether to return the probabilities of each row before it was learned, too,
            for learners with `predict_proba`. They change neither labels nor what is
            learned. `RPNBClassifier` and `PooledClassifier` compute them in one pass,
            others row by row.
        costs : array-like of shape (M, M) or mapping, optional
            What predictions cost, by true class (row) and predicted class (column), in
            the order of `classes_` as they are afterwards, or by true class. Labels are
            then those with the least expected cost by the probabilities before each
            row; see `predict`. Costs do not change what is learned.

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
        if costs is not None:
            labels, P = self._decided_then_learned(X, y, classes, costs)
            return (labels, P) if return_proba else labels
        if return_proba:
            labels, scored = self._scored_then_learned(X, y, classes)
            return labels, scored.probabilities
        first = not self.__sklearn_is_fitted__()
        numbers = self._learn_batch(X, y, classes, first=first, predict=True)
        return decode(numbers, self.classes_)

    def _scored_then_learned(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
    ) -> tuple[LabelArray, ScoredRows]:
        """Predict rows, then learn them; return labels and what was known before each.

        A row before which no class was known has no label, and probabilities of 0.
        """
        if not hasattr(self, "predict_proba"):
            raise ValueError(
                f"return_proba must be False for {type(self).__name__}, which has no "
                "probabilities"
            )
        first = not self.__sklearn_is_fitted__()
        parts: list[ScoredPart] = []
        numbers = self._learn_batch(
            X, y, classes, sample_weight, first=first, predict=True, scored=parts
        )
        scored = join_scored(parts, self._index)
        scored.probabilities[numbers < 0] = 0.0
        return decode(numbers, self.classes_), scored

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
        afterwards, _ = number_labels(as_labels(y), known, index, declared)
        checked = check_costs(costs, afterwards)
        _, scored = self._scored_then_learned(X, y, classes, sample_weight)
        P = scored.probabilities
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
        whole: bool = False,
    ) -> IntArray:
        """Check all arguments, update classes, then learn; return the predictions.

        Without `predict`, the numbers returned mean nothing. What was known of the rows
        before is added to `scored`, if given. `whole` says that there are no other
        rows.
        """
        if not first:
            self._check_unchanged()
        labelled = self._check_labelled(X, y, sample_weight, first=first)
        return self._learn_labelled(
            X,
            labelled,
            classes,
            first=first,
            predict=predict,
            scored=scored,
            whole=whole,
        )

    def _check_labelled(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, first: bool
    ) -> LabelledRows:
        """Return the rows of positive weight, or say what is wrong with them."""
        if sample_weight is not None:
            self._check_uses_weights()
        columns = self._find_columns(X) if first else self._columns
        coded, names = self._code(X, columns)
        return check_labelled_rows(
            self,
            coded,
            y,
            sample_weight,
            sparse=self._accepts_sparse,
            limits=self._weight_limits,
            names=names,
        )

    def _code(
        self, X: Any, columns: Columns | None
    ) -> tuple[Any, Sequence[Any] | None]:
        """Return a table as numbers, in which text is hashed, and their columns' names.

        A missing category is one more category, also for learners that take no NaN.
        """
        if columns is None:
            return X, None
        coded = columns.code(X)
        if not get_tags(self).input_tags.allow_nan:
            coded = columns.with_missing(coded)
        return coded, columns.names_of(X)

    def _check_labels(self, y: Any) -> None:
        """Refuse labels that learning would refuse; change nothing, copy no state.

        For callers that write rows down before they are learned.
        """
        first = not self.__sklearn_is_fitted__()
        known = _NO_CLASSES if first else self.classes_
        index = LabelIndex() if first else self._index
        joined, _ = number_labels(as_labels(y), known, index, None)
        if joined is not known:
            check_class_weight(self._class_weight, joined, whole=False)
            state = None if first else self._state
            self._check_classes(state, joined, _NO_CLASSES)

    def _learn_all(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, shuffle: bool
    ) -> None:
        """Check all arguments, forget everything, then learn in the order wanted."""
        if not isinstance(shuffle, bool | np.bool_):
            raise TypeError(f"shuffle must be True or False, got {shuffle!r}")
        if not shuffle:
            self._learn_batch(X, y, y, sample_weight, first=True, whole=True)
        else:
            labelled = self._check_labelled(X, y, sample_weight, first=True)
            seed, n = getattr(self, "random_state", 0), labelled.labels.shape[0]
            some = reorder(labelled, drawn_order(seed, n))
            self._learn_labelled(X, some, y, first=True, whole=True)
        self._asking = None

    def _learn_labelled(
        self,
        X: Any,
        labelled: LabelledRows,
        classes: ArrayLike | None,
        *,
        first: bool,
        predict: bool = False,
        scored: list[ScoredPart] | None = None,
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
        with lock_of(self):
            return self._learn_checked(
                *(X, labelled, declared, joined, numbers),
                *(first, predict, scored, whole),
            )

    def _learn_checked(
        self,
        X: Any,
        labelled: LabelledRows,
        declared: LabelArray | None,
        joined: LabelArray,
        numbers: IntArray,
        first: bool,
        predict: bool,
        scored: list[ScoredPart] | None,
        whole: bool,
    ) -> IntArray:
        known = _NO_CLASSES if first else self.classes_
        add_at_first_row = self._requires_seen_classes and joined is not known
        if add_at_first_row:
            joined = initial_classes(labelled.labels, known, declared)
        columns = self._find_columns(X) if first else self._columns
        categories = self._categories
        p = labelled.rows.shape[1]
        if first:
            categories = new_categories(columns, joined.shape[0])
            p = p if categories is None else categories.width
        state = self._state_for(p, joined, declared, first=first)
        self._commit(X, joined, state, columns, categories, first=first)
        if first and self._sensitive_to_scale and columns is None:
            warn_of_spread(labelled.rows, getattr(self, "feature_names_in_", None))
        if add_at_first_row:
            found = learn_adding_classes(self, labelled, whole=whole, scored=scored)
            if first and declared is None:
                found[0] = -1  # no class was known yet
            return found
        predicted = np.empty_like(numbers) if predict else None
        self._learn_numbered(
            labelled.rows, numbers, labelled.weight, predicted, scored, whole=whole
        )
        return numbers if predicted is None else predicted

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
        """Weigh rows of known classes y, then learn them, predicting into `labels`.

        Every way in that learns tables ends here, so that none has its own weights:
        with and without probabilities, which are added to `scored`.
        """
        weight = self._row_weights(y, weight, whole=whole)
        if self._categories is None:
            self._learn_features(X, y, weight, labels, scored)
            return
        for part in self._parts_of_layouts(y):
            w = weights_of(weight, part)
            # The last part may have changed the layout.
            features = self._categories.learn(X[part], y[part], w)
            some = None if labels is None else labels[part]
            self._learn_features(features, y[part], w, some, scored)
            if self._categories.seen in LOOKS:
                self._look_at_categories()

    def _learn_features(
        self,
        X: Any,
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
        scored: list[ScoredPart] | None,
    ) -> None:
        """Learn rows as the learner has them, weighted, predicting into `labels`."""
        if scored is None:
            self._learn(self._state, X, y, weight, labels)
            return
        assert labels is not None  # noqa: S101 - probabilities come with predictions
        found = self._learn_scored(self._state, X, y, weight, labels)
        scored.append(ScoredPart(self.classes_, found))

    # Categories

    def _find_columns(self, X: Any) -> Columns | None:
        """Return what the columns of the first rows hold, None if all are numbers."""
        if self._given_columns is not None:
            return self._given_columns
        if not hasattr(self, "categorical_features"):
            return None
        text = getattr(self, "text_features", None)
        return find_columns(X, self.categorical_features, text)

    def _parts_of_layouts(self, y: IntArray) -> Iterator[slice]:
        """Cut rows of classes y where the layout of the categories is chosen again.

        And into blocks, since features may be many more than columns.
        """
        start, n = 0, y.shape[0]
        for block in row_blocks(n):
            start = block.start
            while start < block.stop:
                assert self._categories is not None  # noqa: S101 - they come with rows
                until = self._categories.rows_until_look()
                stop = block.stop
                if until is not None:
                    labelled = np.flatnonzero(y[start:stop] >= 0)
                    if labelled.shape[0] >= until:
                        stop = start + int(labelled[until - 1]) + 1
                yield slice(start, stop)
                start = stop

    def _look_at_categories(self) -> None:
        """Choose the layout of the categories; learn the first rows again in a new one.

        What is counted of predictions stays as it was.
        """
        assert self._categories is not None  # noqa: S101 - the caller has some
        self._categories, kept = self._categories.looked()
        if kept is None:
            return
        rows = self._categories
        state = self._restart(self._state, rows.width, self.classes_)
        features = rows.learn(*kept)
        self._learn(state, features, kept.y, kept.weight, None)
        self._state = self._restarted(self._state, state)

    def _row_weights(
        self, y: IntArray, weight: FloatArray, *, whole: bool = False
    ) -> FloatArray:
        """Return the weights of rows of classes y, times those of their classes.

        To be called once for all rows that are learned, in their order: rows are
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
        active = np.zeros(0, np.int64)
        if declared is not None:
            index = LabelIndex(classes.tolist())
            active = np.unique(encode(declared, classes, index))
        if first:
            return self._new_state(p, classes, active)
        return self._state_with_classes(classes, active)

    def _commit(
        self,
        X: Any,
        classes: LabelArray,
        state: State,
        columns: Columns | None = None,
        categories: Categories | None = None,
        *,
        first: bool,
    ) -> None:
        """Set the attributes that are new; the last check is the first line."""
        self._accept_rows(X, columns if first else self._columns, first=first)
        if first:
            self._record_parameters()
            self._set_thresholds = None
            self._forget_columns()
        if first or classes is not self.classes_:
            self._set_classes(classes)
        if first and columns is not None:
            self._columns, self._categories = columns, categories
        self._state = state

    def _declare(self, X: Any, classes: LabelArray) -> None:
        """Make the state for rows like X, none of which is learned, and these classes.

        For callers that may ask for a prediction before the first row is learned.
        """
        columns = self._find_columns(X)
        categories = new_categories(columns, classes.shape[0])
        p = X.shape[1] if categories is None else categories.width
        state = self._state_for(p, classes, classes, first=True)
        self._commit(X, classes, state, columns, categories, first=True)

    # For adapters to other libraries

    def _initialise(self, p: int, classes: LabelArray) -> None:
        """Make the state for p features and these classes, all active, before any row.

        For libraries that may ask for a prediction before the first row is learned.
        """
        state = self._new_state(p, classes, np.arange(classes.shape[0]))
        self._record_parameters()
        self._set_classes(classes)
        self.n_features_in_ = p
        self._state = state

    # Predicting

    def predict(self, X: Any, *, costs: Costs | None = None) -> LabelArray:
        """Return the label of each row of X (n, p); changes nothing.

        Rows may be in any order: no prediction depends on which rows were learned last.
        `predict_next` predicts the next row of a stream.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        costs : array-like of shape (M, M) or mapping, optional
            What predictions cost, by true class (row) and predicted class (column), in
            the order of `classes_`; or a mapping from labels to what a mistake costs
            where the label is true, 1 by default. The label of a row is then the one
            with the least expected cost, the first of equals, for learners with
            `predict_proba`. By default all mistakes cost the same.

        Returns
        -------
        array of shape (n,)
            The predicted labels.
        """
        if costs is not None:
            return self._least_costly(X, costs, "predict_proba")
        rows = self._rows_to_predict(X)
        return decode(self._classify_unordered(self._state, rows), self.classes_)

    def predict_next(self, X: Any, *, costs: Costs | None = None) -> LabelArray:
        """Return the label of each row of X (n, p) if it came next in the stream.

        Learners that use the most recent labels, such as `PooledClassifier`, use them
        here and in `predict_then_learn`, and not in `predict`. Changes nothing. For the
        parameters see `predict`.
        """
        if costs is not None:
            return self._least_costly(X, costs, "predict_next_proba")
        rows = self._rows_to_predict(X)
        return decode(self._classify(self._state, rows), self.classes_)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_next_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row if it came next (n, M).

        As `predict_next` is to `predict`, this is to `predict_proba`.
        """
        model: Any = self
        found: FloatArray = model.predict_proba(X)
        return found

    def _least_costly(self, X: Any, costs: Any, method: str) -> LabelArray:
        """Return the labels with the least expected cost, by a method's probabilities.

        What is wrong with the costs is said before what is wrong with the rows.
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
        self._accept_rows(X, self._columns, first=False)
        return self._features(rows)

    def _accept_rows(self, X: Any, columns: Columns | None, *, first: bool) -> None:
        """Compare the features of X with those known, or learn them on the first call.

        Rows that were coded before, by callers that write them down so, have no names.
        """
        if columns is None or not columns.is_coded(X):
            accept_rows(self, X, first=first)
        elif first:
            self.n_features_in_ = len(columns.kinds)
            self.__dict__.pop("feature_names_in_", None)

    def _coded_rows(self, X: Any) -> Any:
        """Return rows as an array of numbers, in which text is hashed."""
        coded, names = self._code(X, self._columns)
        return check_rows(self, coded, sparse=self._accepts_sparse, names=names)

    def _features(self, rows: Any) -> Any:
        """Return rows as the learner has them: with features of their categories."""
        return rows if self._categories is None else self._categories.encode(rows)

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


def _require_probabilities(model: Any) -> None:
    """Refuse costs for a learner without probabilities."""
    if not has_probabilities(model):
        raise ValueError(
            f"costs must be None for {type(model).__name__}, which has no probabilities"
        )
