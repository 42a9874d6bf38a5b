"""StreamPipeline: rows are scaled online, then learned."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.rows import row_blocks
from rpnb.core.kernels.running_scale import (
    RunningScale,
    copy_scale,
    merge_scales,
)
from rpnb.core.passes.blocks import weights_of
from rpnb.estimators.checks.columns import Columns, NamedColumns, named_to_json
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.rows import as_table_of_one, check_row
from rpnb.estimators.checks.weights import ANY_WEIGHT, one_weight
from rpnb.estimators.saving.nested import (
    export_learner,
    import_learner,
    learner_from_json,
    learner_schema,
    learner_to_json,
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
from rpnb.estimators.stream.learner import ScoredRows, Shapes
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.preprocessing.scaler import RunningScaler, check_alike, scaled_rows

# Rows that are scaled at once.
_BLOCK_ROWS = 4096


@dataclass(slots=True)
class PipelineState:
    """A scale, and the state of the learner behind it."""

    scaler: RunningScaler
    """the scaler's parameters; its state is `scale`"""
    learner: StreamClassifier[Any]
    """the learner's parameters; its state is `inner`"""
    scale: RunningScale
    inner: Any


def _learner_has(method: str) -> Callable[["StreamPipeline"], bool]:
    """Return a condition for `available_if`: whether the learner has this method."""
    return lambda self: hasattr(self.learner, method)


