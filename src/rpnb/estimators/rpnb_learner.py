"""What an RPNB model keeps, how it learns rows, and what of it is saved."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpnb.core.bayes.combining import Combiner
from rpnb.core.bayes.model import Model, arrange_classes, copy_model
from rpnb.core.bayes.moments import Moments
from rpnb.core.bayes.state import LEARN_ALL
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.rows import row_blocks
from rpnb.core.kernels.running_scale import new_scale
from rpnb.core.kernels.threads import in_threads
from rpnb.core.passes.blocks import weights_of
from rpnb.core.passes.engine import (
    BlockMoments,
    batch_probabilities,
    classify,
    learn_all,
    learn_blocks,
    observe_block,
    run,
    run_batches,
    scores,
)
from rpnb.core.projection.apply import project_rows
from rpnb.core.projection.matrices import Distribution
from rpnb.estimators.checks.jobs import threads_for
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.class_prior import (
    fixed_prior,
    prior_from_json,
    prior_to_json,
    set_class_prior,
)
from rpnb.estimators.empty_model import (
    UPDATES,
    check_changeable_parameters,
    empty_model,
    ensemble_size,
)
from rpnb.estimators.saving.model_parts import (
    model_from_arrays,
    model_schema,
    model_to_arrays,
)
from rpnb.estimators.saving.schema import StateSchema
from rpnb.estimators.scaling import apply_scale, learn_scale, scale_schema
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.learner import BlockStatistics, Shapes
from rpnb.estimators.trust.probabilities import log_probabilities, start_calibration
from rpnb.estimators.trust.reasons import QuadraticScores

# Rows that are scaled at once.
_BLOCK_ROWS = 4096


@dataclass(eq=False, repr=False)
class RPNBLearner(StreamClassifier[Model]):
    """A `StreamLearner`, with its parameters; `RPNBClassifier` adds what users call."""

    n_estimators: int = 200
    _: KW_ONLY
    n_components: int | Literal["auto"] = "auto"
    projection: Distribution = "gaussian"
    combiner: Combiner = "log_sum"
    update: Literal["mistakes", "all"] = "mistakes"
    batch_size: int | None = 1
    prior_mean: float = 0.0
    prior_variance: float = 1.0
    prior_weight: float = 1.0
    forgetting: float | None = None
    class_prior: str | Mapping[Any, float] | ArrayLike = "uniform"
    class_weight: ClassWeight = None
    var_floor: float = 1e-9
    scale: Literal["running"] | None = None
    temperature: float | Literal["auto"] | None = "auto"
    n_jobs: int | None = None
    random_state: Any = None

    _accepts_sparse = True
    _state_version = 1
    _changeable_parameters = ("update", "batch_size", "temperature", "n_jobs")

    @property
    def _sensitive_to_scale(self) -> bool:  # type: ignore[override]
        return self.scale is None

    @property
    def _accepts_unlabelled(self) -> bool:  # type: ignore[override]
        # A mini-batch is learned at once: no row of it is predicted in between.
        return self.batch_size == 1

    def _new_state(self, p: int, classes: LabelArray, declared: IntArray) -> Model:
        source = np.full(classes.shape[0], -1)
        return self._rearrange_classes(empty_model(self, p), source, classes, declared)

    def _rearrange_classes(
        self, state: Model, source: IntArray, classes: LabelArray, declared: IntArray
    ) -> Model:
        model = arrange_classes(state, source)
        model.classes.eligible[declared] = True
        set_class_prior(model, self.class_prior, classes)
        return model

    def _check_classes(
        self, state: Model | None, classes: LabelArray, declared: IntArray
    ) -> None:
        fixed_prior(self.class_prior, classes)

    def _reset_state(
        self, state: Model, p: int, classes: LabelArray, declared: IntArray
    ) -> Model:
        # The projections stay: drawing them takes long, and nothing is learned in them.
        source = np.full(classes.shape[0], -1)
        model = self._rearrange_classes(state, source, classes, declared)
        model.n_seen = model.n_updates = 0
        if model.scale is not None:
            model.scale = new_scale(p, centred=True)
        return model

    def _active_classes(self, state: Model) -> IntArray:
        return np.flatnonzero(state.classes.eligible)

    def _restart(self, state: Model, p: int, classes: LabelArray) -> Model:
        model = empty_model(self, p, state.projection.seed)
        source = np.full(classes.shape[0], -1)
        active = self._active_classes(state)
        return self._rearrange_classes(model, source, classes, active)

    def _learn(
        self,
        state: Model,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        if state.scale is None:
            self._learn_scaled(state, X, y, weight, labels)
            return
        n = X.shape[0]
        size = n if self.batch_size is None else int(self.batch_size)
        # Mini-batches are not cut.
        for rows in row_blocks(n, max(_BLOCK_ROWS // max(size, 1), 1) * size):
            w = weights_of(weight, rows)
            scaled = learn_scale(state.scale, X[rows], y[rows], w, size)
            some = None if labels is None else labels[rows]
            self._learn_scaled(state, scaled, y[rows], w, some)

    def _learn_scaled(
        self,
        state: Model,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        """Learn from rows, which are scaled already if they are to be."""
        learn = UPDATES[self.update]
        n = X.shape[0]
        start_calibration(state, self.temperature)
        if labels is None:
            if learn == LEARN_ALL and self.batch_size == 1 and not state.calibration:
                learn_all(state, X, y, weight)
                return
            labels = np.empty(n, np.int64)
        if self.batch_size == 1:
            jobs = threads_for(self.n_jobs, n)
            run(state, X, y, weight, learn, labels, jobs=jobs)
        else:
            size = n if self.batch_size is None else int(self.batch_size)
            run_batches(state, X, y, weight, learn, size, labels)

    def _classify(self, state: Model, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)

        def work(rows: slice) -> None:
            labels[rows] = classify(state, rows_in_scale(state, X[rows]))

        in_threads(work, X.shape[0], threads_for(self.n_jobs, X.shape[0]))
        return labels

    def _scores(self, X: NDArray[Any]) -> FloatArray:
        """Return the score of each class for each row (n, M)."""
        state = self._state
        values = np.empty((X.shape[0], state.M))

        def work(rows: slice) -> None:
            values[rows] = scores(state, rows_in_scale(state, X[rows]))

        in_threads(work, X.shape[0], threads_for(self.n_jobs, X.shape[0]))
        return values

    def _quadratic_scores(self) -> QuadraticScores:
        state = self._state
        if state.rule not in ("log_sum", "product"):
            raise ValueError(
                "only scores of the combiners 'log_sum' and 'product' are polynomials "
                f"that can be explained; this model's combiner is {state.rule!r}"
            )
        projection = state.projection
        return QuadraticScores(
            projection.R.astype(np.float64) * (1.0 / sqrt(projection.q)),
            state.gaussians.mean,
            state.gaussians.precision,
            state.gaussians.constant + state.classes.bias,
            state.classes.eligible,
            state.classes.seen,
        )

    def _scale_for_reasons(self, X: Any) -> Any:
        return rows_in_scale(self._state, X)

    def _project_for_reasons(self, X: Any) -> FloatArray:
        return project_rows(self._state.projection, X)

    def _row_counts(self, state: Model) -> tuple[int, int]:
        return state.n_seen, state.n_updates

    def _copy(self, state: Model) -> Model:
        return copy_model(state)

    def _check_changeable_parameters(self) -> None:
        check_changeable_parameters(self)

    def _parameters_to_json(self) -> dict[str, Any]:
        parameters = super()._parameters_to_json()
        given = parameters["class_prior"]
        del parameters["n_jobs"]
        if parameters["scale"] is None:
            del parameters["scale"]  # as in files from before it existed
        return {**parameters, "class_prior": prior_to_json(given)}

    @classmethod
    def _parameters_from_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        parameters = super()._parameters_from_json(parameters)
        given = parameters["class_prior"]
        return {**parameters, "class_prior": prior_from_json(given)}

    def _export_state(
        self, state: Model
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return model_to_arrays(state)

    def _state_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        calibrated = state.get("calibrated") is True
        schema = model_schema(*ensemble_size(self, p), M, calibrated=calibrated)
        if self.scale is None:
            return schema
        return StateSchema({**schema.arrays, **scale_schema(p)}, schema.values)

    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> Model:
        template = empty_model(self, p, metadata["seed"])
        state = model_from_arrays(template, metadata, arrays, M)
        set_class_prior(state, self.class_prior, self.classes_)
        return state

    def _reload_state(
        self,
        state: Model,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        M: int,
    ) -> Model:
        # The projections stay, since drawing them takes long.
        if state.projection.seed != metadata["seed"]:
            return super()._reload_state(state, metadata, arrays, M)
        state = model_from_arrays(state, metadata, arrays, M)
        set_class_prior(state, self.class_prior, self.classes_)
        return state

    def _check_learns_blocks(self) -> None:
        if self.batch_size == 1:
            raise ValueError(
                "RPNBClassifier with batch_size=1 predicts each row with what it has "
                "learned from the row before, so rows cannot be shared out: set "
                "batch_size, for example to 10000"
            )
        if self.scale is not None:
            raise ValueError(
                f"RPNBClassifier with scale={self.scale!r} scales each row by those "
                "before it, so rows cannot be shared out: scale them beforehand, for "
                "example by StandardScaler, and set scale=None"
            )

    def _begin_blocks(self, state: Model) -> None:
        start_calibration(state, self.temperature)

    def _observe_block(
        self,
        state: Model,
        X: NDArray[Any],
        y: IntArray,
        labels: IntArray,
        weight: FloatArray,
        start: int,
    ) -> BlockStatistics:
        learn = UPDATES[self.update]
        block = observe_block(state, X, y, labels, learn, weight, start)
        arrays = {
            "classes": block.classes,
            "codes": block.codes,
            **block.moments._asdict(),
        }
        return BlockStatistics(y, labels, arrays, weight)

    def _block_probabilities(self, state: Model, X: NDArray[Any]) -> FloatArray:
        found = batch_probabilities(state, X)
        if state.calibration is not None:
            return found
        return exp(log_probabilities(state, found, self.temperature))

    def _learn_blocks(self, state: Model, blocks: Sequence[BlockStatistics]) -> Model:
        parts = [
            BlockMoments(
                block.y,
                block.labels,
                block.arrays["classes"],
                Moments(*(block.arrays[name] for name in Moments._fields)),
                block.weight,
                block.arrays["codes"],
            )
            for block in blocks
        ]
        learn_blocks(state, parts, UPDATES[self.update])
        return state


def rows_in_scale(state: Model, X: Any) -> Any:
    """Return rows scaled by all rows that the model has learned, if it scales."""
    return X if state.scale is None else apply_scale(state.scale, X)
