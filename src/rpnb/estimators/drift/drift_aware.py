"""DriftAware: a learner that is reset, or forgets, when its errors rise."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from rpnb.core.bayes.model import fade_all
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_choice, check_integer, check_real
from rpnb.estimators.checks.weights import ANY_WEIGHT
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.drift.detectors import (
    OWN_DETECTORS,
    detector_from_arrays,
    detector_schema,
    detector_to_arrays,
    make_detector,
)
from rpnb.estimators.drift.state import (
    DriftState,
    copy_drift_state,
    learn_until_alarms,
    rearrange_drift_classes,
    recent_from_arrays,
    recent_schema,
    recent_to_arrays,
)
from rpnb.estimators.saving.nested import (
    export_learner,
    import_learner,
    learner_from_json,
    learner_schema,
    learner_to_json,
)
from rpnb.estimators.saving.schema import (
    COUNT,
    MOST_COUNTED,
    StateSchema,
    ValueSchema,
    counts,
    flags,
)
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.learner import Shapes
from rpnb.estimators.stream.weighted import WeightedStreamClassifier

# Of the detector's arrays in model files.
_DETECTOR = "detector."


def _model_has(method: str) -> Callable[["DriftAware"], bool]:
    """Return a condition for `available_if`: whether the model has this method."""
    return lambda self: hasattr(self.model, method)


@final
@dataclass(eq=False, repr=False)
class DriftAware(WeightedStreamClassifier[DriftState]):
    """A classifier with a drift detector on its errors, which resets it at an alarm.

    Each row is predicted before it is learned, and the detector is updated with whether
    the prediction was wrong. If it gives an alarm at a row, then from the next row on
    the learner is reset, or what it has learned so far weighs less, and the detector is
    reset too. The result is what a loop over single rows would give, however rows are
    cut into calls.

    Parameters
    ----------
    model : classifier of this package
        The learner. It is not changed: a copy learns, made on the first call or by
        `fit`. Its `batch_size` must be 1, if it has one.
    detector : "adwin", "ddm", "eddm", "page_hinkley" or detector, default="adwin"
        By name, with the constants and the alarms of River's detectors; or a detector
        of River with parameters of your choice, which is not changed, and cannot be
        saved. Of ADWIN's alarms only those count that find more errors than before, not
        fewer.
    on_drift : {"reset", "downweight"}, default="reset"
        What an alarm does: the learner forgets all but its classes and projections; or
        what it has learned counts `factor` times as much, for an `RPNBClassifier`.
    factor : float, default=0.1
        From 0 to 1, for "downweight".
    warm : int, default=0
        For "reset": how many of the last rows, that of the alarm included, are learned
        again. They are kept in memory.

    Attributes
    ----------
    drifts_ : list of int
        The rows of the alarms, counted from 0 since learning began. Rows of weight 0
        are not counted.
    learner_ : classifier
        A copy of the learner in its present state.
    {inputs}
    n_seen_, n_updates_ : int
        Number of rows seen, and of those that changed the model. Resets do not set
        them back.

    References
    ----------
    A. Bifet and R. Gavaldà, "Learning from time-changing data with adaptive windowing",
    SDM 2007 (ADWIN).

    J. Gama, P. Medas, G. Castillo and P. Rodrigues, "Learning with drift detection",
    SBIA 2004 (DDM).

    M. Baena-García, J. del Campo-Ávila, R. Fidalgo, A. Bifet, R. Gavaldà and
    R. Morales-Bueno, "Early drift detection method", IWKDDS 2006 (EDDM).

    E. S. Page, "Continuous inspection schemes", Biometrika 41, 1954 (Page-Hinkley).

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

    model: Any
    _: KW_ONLY
    detector: Any = "adwin"
    on_drift: Literal["reset", "downweight"] = "reset"
    factor: float = 0.1
    warm: int = 0

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        shuffle: bool = False,
    ) -> Self:
        """Forget everything and learn from the rows of X, once.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        y : array-like of shape (n,)
            Their labels.
        sample_weight : array-like of shape (n,), optional
            As for the learner. Rows of weight 0 are left out.
        shuffle : bool, default=False
            Whether the order of the rows is drawn. By default it is kept, unlike that
            of other learners: in a random order there is no drift.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, shuffle=shuffle)

    # What the learner offers

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return getattr(self.model, "_accepts_sparse", False)

    @property
    def _weight_limits(self) -> tuple[float, float]:  # type: ignore[override]
        return getattr(self.model, "_weight_limits", ANY_WEIGHT)

    @property
    def _class_weight(self) -> ClassWeight:
        return getattr(self.model, "_class_weight", None)

    @property
    def _requires_seen_classes(self) -> bool:  # type: ignore[override]
        return getattr(self.model, "_requires_seen_classes", False)

    @available_if(_model_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row, as the learner does."""
        rows = self._rows_to_predict(X)
        learner: Any = self._estimator()
        found: FloatArray = learner.predict_proba(rows)
        return found

    @available_if(_model_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_next_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of each row if it came next, as the learner does."""
        rows = self._rows_to_predict(X)
        return self._probabilities(self._state, rows)

    def _probabilities(self, state: DriftState, X: NDArray[Any]) -> FloatArray:
        learner: Any = self._estimator()
        found: FloatArray = learner.predict_next_proba(X)
        return found

    @available_if(_model_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of `predict_proba` (n, M)."""
        rows = self._rows_to_predict(X)
        return self._estimator().predict_log_proba(rows)

    @available_if(_model_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class for each row, as the learner does."""
        rows = self._rows_to_predict(X)
        return self._estimator().decision_function(rows)

    # Attributes

    @property
    def drifts_(self) -> list[int]:
        """The rows of the alarms, counted from 0."""
        return list(self._fitted_state("drifts_").drifts)

    @property
    def learner_(self) -> StreamClassifier[Any]:
        """A copy of the learner in its present state, to be used and saved."""
        state = self._fitted_state("learner_")
        learner = self._estimator()
        learner._state = state.learner._copy(state.inner)
        if self._class_counts is not None:
            learner._class_counts = self._class_counts.copy()
        if hasattr(self, "feature_names_in_"):
            learner.feature_names_in_ = self.feature_names_in_
        return learner

    def _estimator(self) -> StreamClassifier[Any]:
        """Return the learner as an estimator that shares the state."""
        learner: StreamClassifier[Any] = clone(self._state.learner)
        learner.n_features_in_ = self.n_features_in_
        learner._set_classes(self.classes_)
        learner._state = self._state.inner
        learner._record_parameters()
        return learner

    # Functions of a StreamLearner

    def _new_state(self, p: int, classes: LabelArray, declared: IntArray) -> DriftState:
        if not isinstance(self.model, StreamClassifier):
            raise TypeError(f"model must be a classifier of rpnb, got {self.model!r}")
        self.model._check_numbers("DriftAware")
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
        inner = learner._new_state(p, classes, declared)
        return DriftState(learner, inner, detector, known)

    def _check_classes(
        self, state: DriftState | None, classes: LabelArray, declared: IntArray
    ) -> None:
        if state is not None:
            state.learner._check_classes(state.inner, classes, declared)
        elif isinstance(self.model, StreamClassifier):
            self.model._check_classes(None, classes, declared)

    def _rearrange_classes(
        self,
        state: DriftState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> DriftState:
        return rearrange_drift_classes(state, source, classes, declared)

    def _learn(
        self,
        state: DriftState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        for _ in learn_until_alarms(state, X, y, weight, labels, self.warm):
            self._react_to_alarm(state)

    def _react_to_alarm(self, state: DriftState) -> None:
        """Reset or fade the learner, and reset the detector, after an alarm."""
        state.drifts.append(state.n_seen - 1)
        state.detector = state.detector.clone()
        if self.on_drift == "downweight":
            fade_all(state.inner, float(self.factor))
            return
        learner = state.learner
        updates = self._row_counts(state)[1]
        declared = np.flatnonzero(state.known)
        state.inner = learner._reset_state(
            state.inner, self.n_features_in_, self.classes_, declared
        )
        if state.recent is not None:
            recent = state.recent
            learner._learn(state.inner, recent.X, recent.y, recent.weight, None)
        state.forgotten_updates = updates - learner._row_counts(state.inner)[1]

    def _check_uses_weights(self) -> None:
        if not isinstance(self.model, WeightedStreamClassifier):
            raise TypeError(
                f"sample_weight is of no use to {type(self.model).__name__}, which "
                "takes all rows as equal"
            )

    def _classify(self, state: DriftState, X: NDArray[Any]) -> IntArray:
        return state.learner._classify(state.inner, X)

    def _classify_unordered(self, state: DriftState, X: NDArray[Any]) -> IntArray:
        return state.learner._classify_unordered(state.inner, X)

    def _row_counts(self, state: DriftState) -> tuple[int, int]:
        updates = state.learner._row_counts(state.inner)[1]
        return state.n_seen, state.forgotten_updates + updates

    def _copy(self, state: DriftState) -> DriftState:
        return copy_drift_state(state)

    # Files

    def _parameters_to_json(self) -> dict[str, Any]:
        return {
            "model": learner_to_json(self.model),
            "detector": check_choice("detector", self.detector, OWN_DETECTORS),
            "on_drift": self.on_drift,
            "factor": float(self.factor),
            "warm": int(self.warm),
        }

    @classmethod
    def _parameters_from_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        model = learner_from_json(parameters["model"])
        check_choice("detector", parameters["detector"], OWN_DETECTORS)
        check_choice("on_drift", parameters["on_drift"], ("reset", "downweight"))
        check_real("factor", parameters["factor"], 0.0, high=1.0)
        check_integer("warm", parameters["warm"], 0)
        return {**parameters, "model": model}

    def _export_state(
        self, state: DriftState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        detector = detector_to_arrays(state.detector)
        metadata, arrays = export_learner(state.learner, state.inner)
        recent_metadata, recent = recent_to_arrays(state.recent, self.n_features_in_)
        return (
            {
                **metadata,
                **recent_metadata,
                "n_seen": state.n_seen,
                "forgotten_updates": state.forgotten_updates,
            },
            {
                **arrays,
                **recent,
                **{_DETECTOR + name: array for name, array in detector.items()},
                "known": state.known,
                "drifts": np.array(state.drifts, np.int64),
            },
        )

    def _state_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        inner = learner_schema(self.model, state, shapes, M, p)
        recent = recent_schema(state, shapes, M, p, int(self.warm))
        of_detector = {
            name.removeprefix(_DETECTOR): shape
            for name, shape in shapes.items()
            if name.startswith(_DETECTOR)
        }
        detector = detector_schema(self.detector, of_detector)
        n_drifts = shapes.get("drifts", (0,))[0]
        return StateSchema(
            {
                **inner.arrays,
                **recent.arrays,
                **{_DETECTOR + name: rule for name, rule in detector.items()},
                "known": flags(M),
                "drifts": counts(n_drifts),
            },
            {
                **inner.values,
                **recent.values,
                "n_seen": COUNT,
                # Rows learned again count again.
                "forgotten_updates": ValueSchema(int, -MOST_COUNTED),
            },
        )

    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> DriftState:
        detector = detector_from_arrays(
            self.detector,
            {
                name.removeprefix(_DETECTOR): array
                for name, array in arrays.items()
                if name.startswith(_DETECTOR)
            },
        )
        drifts = arrays["drifts"].tolist()
        if drifts != sorted(set(drifts)) or drifts[-1:] > [metadata["n_seen"] - 1]:
            raise ValueError("its alarms are not rows that it has seen, in their order")
        return DriftState(
            learner=clone(self.model),
            inner=import_learner(self.model, self.classes_, p, metadata, arrays),
            detector=detector,
            known=arrays["known"],
            n_seen=metadata["n_seen"],
            forgotten_updates=metadata["forgotten_updates"],
            drifts=drifts,
            recent=recent_from_arrays(metadata, arrays, p),
        )
