"""StreamPipeline: rows are scaled online, then learned."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.row_blocks import row_blocks, weights_of
from rpnb.core.kernels.running_scale import (
    RunningScale,
    copy_scale,
    merge_scales,
)
from rpnb.estimators.checks.columns import Columns, NamedColumns, named_to_json
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.rows import as_table_of_one, check_row
from rpnb.estimators.checks.weights import one_weight
from rpnb.estimators.protocol import (
    class_weight_of,
    fitted_copy,
    learner_of,
    state_of,
)
from rpnb.estimators.saving.nested import (
    export_learner,
    learner_from_json,
    learner_schema,
    learner_to_json,
    restore_learner,
)
from rpnb.estimators.saving.schema import StateSchema
from rpnb.estimators.scaling import (
    apply_scale,
    scale_from_arrays,
    scale_schema,
    scale_to_arrays,
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
from rpnb.preprocessing.scaler import RunningScaler, check_alike, scaled_rows

_Method = TypeVar("_Method", bound=Callable[..., Any])
# Number of rows scaled at once.
_BLOCK_ROWS = 4096


@dataclass(slots=True)
class PipelineState:
    """A scale, and the learner behind it with its state."""

    scaler: RunningScaler
    """the scaler's parameters; its state is `scale`"""
    learner: Learner[Any]
    scale: RunningScale
    inner: Any


def _if_learner_has(method: str) -> Callable[[_Method], _Method]:
    """Return a decorator for a method that a pipeline has if its learner has it."""
    decorate: Callable[[_Method], _Method] = available_if(
        lambda self: hasattr(self.learner, method)
    )
    return decorate


