"""A learner whose errors are watched, and that starts anew, or fades, at an alarm."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Literal, NoReturn, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from rpnb.core.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.model import fade_all
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.detectors import Detector, first_alarm, make_detector
from rpnb.estimators.labels import LabelArray
from rpnb.estimators.parameters import check_choice, check_integer, check_real
from rpnb.estimators.streaming import StreamClassifier, WeightedStreamClassifier

# Rows learnt before their errors are looked at. What was learnt after an alarm has to
# be undone, so pieces are short after one and grow while there is none.
_SHORTEST = 64
_LONGEST = 4096


@dataclass(slots=True)
class Recent:
    """The last rows seen, the oldest first."""

    X: Any
    y: IntArray
    weight: FloatArray


@dataclass(slots=True)
class Watched:
    """A learner's state, and what watches over it."""

    learner: StreamClassifier[Any]
    """the learner's parameters; its state is `inner`"""
    inner: Any
    detector: Detector
    known: BoolArray
    """(M,) whether the class has been declared or seen"""
    n_seen: int = 0
    forgotten_updates: int = 0
    """updates of learners that were given up"""
    drifts: list[int] = field(default_factory=list)
    recent: Recent | None = None


def _offers(method: str) -> Callable[["DriftAware"], bool]:
    return lambda self: hasattr(self.model, method)


