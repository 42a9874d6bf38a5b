"""RPNB as a learner: functions on its state, and its file format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from rpnb._core.streams import LARGEST
from rpnb.core.bayes.model import Model, arrange_classes, copy_model, new_model
from rpnb.core.bayes.statistics import (
    COMBINERS,
    LEARN_ALL,
    LEARN_MISTAKES,
    Moments,
    Prior,
)
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.row_blocks import row_blocks, weights_of
from rpnb.core.kernels.running_scale import new_scale
from rpnb.core.kernels.threads import in_threads
from rpnb.core.passes.engine import (
    BlockMoments,
    batch_probabilities,
    classify,
    learn_all,
    learn_blocks,
    observe_block,
    run,
    run_batches,
    run_scored,
    scores,
)
from rpnb.core.projection.apply import project_rows
from rpnb.core.projection.matrices import DISTRIBUTIONS, down_space_dimension
from rpnb.core.projection.record import make_projection
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import (
    check_choice,
    check_integer,
    check_jobs,
    check_real,
    draw_seed,
    threads_for,
)
from rpnb.estimators.class_prior import fixed_prior, follows_counts, set_class_prior
from rpnb.estimators.posteriors import decisions
from rpnb.estimators.saving.model_parts import (
    model_from_arrays,
    model_schema,
    model_to_arrays,
)
from rpnb.estimators.saving.schema import StateSchema
from rpnb.estimators.scaling import apply_scale, learn_scale, scale_schema
from rpnb.estimators.stream.learner import (
    BlockStatistics,
    LearnsBlocks,
    Shapes,
    TracksSets,
)
from rpnb.estimators.trust.probabilities import (
    check_temperature,
    is_calibrated,
    log_probabilities,
    start_calibration,
)
from rpnb.estimators.trust.reasons import QuadraticScores
from rpnb.estimators.trust.sets import NO_SETS

if TYPE_CHECKING:
    from rpnb.estimators.rpnb import RPNBClassifier

# Number of rows scaled at once.
_BLOCK_ROWS = 4096
# Largest number of entries of a very sparse matrix in memory, four bytes each.
_MOST_ENTRIES = 1 << 27

#: The kernels' code for each value of the parameter `update`.
UPDATES = {"mistakes": LEARN_MISTAKES, "all": LEARN_ALL}


@final
@dataclass
class RPNBLearner(LearnsBlocks[Model], TracksSets[Model]):
    """Naive Bayes classifiers on random projections; see `RPNBClassifier`."""

    given: "RPNBClassifier"

    accepts_sparse = True
    changeable = ("update", "batch_size", "temperature", "n_jobs")

    @property
    def sensitive_to_scale(self) -> bool:  # type: ignore[override]
        """Whether nothing scales the rows."""
        return self.given.scale is None

    @property
    def accepts_unlabelled(self) -> bool:  # type: ignore[override]
        """Whether rows are learned one by one."""
        # A mini-batch is learned at once: no row of it is predicted in between.
        return self.given.batch_size == 1

    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> Model:
        source = np.full(classes.shape[0], -1)
        return self.grow(_empty_model(self.given, p), source, classes, declared)

    def grow(
        self, state: Model, source: IntArray, classes: LabelArray, declared: IntArray
    ) -> Model:
        model = arrange_classes(state, source)
        model.classes.eligible[declared] = True
        set_class_prior(model, self.given.class_prior, classes)
        return model

    def check_classes(
        self, state: Model | None, classes: LabelArray, declared: IntArray
    ) -> None:
        fixed_prior(self.given.class_prior, classes)

    def reset(
        self, state: Model, p: int, classes: LabelArray, declared: IntArray
    ) -> Model:
        # The projections stay: drawing them takes long, and they do not depend on data.
        source = np.full(classes.shape[0], -1)
        model = self.grow(state, source, classes, declared)
        model.n_seen = model.n_updates = 0
        if model.scale is not None:
            model.scale = new_scale(p, centred=True)
        return model

    def active_classes(self, state: Model) -> IntArray:
        return np.flatnonzero(state.classes.eligible)

    def restart(self, state: Model, p: int, classes: LabelArray) -> Model:
        model = _empty_model(self.given, p, state.projection.seed)
        source = np.full(classes.shape[0], -1)
        active = self.active_classes(state)
        return self.grow(model, source, classes, active)

    def learn(
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
        size = n if self.given.batch_size is None else int(self.given.batch_size)
        # Mini-batches are not split.
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
        """Learn rows that are already scaled, if the model scales."""
        learn = UPDATES[self.given.update]
        n = X.shape[0]
        start_calibration(state, self.given.temperature)
        if labels is None:
            if (
                learn == LEARN_ALL
                and self.given.batch_size == 1
                and not state.calibration
            ):
                learn_all(state, X, y, weight)
                return
            labels = np.empty(n, np.int64)
        if self.given.batch_size == 1:
            jobs = threads_for(self.given.n_jobs, n)
            run(state, X, y, weight, learn, labels, jobs=jobs)
        else:
            size = n if self.given.batch_size is None else int(self.given.batch_size)
            run_batches(state, X, y, weight, learn, size, labels)

    def classify(self, state: Model, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)

        def work(rows: slice) -> None:
            labels[rows] = classify(state, rows_in_scale(state, X[rows]))

        in_threads(work, X.shape[0], threads_for(self.given.n_jobs, X.shape[0]))
        return labels

    def scores(self, state: Model, X: NDArray[Any]) -> FloatArray:
        """Return the score of each class for each row (n, M)."""
        values = np.empty((X.shape[0], state.M))

        def work(rows: slice) -> None:
            values[rows] = scores(state, rows_in_scale(state, X[rows]))

        in_threads(work, X.shape[0], threads_for(self.given.n_jobs, X.shape[0]))
        return values

    def decisions(self, state: Model, X: NDArray[Any]) -> FloatArray:
        return decisions(self.scores(state, X))

    def log_probabilities(
        self, state: Model, X: NDArray[Any], *, ordered: bool
    ) -> FloatArray:
        return self.of_scores(state, self.scores(state, X))

    def of_scores(self, state: Model, values: FloatArray) -> FloatArray:
        """Return log probabilities, given the scores of rows (n, M)."""
        if state.calibration is not None:
            values = np.where(state.classes.eligible, values, -np.inf)
        return log_probabilities(state, values, self.given.temperature)

    def learn_scored(
        self,
        state: Model,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
    ) -> FloatArray:
        start_calibration(state, self.given.temperature)
        n = y.shape[0]
        out = np.empty((n, state.M))
        code, batch = UPDATES[self.given.update], self.given.batch_size
        size = n if batch is None else int(batch)
        if state.scale is not None:
            X = learn_scale(state.scale, X, y, weight, size)
        if batch == 1:
            run_scored(state, X, y, weight, code, labels, out)
        else:
            run_batches(state, X, y, weight, code, size, labels, None, out)
        if state.calibration is not None:
            return out
        return exp(log_probabilities(state, out, self.given.temperature))

    def check_sets(self) -> None:
        if not is_calibrated(self.given.temperature, self.given.combiner):
            raise ValueError(NO_SETS)

    @property
    def rows_together(self) -> int | None:
        size = self.given.batch_size
        return None if size is None else int(size)

    def set_thresholds(self, state: Model) -> FloatArray:
        if state.calibration is None:
            raise ValueError(NO_SETS)
        return state.calibration.thresholds

    def quadratic_scores(self, state: Model) -> QuadraticScores:
        """Return the scores as quadratic polynomials, if the combiner allows it."""
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

    def scaled(self, state: Model, X: Any) -> Any:
        """Return rows scaled as the model scales them."""
        return rows_in_scale(state, X)

    def projected(self, state: Model, X: Any) -> FloatArray:
        """Return rows as projections (n, K·q), in double precision."""
        return project_rows(state.projection, X)

    def row_counts(self, state: Model) -> tuple[int, int]:
        return state.n_seen, state.n_updates

    def copy(self, state: Model) -> Model:
        return copy_model(state)

    def check_changeable(self) -> None:
        _check_changeable_parameters(self.given)

    def export(self, state: Model) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return model_to_arrays(state)

    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        calibrated = state.get("calibrated") is True
        schema = model_schema(*_ensemble_size(self.given, p), M, calibrated=calibrated)
        if self.given.scale is None:
            return schema
        return StateSchema({**schema.arrays, **scale_schema(p)}, schema.values)

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> Model:
        template = _empty_model(self.given, p, metadata["seed"])
        state = model_from_arrays(template, metadata, arrays, classes.shape[0])
        set_class_prior(state, self.given.class_prior, classes)
        return state

    def reload(
        self,
        state: Model,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> Model:
        """Restore a state as `restore` does, with the projections of an earlier one.

        Drawing them takes long.
        """
        if state.projection.seed != metadata["seed"]:
            return self.restore(metadata, arrays, classes, p)
        state = model_from_arrays(state, metadata, arrays, classes.shape[0])
        set_class_prior(state, self.given.class_prior, classes)
        return state

    def check_learns_blocks(self) -> None:
        if self.given.batch_size == 1:
            raise ValueError(
                "RPNBClassifier with batch_size=1 predicts each row with what it has "
                "learned from the row before, so rows cannot be distributed: set "
                "batch_size, for example to 10000"
            )
        if self.given.scale is not None:
            raise ValueError(
                f"RPNBClassifier with scale={self.given.scale!r} scales each row by "
                "those before it, so rows cannot be distributed: scale them in "
                "advance, for example by StandardScaler, and set scale=None"
            )

    def begin_blocks(self, state: Model) -> None:
        start_calibration(state, self.given.temperature)

    def observe_block(
        self,
        state: Model,
        X: NDArray[Any],
        y: IntArray,
        labels: IntArray,
        weight: FloatArray,
        start: int,
    ) -> BlockStatistics:
        learn = UPDATES[self.given.update]
        block = observe_block(state, X, y, labels, learn, weight, start)
        arrays = {
            "classes": block.classes,
            "codes": block.codes,
            **block.moments._asdict(),
        }
        return BlockStatistics(y, labels, arrays, weight)

    def block_probabilities(self, state: Model, X: NDArray[Any]) -> FloatArray:
        found = batch_probabilities(state, X)
        if state.calibration is not None:
            return found
        return exp(log_probabilities(state, found, self.given.temperature))

    def learn_blocks(self, state: Model, blocks: Sequence[BlockStatistics]) -> Model:
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
        learn_blocks(state, parts, UPDATES[self.given.update])
        return state


def rows_in_scale(state: Model, X: Any) -> Any:
    """Return rows scaled by all rows that the model has learned, if it scales."""
    return X if state.scale is None else apply_scale(state.scale, X)


def _ensemble_size(given: "RPNBClassifier", p: int) -> tuple[int, int]:
    """Check and return K and q: the number of members and their dimension."""
    K = check_integer("n_estimators", given.n_estimators, 1)
    if isinstance(given.n_components, str):
        check_choice("n_components", given.n_components, ("auto",))
        return K, down_space_dimension(p)
    return K, check_integer("n_components", given.n_components, 1)


def _empty_model(given: "RPNBClassifier", p: int, seed: int | None = None) -> Model:
    """Check the parameters and return a model of p features without classes.

    Its projections are drawn from `random_state`, or from the seed of a saved model.
    """
    K, q = _ensemble_size(given, p)
    distribution = check_choice("projection", given.projection, DISTRIBUTIONS)
    combiner = check_choice("combiner", given.combiner, COMBINERS)
    prior = Prior(
        check_real("prior_mean", given.prior_mean, -LARGEST, high=LARGEST),
        check_real("prior_variance", given.prior_variance, 0, above=True, high=1e300),
        check_real("prior_weight", given.prior_weight, 0.0),
        check_real("var_floor", given.var_floor, 1e-300, high=1e300),
    )
    keep = 1.0
    if given.forgetting is not None:
        keep -= 1.0 / check_real("forgetting", given.forgetting, 1.0, above=True)
    if given.scale is not None and given.scale != "running":
        raise ValueError(f"scale must be None or 'running', got {given.scale!r}")
    _check_changeable_parameters(given)
    fixed_prior(given.class_prior, None)
    features = np.arange(p, dtype=np.uint64)
    drawn = draw_seed(given.random_state)
    seed = drawn if seed is None else seed
    if distribution == "very_sparse" and sqrt(p) * K * q > _MOST_ENTRIES:
        raise ValueError(
            "projection='very_sparse' would have about "
            f"{sqrt(p) * K * q:.2g} entries, more than {_MOST_ENTRIES}: use "
            "projection='hadamard', or fewer estimators or components"
        )
    projection = make_projection(distribution, seed, features, K, q)  # type: ignore[arg-type]
    prior_from_counts = follows_counts(given.class_prior)
    model = new_model(projection, combiner, prior, prior_from_counts, keep)  # type: ignore[arg-type]
    start_calibration(model, given.temperature)
    if given.scale is not None:
        model.scale = new_scale(p, centred=True)
    return model


def _check_changeable_parameters(given: "RPNBClassifier") -> None:
    """Check the parameters that may be changed between calls."""
    check_choice("update", given.update, tuple(UPDATES))
    if given.batch_size is not None:
        check_integer("batch_size", given.batch_size, 1)
    check_temperature(given.temperature)
    check_jobs(given.n_jobs)
