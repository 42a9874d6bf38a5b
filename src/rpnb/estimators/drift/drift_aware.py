"""DriftAware: a learner that is reset, or forgets, when its errors rise."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rpnb.core.bayes.model import fade_all
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import check_choice, check_integer, check_real
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
from rpnb.estimators.protocol import fitted_copy
from rpnb.estimators.rpnb import RPNBClassifier
from rpnb.estimators.saving.nested import (
    export_learner,
    learner_from_json,
    learner_schema,
    learner_to_json,
    restore_learner,
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
from rpnb.estimators.stream.learner import Learner, Shapes
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.estimators.wrapping_learner import (
    WrappingLearner,
    check_takes_numbers,
    check_takes_weights,
)

# Prefix of the detector's arrays in model files.
_DETECTOR = "detector."


@final
class DriftAware(WeightedStreamClassifier):
    """Wrap a classifier with a drift detector that resets it when errors rise.

    Each sample is predicted before it is learned, and the detector is updated with
    whether the prediction was wrong. After an alarm, and before the next sample, the
    learner is reset or its past is down-weighted, and the detector is reset too. The
    result is that of a loop over single samples, however the data is split into calls.

    Parameters
    ----------
    model : classifier of this package
        The learner. It is cloned on the first call or by `fit`, and not changed itself.
        Its `batch_size` must be 1, if it has one.
    detector : "adwin", "ddm", "eddm", "page_hinkley" or detector, default="adwin"
        Name of a detector, with the same constants and alarms as in River; or a
        detector of River with parameters of your choice, which is cloned, and cannot be
        saved. For ADWIN, only alarms at which the error rate has risen count.
    on_drift : {"reset", "downweight"}, default="reset"
        What an alarm does. "reset": the learner forgets everything but its classes and
        projections. "downweight", for `RPNBClassifier` only: the weight of everything
        learned is multiplied by `factor`.
    factor : float, default=0.1
        Factor, from 0 to 1, by which on_drift="downweight" multiplies weights.
    warm : int, default=0
        Number of the last samples, including that of the alarm, that are learned again
        after on_drift="reset". They are kept in memory.

    Attributes
    ----------
    drifts_ : list of int
        Indices of the samples at which alarms were raised, counted from 0 since
        learning began. Samples of weight 0 are not counted.
    learner_ : classifier
        A copy of the learner in its current state.
    classes_ : ndarray of shape (n_classes,)
        Class labels known so far, sorted.
    n_features_in_ : int
        Number of features of the first data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the first data had column names that are all strings.
    n_samples_seen_ : int
        Number of samples seen so far, resets included.
    n_updates_ : int
        Number of samples that changed the model, resets included.

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

    def _learner(self) -> "DriftLearner":
        return DriftLearner(self)

    @property
    def _class_weight(self) -> ClassWeight:
        return getattr(self.model, "_class_weight", None)

    def _check_uses_weights(self) -> None:
        check_takes_weights(self.model)

    # Attributes

    @property
    def drifts_(self) -> list[int]:
        """Indices of the samples at which alarms were raised, counted from 0.

        Examples
        --------
        >>> from rpnb.baselines import GaussianNB
        >>> from rpnb.datasets import streams
        >>> from rpnb.drift import DriftAware
        >>> sea = streams.sea(4000, thresholds=(5.0, 15.0), noise=0.0, chunk=4000)
        >>> model = DriftAware(GaussianNB()).partial_fit(*next(sea))
        >>> [2000 < row < 2100 for row in model.drifts_]
        [True]
        """
        return list(self._fitted_state("drifts_").drifts)

    @property
    def learner_(self) -> StreamClassifier:
        """A copy of the learner in its current state, which can be used and saved.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb.baselines import GaussianNB
        >>> from rpnb.drift import DriftAware
        >>> X, y = load_iris(return_X_y=True)
        >>> DriftAware(GaussianNB()).fit(X, y).learner_
        GaussianNB()
        """
        state = self._fitted_state("learner_")
        inner = state.learner.copy(state.inner)
        counts, names = self._class_counts, getattr(self, "feature_names_in_", None)
        return fitted_copy(state.learner, inner, self.classes_, state.p, counts, names)

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