@final
class StreamPipeline(WeightedStreamClassifier):
    """A learner whose samples are scaled online, each by the samples before it.

    Created by `make_stream_pipeline`. Scaler and learner are cloned on the first call
    or by `fit`, and not changed themselves. Labels and state do not depend on how the
    data is split into calls if those of the learner do not.

    Parameters
    ----------
    scaler : RunningScaler
        Scaler of the samples.
    learner : classifier of this package
        Learner of the scaled samples.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Columns whose values are categories, as for `PooledClassifier`.
    text_features : "auto", list or None, default="auto"
        Columns of text that are read word by word, as for `PooledClassifier`.

    Attributes
    ----------
    scaler_ : RunningScaler
        A copy of the scaler in its current state.
    learner_ : classifier
        A copy of the learner in its current state.
    classes_ : ndarray of shape (n_classes,)
        Class labels known so far, sorted.
    n_features_in_ : int
        Number of features of the first data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the first data had column names that are all strings.
    n_samples_seen_ : int
        Number of samples seen so far.
    n_updates_ : int
        Number of samples that changed the model.

    See Also
    --------
    rpnb.RPNBClassifier : has its own parameter `scale`.

    Notes
    -----
    Samples that are only predicted do not change the scale. In a mini-batch of an
    `RPNBClassifier`, all samples are scaled by those before the batch. Wrap a drift
    detector around the pipeline, not inside: ``DriftAware(make_stream_pipeline(…))``.

    Any learner accepts data frames with columns of categories, text and dates: the
    columns become features as in `PooledClassifier`, and these are scaled. Columns of
    numbers may have missing values if the learner accepts them; a missing category is
    one more category. Such pipelines cannot be merged.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from rpnb.baselines import PA
    >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
    >>> X, y = load_wine(return_X_y=True)
    >>> order = np.random.default_rng(0).permutation(len(y))
    >>> X, y = X[order], y[order]
    >>> raw = PA().predict_then_learn(X, y, classes=[0, 1, 2])
    >>> model = make_stream_pipeline(RunningScaler(), PA())
    >>> scaled = model.predict_then_learn(X, y, classes=[0, 1, 2])
    >>> bool(np.mean(raw != y) > 0.5), bool(np.mean(scaled != y) < 0.1)
    (True, True)
    """

    def __init__(
        self,
        scaler: Any,
        learner: Any,
        *,
        categorical_features: NamedColumns | Literal["from_dtype"] = "from_dtype",
        text_features: NamedColumns | Literal["auto"] = "auto",
    ) -> None:
        self.scaler = scaler
        self.learner = learner
        self.categorical_features = categorical_features
        self.text_features = text_features

    def _learner(self) -> "PipelineLearner":
        return PipelineLearner(self)

    @property
    def _class_weight(self) -> ClassWeight:
        return class_weight_of(self.learner)

    def _check_uses_weights(self) -> None:
        check_takes_weights(self.learner)

    # Parameters and methods of the learner

    @property
    def batch_size(self) -> int | None:
        """Number of samples per mini-batch of the learner.

        Examples
        --------
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
        >>> learner = RPNBClassifier(batch_size=10)
        >>> make_stream_pipeline(RunningScaler(), learner).batch_size
        10
        """
        return getattr(self.learner, "batch_size", 1)

    @property
    def shuffle(self) -> bool:
        """Whether `fit` learns the samples in a random order, as the learner would.

        Examples
        --------
        >>> from rpnb.baselines import PA
        >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
        >>> make_stream_pipeline(RunningScaler(), PA(shuffle=False)).shuffle
        False
        """
        return getattr(self.learner, "shuffle", False)

    @property
    def random_state(self) -> Any:
        """The learner's seed, from which `fit` draws the order of samples.

        Examples
        --------
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
        >>> learner = RPNBClassifier(random_state=7)
        >>> make_stream_pipeline(RunningScaler(), learner).random_state
        7
        """
        return getattr(self.learner, "random_state", 0)

    def predict_one(self, x: FloatArray) -> Any:
        """Predict the label of the next sample, as `predict_next` does, but faster.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
            The sample.

        Returns
        -------
        label
            The predicted label.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
        >>> learner = RPNBClassifier(random_state=0)
        >>> model = make_stream_pipeline(RunningScaler(), learner)
        >>> model = model.partial_fit([[1.0], [3.0], [1.2]], ["low", "high", "low"])
        >>> str(model.predict_one(np.array([2.9])))
        'high'
        """
        self._require_fitted()
        if self._columns is not None:
            return self.predict_next(as_table_of_one(x))[0]
        return self.classes_[
            self._learner().classify(self._state, check_row(self, x))[0]
        ]

    def learn_one(self, x: FloatArray, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one sample, as `partial_fit` does.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
            The sample.
        y : label
            Class of the sample.
        sample_weight : float, default=1.0
            Weight of the sample.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
        >>> learner = RPNBClassifier(random_state=0)
        >>> model = make_stream_pipeline(RunningScaler(), learner)
        >>> model = model.partial_fit([[1.0], [3.0], [1.2]], ["low", "high", "low"])
        >>> model.learn_one(np.array([2.9]), "high")
        >>> model.n_samples_seen_
        4
        """
        given = None if sample_weight == 1.0 else one_weight(sample_weight)
        self.partial_fit(as_table_of_one(x), [y], sample_weight=given)

    # Attributes

    @property
    def scaler_(self) -> RunningScaler:
        """A copy of the scaler in its current state.

        Examples
        --------
        >>> from rpnb.baselines import PA
        >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
        >>> model = make_stream_pipeline(RunningScaler(), PA())
        >>> model = model.partial_fit([[1.0], [3.0], [1.2]], ["low", "high", "low"])
        >>> model.scaler_.mean_.round(3).tolist()
        [1.733]
        """
        state = self._fitted_state("scaler_")
        scaler: RunningScaler = clone(state.scaler)
        scaler.n_features_in_ = _width(state)
        if hasattr(self, "feature_names_in_") and self._columns is None:
            scaler.feature_names_in_ = self.feature_names_in_
        scaler._state = copy_scale(state.scale)
        return scaler

    @property
    def learner_(self) -> StreamClassifier:
        """A copy of the learner in its current state; it expects scaled samples.

        Examples
        --------
        >>> from rpnb.baselines import PA
        >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
        >>> model = make_stream_pipeline(RunningScaler(), PA())
        >>> model = model.partial_fit([[1.0], [3.0], [1.2]], ["low", "high", "low"])
        >>> model.learner_.n_samples_seen_
        3
        """
        state = self._fitted_state("learner_")
        inner, p = state.learner.copy(state.inner), _width(state)
        counts = self._class_counts
        return fitted_copy(state.learner, inner, self.classes_, p, counts)

    def _find_columns(self, X: Any) -> Columns | None:
        columns = super()._find_columns(X)
        if columns is not None and columns.categories and self.batch_size != 1:
            raise ValueError(
                "columns of categories are learned row by row: batch_size must be 1, "
                f"got {self.batch_size!r}"
            )
        return columns

    # Joining

    @_if_learner_has("merge")
    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Add what another pipeline has learned to this one.

        Scales are merged exactly, up to rounding, and learners by their own `merge`.
        What learners have learned from scaled samples is not rescaled.

        Parameters
        ----------
        other : StreamPipeline
            Pipeline with the same scaler and learner.
        base : StreamPipeline, optional
            State from which both started; it is counted once.

        Returns
        -------
        self
            This pipeline, with what both have learned.

        Examples
        --------
        >>> from copy import deepcopy
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
        >>> learner = RPNBClassifier(random_state=0)
        >>> model = make_stream_pipeline(RunningScaler(), learner)
        >>> model = model.partial_fit([[1.0], [3.0], [1.2]], ["low", "high", "low"])
        >>> other = deepcopy(model).partial_fit([[1.1], [3.1]], ["low", "high"])
        >>> model.merge(other, base=model).n_samples_seen_
        5
        """
        parts: dict[str, Any] = {"this pipeline": self, "other": other}
        if base is not None:
            parts["base"] = base
        for name, part in parts.items():
            if not isinstance(part, StreamPipeline):
                raise TypeError(f"{name} must be a StreamPipeline, got {part!r}")
            if not part.__sklearn_is_fitted__():
                raise NotFittedError(f"{name} has not seen any data yet")
            if part._columns is not None:
                raise ValueError(
                    f"{name} has learned categories, text or dates: only models of "
                    "numbers can be merged"
                )
        scales = [part._state.scale for part in parts.values()]
        check_alike(scales)
        learners = [part.learner_ for part in parts.values()]
        merged: Any = learners[0]
        merged.merge(*learners[1:])
        scale = merge_scales(scales[0], scales[1], *scales[2:])
        inner, counts = state_of(merged)
        self._state = replace(self._state, scale=scale, inner=inner)
        self._set_classes(merged.classes_)
        self._class_counts = counts
        self._set_thresholds = None
        return self

    # Files

    def _parameters_to_json(self) -> dict[str, Any]:
        return {
            "scaler": self.scaler.parameters_to_json(),
            "learner": learner_to_json(self.learner),
            **named_to_json(self.categorical_features, self.text_features),
        }

    @classmethod
    def _parameters_from_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        return {
            **parameters,
            "scaler": RunningScaler.from_json(parameters["scaler"]),
            "learner": learner_from_json(parameters["learner"]),
        }


@final
@dataclass
class PipelineLearner(WrappingLearner[PipelineState]):
    """A learner whose rows are scaled online."""

    given: StreamPipeline

    @property
    def wrapped(self) -> Any:
        return self.given.learner

    @property
    def accepts_unlabelled(self) -> bool:  # type: ignore[override]
        return getattr(self.inner, "accepts_unlabelled", False)

    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> PipelineState:
        check_parts(self.given.scaler, self.given.learner)
        scaler: RunningScaler = clone(self.given.scaler)
        learner = learner_of(clone(self.given.learner))
        inner = learner.begin(p, classes, declared)
        return PipelineState(scaler, learner, scaler._new_state(p), inner)

    def active_classes(self, state: PipelineState) -> IntArray:
        return state.learner.active_classes(state.inner)

    def restart(
        self, state: PipelineState, p: int, classes: LabelArray
    ) -> PipelineState:
        inner = state.learner.restart(state.inner, p, classes)
        return replace(state, scale=state.scaler._new_state(p), inner=inner)

    def restarted(self, before: PipelineState, state: PipelineState) -> PipelineState:
        inner = state.learner.restarted(before.inner, state.inner)
        return replace(state, inner=inner)

    def grow(
        self,
        state: PipelineState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> PipelineState:
        inner = state.learner.grow(state.inner, source, classes, declared)
        return replace(state, scale=copy_scale(state.scale), inner=inner)

    def reset(
        self, state: PipelineState, p: int, classes: LabelArray, declared: IntArray
    ) -> PipelineState:
        inner = state.learner.reset(state.inner, p, classes, declared)
        return replace(state, scale=state.scaler._new_state(p), inner=inner)

    def learn(
        self,
        state: PipelineState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        for rows, Z, w in _learn_scales(state, X, y, weight):
            some = None if labels is None else labels[rows]
            state.learner.learn(state.inner, Z, y[rows], w, some)

    def learn_scored(
        self,
        state: PipelineState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
    ) -> FloatArray:
        found = [
            state.learner.learn_scored(state.inner, Z, y[rows], w, labels[rows])
            for rows, Z, w in _learn_scales(state, X, y, weight)
        ]
        return np.concatenate(found)

    def decisions(self, state: PipelineState, X: NDArray[Any]) -> FloatArray:
        return state.learner.decisions(state.inner, _apply(state, X))

    def log_probabilities(
        self, state: PipelineState, X: NDArray[Any], *, ordered: bool
    ) -> FloatArray:
        rows = _apply(state, X)
        return state.learner.log_probabilities(state.inner, rows, ordered=ordered)

    def probabilities(
        self, state: PipelineState, X: NDArray[Any], *, ordered: bool = True
    ) -> FloatArray:
        rows = _apply(state, X)
        return state.learner.probabilities(state.inner, rows, ordered=ordered)

    def classify(self, state: PipelineState, X: NDArray[Any]) -> IntArray:
        return state.learner.classify(state.inner, _apply(state, X))

    def classify_unordered(self, state: PipelineState, X: NDArray[Any]) -> IntArray:
        return state.learner.classify_unordered(state.inner, _apply(state, X))

    def row_counts(self, state: PipelineState) -> tuple[int, int]:
        return state.learner.row_counts(state.inner)

    def copy(self, state: PipelineState) -> PipelineState:
        inner = state.learner.copy(state.inner)
        return replace(state, scale=copy_scale(state.scale), inner=inner)

    def export(
        self, state: PipelineState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = export_learner(state.learner, state.inner)
        return metadata, {**scale_to_arrays(state.scale), **arrays}

    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        inner = learner_schema(learner_of(self.given.learner), state, shapes, M, p)
        return StateSchema({**scale_schema(p), **inner.arrays}, inner.values)

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> PipelineState:
        learner = learner_of(clone(self.given.learner))
        inner = restore_learner(learner, classes, p, metadata, arrays)
        scale = scale_from_arrays(arrays)
        return PipelineState(clone(self.given.scaler), learner, scale, inner)


def _learn_scales(
    state: PipelineState, X: NDArray[Any], y: IntArray, weight: FloatArray
) -> Iterator[tuple[slice, Any, FloatArray]]:
    """Yield rows, block by block, scaled and with their weights; learn the scale."""
    n = X.shape[0]
    batch = getattr(state.learner.given, "batch_size", 1)
    size = n if batch is None else int(batch)
    # Mini-batches are not split.
    for rows in row_blocks(n, max(_BLOCK_ROWS // max(size, 1), 1) * size):
        w = weights_of(weight, rows)
        yield rows, scaled_rows(state.scaler, state.scale, X[rows], y[rows], w, size), w


def _width(state: PipelineState) -> int:
    """Return the number of features of the scaler and the learner."""
    return int(state.scale.mean.shape[0])


def make_stream_pipeline(
    scaler: Any,
    learner: Any,
    *,
    categorical_features: NamedColumns | Literal["from_dtype"] = "from_dtype",
    text_features: NamedColumns | Literal["auto"] = "auto",
) -> StreamPipeline:
    """Return a learner that scales each sample by the samples before it.

    Parameters
    ----------
    scaler : RunningScaler
        Scaler of the samples.
    learner : classifier of this package
        Learner of the scaled samples: `RPNBClassifier`, `PooledClassifier` or one of
        `rpnb.baselines`.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Columns whose values are categories, as for `PooledClassifier`.
    text_features : "auto", list or None, default="auto"
        Columns of text that are read word by word, as for `PooledClassifier`.

    Returns
    -------
    StreamPipeline
        Pipeline with `predict_then_learn`, `partial_fit`, `predict`, and the other
        methods of the learner.

    Examples
    --------
    >>> from rpnb.baselines import AROW
    >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
    >>> make_stream_pipeline(RunningScaler(), AROW())
    StreamPipeline(learner=AROW(), scaler=RunningScaler())
    """
    check_parts(scaler, learner)
    return StreamPipeline(
        scaler,
        learner,
        categorical_features=categorical_features,
        text_features=text_features,
    )


def check_parts(scaler: Any, learner: Any) -> None:
    """Refuse anything but a scaler and a learner."""
    if not isinstance(scaler, RunningScaler):
        raise TypeError(f"scaler must be a RunningScaler, got {scaler!r}")
    if not isinstance(learner, StreamClassifier) or isinstance(learner, StreamPipeline):
        raise TypeError(
            f"learner must be a classifier of rpnb, got {learner!r}; for estimators of "
            "scikit-learn use its make_pipeline(RunningScaler(), …)"
        )
    check_takes_numbers(learner, "StreamPipeline")


def _apply(state: PipelineState, X: Any) -> Any:
    """Return rows scaled by all rows learned so far."""
    return apply_scale(state.scale, X, state.scaler._clip())