@final
class StreamPipeline(WeightedStreamClassifier[PipelineState]):
    """A learner whose rows are scaled online, each by the rows before it.

    Made by `make_stream_pipeline`. Scaler and learner are not changed: copies learn,
    made on the first call or by `fit`. Labels and state do not depend on how rows are
    cut into calls if those of the learner do not.

    Parameters
    ----------
    scaler : RunningScaler
        How rows are scaled.
    learner : classifier of this package
        What learns the scaled rows.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Columns whose values are categories, as for `PooledClassifier`.
    text_features : "auto", list or None, default="auto"
        Columns of text that are read word by word, as for `PooledClassifier`.

    Attributes
    ----------
    scaler_ : RunningScaler
        A copy of the scaler in its present state.
    learner_ : classifier
        A copy of the learner in its present state.
    classes_ : array of shape (M,)
        The classes known so far, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (p,)
        Names of the features, if the first data had names that are all text.
    n_seen_, n_updates_ : int
        Number of rows seen, and of those that changed the learner.

    See Also
    --------
    rpnb.RPNBClassifier : has its own parameter `scale`.

    Notes
    -----
    Rows that are only predicted do not change the scale. In a mini-batch of an
    `RPNBClassifier`, all rows are scaled by the rows before the batch. A drift detector
    goes around a pipeline, not into it: ``DriftAware(make_stream_pipeline(…))``.

    Frames with columns of categories, text and dates are learned as they are, by any
    learner: the columns become features as `PooledClassifier` describes, and these are
    scaled. Columns of numbers may have missing values if the learner takes any; a
    missing category is one more category. Such pipelines cannot be merged.

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

    # What the learner offers

    @property
    def _accepts_sparse(self) -> bool:  # type: ignore[override]
        return getattr(self.learner, "_accepts_sparse", False)

    @property
    def _weight_limits(self) -> tuple[float, float]:  # type: ignore[override]
        return getattr(self.learner, "_weight_limits", ANY_WEIGHT)

    @property
    def _requires_seen_classes(self) -> bool:  # type: ignore[override]
        return getattr(self.learner, "_requires_seen_classes", False)

    @property
    def _accepts_unlabelled(self) -> bool:  # type: ignore[override]
        return getattr(self.learner, "_accepts_unlabelled", False)

    @property
    def _class_weight(self) -> ClassWeight:
        return getattr(self.learner, "_class_weight", None)

    @property
    def batch_size(self) -> int | None:
        """Rows of a mini-batch, as the learner has them."""
        return getattr(self.learner, "batch_size", 1)

    @property
    def random_state(self) -> Any:
        """The learner's seed, which `fit` draws the order of rows from."""
        return getattr(self.learner, "random_state", 0)

    @available_if(_learner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row, as the learner does."""
        return self._bound_learner().predict_proba(self._scaled(X))

    @available_if(_learner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_next_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of each row if it came next, as the learner does."""
        return self._bound_learner().predict_next_proba(self._scaled(X))

    @available_if(_learner_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of `predict_proba` (n, M)."""
        return self._bound_learner().predict_log_proba(self._scaled(X))

    @available_if(_learner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class for each row, as the learner does."""
        return self._bound_learner().decision_function(self._scaled(X))

    def predict_one(self, x: FloatArray) -> Any:
        """Return the label of one row x (p,): `predict` without its formalities."""
        self._require_fitted()
        if self._columns is not None:
            return self.predict_next(as_table_of_one(x))[0]
        return self.classes_[self._classify(self._state, check_row(self, x))[0]]

    def learn_one(self, x: FloatArray, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row x (p,) of class y, as `partial_fit` does."""
        given = None if sample_weight == 1.0 else one_weight(sample_weight)
        self.partial_fit(as_table_of_one(x), [y], sample_weight=given)

    def _scaled(self, X: Any) -> Any:
        rows = self._rows_to_predict(X)
        return _apply(self._state, rows)

    # Attributes

    @property
    def scaler_(self) -> RunningScaler:
        """A copy of the scaler in its present state."""
        state = self._fitted_state("scaler_")
        scaler: RunningScaler = clone(state.scaler)
        scaler.n_features_in_ = _width(state)
        if hasattr(self, "feature_names_in_") and self._columns is None:
            scaler.feature_names_in_ = self.feature_names_in_
        scaler._state = copy_scale(state.scale)
        return scaler

    @property
    def learner_(self) -> StreamClassifier[Any]:
        """A copy of the learner in its present state; its rows are scaled ones."""
        state = self._fitted_state("learner_")
        learner = self._bound_learner()
        learner._state = learner._copy(state.inner)
        if self._class_counts is not None:
            learner._class_counts = self._class_counts.copy()
        return learner

    def _bound_learner(self) -> Any:
        """Return the learner as an estimator that shares the state."""
        self._require_fitted()
        state = self._state
        learner: StreamClassifier[Any] = clone(state.learner)
        learner.n_features_in_ = _width(state)
        learner._set_classes(self.classes_)
        learner._state = state.inner
        learner._record_parameters()
        return learner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = getattr(self.learner, "__sklearn_tags__", None)
        if given is not None:
            tags.input_tags.allow_nan = given().input_tags.allow_nan
        return tags

    # Functions of a StreamLearner

    def _new_state(
        self, p: int, classes: LabelArray, declared: IntArray
    ) -> PipelineState:
        _check_parts(self.scaler, self.learner)
        scaler: RunningScaler = clone(self.scaler)
        learner: StreamClassifier[Any] = clone(self.learner)
        inner = learner._new_state(p, classes, declared)
        return PipelineState(scaler, learner, scaler._new_state(p), inner)

    def _find_columns(self, X: Any) -> Columns | None:
        columns = super()._find_columns(X)
        if columns is not None and columns.categories and self.batch_size != 1:
            raise ValueError(
                "a learner of categories learns row by row: batch_size must be 1, got "
                f"{self.batch_size!r}"
            )
        return columns

    def _active_classes(self, state: PipelineState) -> IntArray:
        return state.learner._active_classes(state.inner)

    def _restart(
        self, state: PipelineState, p: int, classes: LabelArray
    ) -> PipelineState:
        inner = state.learner._restart(state.inner, p, classes)
        return replace(state, scale=state.scaler._new_state(p), inner=inner)

    def _restarted(self, before: PipelineState, state: PipelineState) -> PipelineState:
        inner = state.learner._restarted(before.inner, state.inner)
        return replace(state, inner=inner)

    def _rearrange_classes(
        self,
        state: PipelineState,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> PipelineState:
        inner = state.learner._rearrange_classes(state.inner, source, classes, declared)
        return replace(state, scale=copy_scale(state.scale), inner=inner)

    def _reset_state(
        self, state: PipelineState, p: int, classes: LabelArray, declared: IntArray
    ) -> PipelineState:
        inner = state.learner._reset_state(state.inner, p, classes, declared)
        return replace(state, scale=state.scaler._new_state(p), inner=inner)

    def _learn(
        self,
        state: PipelineState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        for rows, Z, w in _learn_scales(state, X, y, weight):
            some = None if labels is None else labels[rows]
            state.learner._learn(state.inner, Z, y[rows], w, some)

    def _learn_scored(
        self,
        state: PipelineState,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
    ) -> ScoredRows:
        found = [
            state.learner._learn_scored(state.inner, Z, y[rows], w, labels[rows])
            for rows, Z, w in _learn_scales(state, X, y, weight)
        ]
        return ScoredRows(np.concatenate([part.probabilities for part in found]))

    def _probabilities(self, state: PipelineState, X: NDArray[Any]) -> FloatArray:
        return state.learner._probabilities(state.inner, _apply(state, X))

    def _check_uses_weights(self) -> None:
        if not isinstance(self.learner, WeightedStreamClassifier):
            raise TypeError(
                f"sample_weight is of no use to {type(self.learner).__name__}, which "
                "takes all rows as equal"
            )

    def _classify(self, state: PipelineState, X: NDArray[Any]) -> IntArray:
        return state.learner._classify(state.inner, _apply(state, X))

    def _classify_unordered(self, state: PipelineState, X: NDArray[Any]) -> IntArray:
        return state.learner._classify_unordered(state.inner, _apply(state, X))

    def _row_counts(self, state: PipelineState) -> tuple[int, int]:
        return state.learner._row_counts(state.inner)

    def _copy(self, state: PipelineState) -> PipelineState:
        inner = state.learner._copy(state.inner)
        return replace(state, scale=copy_scale(state.scale), inner=inner)

    # Joining

    @available_if(_learner_has("merge"))  # type: ignore[untyped-decorator]
    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Add what another pipeline has learned.

        Scales are merged exactly but for rounding, learners as they merge themselves:
        what each has learned was of rows scaled as they came, and stays as it is.

        Parameters
        ----------
        other : StreamPipeline
            A pipeline of the same scaler and learner.
        base : StreamPipeline, optional
            The common state from which both went on: what it holds is counted once.

        Returns
        -------
        self
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
        self._state = replace(self._state, scale=scale, inner=merged._state)
        self._set_classes(merged.classes_)
        self._class_counts = merged._class_counts
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

    def _export_state(
        self, state: PipelineState
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata, arrays = export_learner(state.learner, state.inner)
        return metadata, {**scale_to_arrays(state.scale), **arrays}

    def _state_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        inner = learner_schema(self.learner, state, shapes, M, p)
        return StateSchema({**scale_schema(p), **inner.arrays}, inner.values)

    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> PipelineState:
        inner = import_learner(self.learner, self.classes_, p, metadata, arrays)
        scale = scale_from_arrays(arrays)
        return PipelineState(clone(self.scaler), clone(self.learner), scale, inner)


def _learn_scales(
    state: PipelineState, X: NDArray[Any], y: IntArray, weight: FloatArray
) -> Iterator[tuple[slice, Any, FloatArray]]:
    """Yield rows, block by block, scaled and with their weights; learn the scale."""
    n = X.shape[0]
    batch = getattr(state.learner, "batch_size", 1)
    size = n if batch is None else int(batch)
    # Mini-batches are not cut.
    for rows in row_blocks(n, max(_BLOCK_ROWS // max(size, 1), 1) * size):
        w = weights_of(weight, rows)
        yield rows, scaled_rows(state.scaler, state.scale, X[rows], y[rows], w, size), w


def _width(state: PipelineState) -> int:
    """Return the number of features that the scaler and the learner have."""
    return int(state.scale.mean.shape[0])


def make_stream_pipeline(
    scaler: Any,
    learner: Any,
    *,
    categorical_features: NamedColumns | Literal["from_dtype"] = "from_dtype",
    text_features: NamedColumns | Literal["auto"] = "auto",
) -> StreamPipeline:
    """Return a learner that scales each row by the rows before it.

    Parameters
    ----------
    scaler : RunningScaler
        How rows are scaled.
    learner : classifier of this package
        `RPNBClassifier`, `PooledClassifier` or one of `rpnb.baselines`.
    categorical_features, text_features
        Columns of categories and of text; see `StreamPipeline`.

    Returns
    -------
    StreamPipeline
        With `predict_then_learn`, `partial_fit`, `predict`, and what else the learner
        has.

    Examples
    --------
    >>> from rpnb.baselines import AROW
    >>> from rpnb.preprocessing import RunningScaler, make_stream_pipeline
    >>> make_stream_pipeline(RunningScaler(), AROW())
    StreamPipeline(learner=AROW(), scaler=RunningScaler())
    """
    _check_parts(scaler, learner)
    return StreamPipeline(
        scaler,
        learner,
        categorical_features=categorical_features,
        text_features=text_features,
    )


def _check_parts(scaler: Any, learner: Any) -> None:
    """Refuse what is no scaler, and what is no learner."""
    if not isinstance(scaler, RunningScaler):
        raise TypeError(f"scaler must be a RunningScaler, got {scaler!r}")
    if not isinstance(learner, StreamClassifier) or isinstance(learner, StreamPipeline):
        raise TypeError(
            f"learner must be a classifier of rpnb, got {learner!r}; for estimators of "
            "scikit-learn use its make_pipeline(RunningScaler(), …)"
        )
    learner._check_numbers("StreamPipeline")


def _apply(state: PipelineState, X: Any) -> Any:
    """Return rows scaled by all rows learned so far."""
    return apply_scale(state.scale, X, state.scaler._clip())