@final
@dataclass
class DriftLearner(WrappingLearner[DriftState]):
    """A learner with a drift detector on its errors."""

    given: DriftAware

    @property
    def wrapped(self) -> Any:
        return self.given.model

    def decisions(self, state: DriftState, X: NDArray[Any]) -> FloatArray:
        return state.learner.decisions(state.inner, X)

    def log_probabilities(
        self, state: DriftState, X: NDArray[Any], *, ordered: bool
    ) -> FloatArray:
        return state.learner.log_probabilities(state.inner, X, ordered=ordered)

    def probabilities(
        self, state: DriftState, X: NDArray[Any], *, ordered: bool = True
    ) -> FloatArray:
        return state.learner.probabilities(state.inner, X, ordered=ordered)

    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> DriftState:
        model, inner = self.given.model, self.inner
        if inner is None:
            raise TypeError(f"model must be a classifier of rpnb, got {model!r}")
        check_takes_numbers(model, "DriftAware")
        if getattr(model, "batch_size", 1) != 1:
            raise ValueError(
                "model must learn row by row, since an alarm takes effect at the next "
                f"row: its batch_size must be 1, got {model.batch_size!r}"
            )
        check_choice("on_drift", self.given.on_drift, ("reset", "downweight"))
        fades = isinstance(model, RPNBClassifier)
        if self.given.on_drift == "downweight" and not fades:
            raise ValueError(
                "on_drift must be 'reset' for a model other than RPNBClassifier, got "
                "'downweight'"
            )
        check_real("factor", self.given.factor, 0.0, high=1.0)
        check_integer("warm", self.given.warm, 0)
        detector = make_detector(self.given.detector)
        learner: Learner[Any] = clone(model)._learner()
        known = np.zeros(classes.shape[0], np.bool_)
        known[declared] = True
        begun = learner.begin(p, classes, declared)
        return DriftState(learner, begun, detector, known, p, classes)

    def check_classes(
        self, state: DriftState | None, classes: LabelArray, declared: IntArray
    ) -> None:
        if state is not None:
            state.learner.check_classes(state.inner, classes, declared)
        elif self.inner is not None:
            self.inner.check_classes(None, classes, declared)

    def grow(
        self,
        state: DriftState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> DriftState:
        return rearrange_drift_classes(state, source, classes, declared)

    def learn(
        self,
        state: DriftState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        for _ in learn_until_alarms(state, X, y, weight, labels, self.given.warm):
            self._react_to_alarm(state)

    def _react_to_alarm(self, state: DriftState) -> None:
        """Reset or fade the learner, and reset the detector, after an alarm."""
        state.drifts.append(state.n_seen - 1)
        state.detector = state.detector.clone()
        if self.given.on_drift == "downweight":
            fade_all(state.inner, float(self.given.factor))
            return
        learner = state.learner
        updates = self.row_counts(state)[1]
        declared = np.flatnonzero(state.known)
        state.inner = learner.reset(state.inner, state.p, state.classes, declared)
        if state.recent is not None:
            recent = state.recent
            learner.learn(state.inner, recent.X, recent.y, recent.weight, None)
        state.forgotten_updates = updates - learner.row_counts(state.inner)[1]

    def classify(self, state: DriftState, X: NDArray[Any]) -> IntArray:
        return state.learner.classify(state.inner, X)

    def classify_unordered(self, state: DriftState, X: NDArray[Any]) -> IntArray:
        return state.learner.classify_unordered(state.inner, X)

    def row_counts(self, state: DriftState) -> tuple[int, int]:
        updates = state.learner.row_counts(state.inner)[1]
        return state.n_seen, state.forgotten_updates + updates

    def copy(self, state: DriftState) -> DriftState:
        return copy_drift_state(state)

    def export(
        self, state: DriftState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        detector = detector_to_arrays(state.detector)
        metadata, arrays = export_learner(state.learner, state.inner)
        recent_metadata, recent = recent_to_arrays(state.recent, state.p)
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

    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        inner = learner_schema(self.given.model._learner(), state, shapes, M, p)
        recent = recent_schema(state, shapes, M, p, int(self.given.warm))
        of_detector = {
            name.removeprefix(_DETECTOR): shape
            for name, shape in shapes.items()
            if name.startswith(_DETECTOR)
        }
        detector = detector_schema(self.given.detector, of_detector)
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

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> DriftState:
        detector = detector_from_arrays(
            self.given.detector,
            {
                name.removeprefix(_DETECTOR): array
                for name, array in arrays.items()
                if name.startswith(_DETECTOR)
            },
        )
        drifts = arrays["drifts"].tolist()
        if drifts != sorted(set(drifts)) or drifts[-1:] > [metadata["n_seen"] - 1]:
            raise ValueError("its alarms are not rows that it has seen, in order")
        learner: Learner[Any] = clone(self.given.model)._learner()
        return DriftState(
            learner=learner,
            inner=restore_learner(learner, classes, p, metadata, arrays),
            detector=detector,
            known=arrays["known"],
            p=p,
            classes=classes,
            n_seen=metadata["n_seen"],
            forgotten_updates=metadata["forgotten_updates"],
            drifts=drifts,
            recent=recent_from_arrays(metadata, arrays, p),
        )