@final
class DriftAware(WeightedStreamClassifier[Watched]):
    """A classifier that notices when its errors rise, and does something about it.

    Each row is predicted before it is learnt, and a drift detector is told whether the
    prediction was wrong. If it gives an alarm at a row, the learner starts anew, or
    what it has learnt so far counts less, from the next row on, and the detector
    starts anew too. The result is what a loop over single rows would give, however rows
    are cut into calls.

    Parameters
    ----------
    model : classifier of this package
        What learns. It is not changed: a copy learns, made on the first call or by
        `fit`. Its `batch_size` must be 1, if it has one.
    detector : {"adwin", "ddm", "eddm", "page_hinkley"} or detector, default="adwin"
        A detector of River (`pip install 'rpnb[river]'`) with its default parameters,
        or one with parameters of your choice, which is not changed either. Of ADWIN's
        alarms only those count that find more errors than before, not fewer.
    on_drift : {"reset", "downweight"}, default="reset"
        What an alarm does: the learner forgets all but its classes and projections; or
        what it has learnt counts `factor` times as much, for an `RPNBClassifier`.
    factor : float, default=0.1
        From 0 to 1, for "downweight".
    warm : int, default=0
        For "reset": how many of the last rows, that of the alarm included, are learnt
        again. They are kept in memory.

    Attributes
    ----------
    drifts_ : list of int
        The rows of the alarms, counted from 0 since learning began. Rows of weight 0
        are not counted.
    learner_ : classifier
        A copy of the learner as it stands.
    classes_, n_features_in_, feature_names_in_, n_seen_, n_updates_
        As in `RPNBClassifier`. Resets do not set back the last two.

    Examples
    --------
    >>> import numpy as np
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.drift import DriftAware
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 4000)
    >>> X = rng.normal(size=(4000, 4)) + 2.0 * y[:, None]
    >>> X[2000:] *= -1.0                                  # an abrupt drift
    >>> model = DriftAware(RPNBClassifier(update="all", random_state=0))
    >>> predicted = model.predict_then_learn(X, y, classes=[0, 1])
    >>> [2000 < row < 2100 for row in model.drifts_]
    [True]
    """

    def __init__(
        self,
        model: Any,
        *,
        detector: Any = "adwin",
        on_drift: Literal["reset", "downweight"] = "reset",
        factor: float = 0.1,
        warm: int = 0,
    ) -> None:
        self.model = model
        self.detector = detector
        self.on_drift = on_drift
        self.factor = factor
        self.warm = warm

    # What the learner can do

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return getattr(self.model, "_takes_sparse", False)

    @property
    def _class_by_class(self) -> bool:  # type: ignore[override]
        return getattr(self.model, "_class_by_class", False)

    @available_if(_offers("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row, as the learner does."""
        rows = self._rows_to_predict(X)
        return self._estimator().predict_proba(rows)

    @available_if(_offers("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of `predict_proba` (n, M)."""
        rows = self._rows_to_predict(X)
        return self._estimator().predict_log_proba(rows)

    @available_if(_offers("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class for each row, as the learner does."""
        rows = self._rows_to_predict(X)
        return self._estimator().decision_function(rows)

    # Looking

    @property
    def drifts_(self) -> list[int]:
        """The rows of the alarms, counted from 0."""
        return list(self._fitted_state("drifts_").drifts)

    @property
    def learner_(self) -> StreamClassifier[Any]:
        """A copy of the learner as it stands, free to be used and saved."""
        state = self._fitted_state("learner_")
        learner = self._estimator()
        learner._state = state.learner._copy(state.inner)
        if hasattr(self, "feature_names_in_"):
            learner.feature_names_in_ = self.feature_names_in_
        return learner

    def _estimator(self) -> StreamClassifier[Any]:
        """Return the learner as an estimator that shares the state."""
        learner: StreamClassifier[Any] = clone(self._state.learner)
        learner.n_features_in_ = self.n_features_in_
        learner._set_classes(self.classes_)
        learner._state = self._state.inner
        learner._note_parameters()
        return learner

    # What StreamClassifier asks for

    def _begin(self, p: int, classes: LabelArray, declared: IntArray) -> Watched:
        if not isinstance(self.model, StreamClassifier):
            raise TypeError(f"model must be a classifier of rpnb, got {self.model!r}")
        if getattr(self.model, "batch_size", 1) != 1:
            raise ValueError(
                "model must learn row by row, since an alarm takes effect at the next "
                f"row: its batch_size must be 1, got {self.model.batch_size!r}"
            )
        check_choice("on_drift", self.on_drift, ("reset", "downweight"))
        fades = isinstance(self.model, RPNBClassifier)
        if self.on_drift == "downweight" and not fades:
            raise ValueError(
                "on_drift must be 'reset' for a model other than RPNBClassifier, got "
                "'downweight'"
            )
        check_real("factor", self.factor, 0.0, high=1.0)
        check_integer("warm", self.warm, 0)
        detector = make_detector(self.detector)
        learner: StreamClassifier[Any] = clone(self.model)
        known = np.zeros(classes.shape[0], np.bool_)
        known[declared] = True
        inner = learner._begin(p, classes, declared)
        return Watched(learner, inner, detector, known)

    def _arrange(
        self, state: Watched, source: IntArray, classes: LabelArray, declared: IntArray
    ) -> Watched:
        old = source >= 0
        known = np.zeros(source.shape[0], np.bool_)
        known[old] = state.known[source[old]]
        known[declared] = True
        recent = state.recent
        if recent is not None:
            moved = np.empty(state.known.shape[0], np.int64)
            moved[source[old]] = np.flatnonzero(old)
            recent = replace(recent, y=moved[recent.y])
        return replace(
            self._copy(state),
            inner=state.learner._arrange(state.inner, source, classes, declared),
            known=known,
            recent=recent,
        )

    def _learn(
        self,
        state: Watched,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        n = X.shape[0]
        if labels is None:
            labels = np.empty(n, np.int64)
        if weight.shape[0] == 1:
            weight = np.repeat(weight, n)
        learner = state.learner
        start, size = 0, _SHORTEST
        while start < n:
            stop = min(start + size, n)
            rows = slice(start, stop)
            # An alarm at the last row of a piece leaves nothing to undo.
            before = learner._copy(state.inner) if stop - start > 1 else None
            learner._learn(state.inner, X[rows], y[rows], weight[rows], labels[rows])
            errors = _errors(state.known, y[rows], labels[rows])
            alarm = first_alarm(state.detector, errors)
            size = min(2 * size, _LONGEST)
            if alarm >= 0:
                rows = slice(start, start + alarm + 1)
                if rows.stop < stop:
                    state.inner = before
                    again = np.empty(alarm + 1, np.int64)
                    learner._learn(before, X[rows], y[rows], weight[rows], again)
                size = _SHORTEST
            state.n_seen += rows.stop - start
            if self.warm > 0:
                _remember(state, X[rows], y[rows], weight[rows], self.warm)
            if alarm >= 0:
                self._respond(state)
            start = rows.stop

    def _respond(self, state: Watched) -> None:
        """Do what an alarm at the last row asks for."""
        state.drifts.append(state.n_seen - 1)
        state.detector = state.detector.clone()
        if self.on_drift == "downweight":
            fade_all(state.inner, float(self.factor))
            return
        learner = state.learner
        updates = self._tally(state)[1]
        declared = np.flatnonzero(state.known)
        state.inner = learner._renew(
            state.inner, self.n_features_in_, self.classes_, declared
        )
        if state.recent is not None:
            recent = state.recent
            learner._learn(state.inner, recent.X, recent.y, recent.weight, None)
        state.forgotten_updates = updates - learner._tally(state.inner)[1]

    def _take(
        self,
        X: Any,
        y: Any,
        classes: Any,
        sample_weight: Any,
        *,
        first: bool,
        predict: bool,
    ) -> IntArray:
        weighted = isinstance(self.model, WeightedStreamClassifier)
        if sample_weight is not None and not weighted:
            raise TypeError(
                f"sample_weight is of no use to {type(self.model).__name__}, which "
                "takes all rows as equal"
            )
        return super()._take(X, y, classes, sample_weight, first=first, predict=predict)

    def _classify(self, state: Watched, X: NDArray[Any]) -> IntArray:
        return state.learner._classify(state.inner, X)

    def _tally(self, state: Watched) -> tuple[int, int]:
        updates = state.learner._tally(state.inner)[1]
        return state.n_seen, state.forgotten_updates + updates

    def _copy(self, state: Watched) -> Watched:
        return replace(
            state,
            inner=state.learner._copy(state.inner),
            detector=copy.deepcopy(state.detector),
            known=state.known.copy(),
            drifts=list(state.drifts),
        )

    # Files

    def save(self, path: str | PathLike[str]) -> NoReturn:
        """Refuse: a detector of River can be written by pickle only."""
        raise NotImplementedError(
            "a drift detector cannot be written to a file without pickle; save the "
            "learner alone with learner_.save, and wrap it anew after loading"
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Refuse: see `save`."""
        raise NotImplementedError(
            "a DriftAware cannot be loaded, only the learner that learner_.save wrote"
        )

    def _dump(self, state: Watched) -> NoReturn:
        raise NotImplementedError

    def _restore(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> NoReturn:
        raise NotImplementedError


def _errors(known: BoolArray, y: IntArray, labels: IntArray) -> Iterator[bool]:
    """Say of each row whether it was predicted wrongly; its class is known from then.

    A row of a class that was not known is one, whatever its label says: some learners
    are asked for it only after the class has joined.
    """
    for m, label in zip(y.tolist(), labels.tolist(), strict=True):
        wrong = label != m or not known[m]
        known[m] = True
        yield wrong


def _remember(
    state: Watched, X: Any, y: IntArray, weight: FloatArray, most: int
) -> None:
    """Keep the last rows, at most so many."""
    held = state.recent
    if held is not None:
        sparse = issparse(X) or issparse(held.X)
        both = (held.X, X)
        X = vstack(both, "csr") if sparse else np.concatenate(both)
        y = np.concatenate((held.y, y))
        weight = np.concatenate((held.weight, weight))
    # Copies: a view would keep all rows of the call.
    state.recent = Recent(X[-most:].copy(), y[-most:].copy(), weight[-most:].copy())
