"""The pool as a learner: functions on its state, and its file format."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.threads import in_threads
from rpnb.core.pooled.engine import run, score
from rpnb.core.pooled.mini_batches import (
    PooledBlock,
    has_scale,
    learn_blocks,
    observe_block,
)
from rpnb.core.pooled.model import (
    MEMBERS,
    PooledModel,
    arrange_classes,
    copy_model,
    new_model,
)
from rpnb.estimators.checks.columns import names_columns
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import (
    check_choice,
    check_integer,
    check_jobs,
    draw_seed,
    threads_for,
)
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.pooled_schema import (
    dense_in_file,
    pooled_from_arrays,
    pooled_schema,
)
from rpnb.estimators.saving.schema import StateSchema
from rpnb.estimators.stream.learner import BlockStatistics, LearnsBlocks, Shapes
from rpnb.estimators.waiting_rows import (
    ROWS,
    rows_waiting,
    waiting_from_arrays,
    waiting_schema,
)

if TYPE_CHECKING:
    from rpnb.estimators.pooled import PooledClassifier

_NOTHING = np.zeros((0, 0))
# Memory of shared_covariance is 4 bytes times the square: 1 GB.
_MOST_PROJECTIONS = 16384


@final
@dataclass
class PooledLearner(LearnsBlocks[PooledModel]):
    """Several classifiers and a pool of their scores; see `PooledClassifier`.

    Rows waiting for their labels are kept by the estimator, and saved with the state.
    """

    given: "PooledClassifier"

    accepts_sparse = True
    # Weights further apart would be lost to rounding in sums.
    weight_limits = (1e-12, 1e12)
    accepts_unlabelled = True
    predicts_blocks = True
    changeable = ("n_jobs",)

    @property
    def varying(self) -> bool:
        """Whether each label has its own delay."""
        return self.given.delays == "varying"

    def tag(self, tags: Any) -> Any:
        tags.input_tags.allow_nan = True
        return tags

    def begin(self, p: int, classes: LabelArray, declared: IntArray) -> PooledModel:
        active = np.zeros(classes.shape[0], np.bool_)
        active[declared] = True
        names, D, window, delay = self.settings()
        seed = draw_seed(self.given.random_state)
        varying = self.varying
        return new_model(names, p, D, window, active, seed, delay, varying=varying)

    def settings(self) -> tuple[tuple[str, ...], int, int, int]:
        """Check the parameters; return members, D, the window (0: none), the delay."""
        check_jobs(self.given.n_jobs)
        check_choice("delays", self.given.delays, ("constant", "varying"))
        return _check_pool(
            self.given.members,
            self.given.n_projections,
            self.given.window,
            self.given.delay,
        )

    def check_changeable(self) -> None:
        check_jobs(self.given.n_jobs)

    def active_classes(self, state: PooledModel) -> IntArray:
        return np.flatnonzero(state.pool.active)

    def restart(self, state: PooledModel, p: int, classes: LabelArray) -> PooledModel:
        names, D, window, delay = self.settings()
        return new_model(
            *(names, p, D, window, state.pool.active, state.seed, delay),
            varying=self.varying,
        )

    def restarted(self, before: PooledModel, state: PooledModel) -> PooledModel:
        # Errors of predictions already made; the members may have changed.
        past = dict(zip([*before.outputs, ""], before.pool.mistakes, strict=True))
        for k, name in enumerate([*state.outputs, ""]):
            if name in past:
                state.pool.mistakes[k] = past[name]
        return state

    def grow(
        self,
        state: PooledModel,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> PooledModel:
        return arrange_classes(state, source, declared)

    def grow_last(
        self,
        state: PooledModel,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> PooledModel:
        return arrange_classes(state, source, declared, given_up=True)

    def learn(
        self,
        state: PooledModel,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        if labels is None:
            labels = np.empty(y.shape[0], np.int64)
        self._run(state, X, y, weight, labels, _NOTHING)

    def learn_scored(
        self,
        state: PooledModel,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
    ) -> FloatArray:
        log_posteriors = np.empty((y.shape[0], state.M))
        self._run(state, X, y, weight, labels, log_posteriors)
        # A row before which no class was active has no probabilities.
        log_posteriors[labels < 0] = -np.inf
        return exp(log_posteriors)

    def _run(
        self,
        state: PooledModel,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
        log_posteriors: FloatArray,
    ) -> None:
        """Predict, then learn, rows with one weight for each, or one for all."""
        n = y.shape[0]
        each = weight_of_each(weight, n)
        jobs = threads_for(self.given.n_jobs, n)
        run(state, X, y, each, labels, log_posteriors, jobs)

    # Mini-batches in blocks

    def check_learns_blocks(self) -> None:
        if names_columns(self.given.categorical_features, self.given.text_features):
            raise ValueError(
                "PooledClassifier with categorical_features or text_features learns "
                "row by row: features of categories depend on all rows before, so "
                "parts of a mini-batch cannot be distributed. Turn the columns into "
                "numbers"
            )
        names, _, _, between = self.settings()
        _check_adds_up(names, between)

    def first_block_alone(self, state: PooledModel) -> bool:
        return not has_scale(state)

    def observe_block(
        self,
        state: PooledModel,
        X: NDArray[Any],
        y: IntArray,
        labels: IntArray,
        weight: FloatArray,
        start: int,
    ) -> BlockStatistics:
        n = y.shape[0]
        jobs = threads_for(self.given.n_jobs, n)
        each = weight_of_each(weight, n)
        arrays = observe_block(state, X, y, each, labels, jobs)
        return BlockStatistics(y, labels, arrays, weight)

    def block_probabilities(self, state: PooledModel, X: NDArray[Any]) -> FloatArray:
        out = np.empty((X.shape[0], state.M))
        self._predict(state, X, out, ordered=True)
        return exp(out)

    def learn_blocks(
        self, state: PooledModel, blocks: Sequence[BlockStatistics]
    ) -> PooledModel:
        parts = [_as_pooled_block(block) for block in blocks]
        jobs = threads_for(self.given.n_jobs, sum(block.y.shape[0] for block in blocks))
        learn_blocks(state, parts, jobs)
        return state

    # Predicting

    def _predict(
        self, state: PooledModel, X: NDArray[Any], out: FloatArray, *, ordered: bool
    ) -> IntArray:
        """Return the class of each row; fill `out`, if it has rows, with log P.

        Each row is the next of the stream, or none is if they are not `ordered`.
        """
        n = X.shape[0]
        labels = np.empty(n, np.int64)

        def work(rows: slice) -> None:
            some = out[rows] if out.shape[0] > 0 else out
            score(state, X[rows], labels[rows], some, ordered=ordered)

        in_threads(work, n, threads_for(self.given.n_jobs, n))
        return labels

    def classify(self, state: PooledModel, X: NDArray[Any]) -> IntArray:
        return self._predict(state, X, _NOTHING, ordered=True)

    def classify_unordered(self, state: PooledModel, X: NDArray[Any]) -> IntArray:
        return self._predict(state, X, _NOTHING, ordered=False)

    def log_probabilities(
        self, state: PooledModel, X: NDArray[Any], *, ordered: bool
    ) -> FloatArray:
        out = np.empty((X.shape[0], state.M))
        self._predict(state, X, out, ordered=ordered)
        return out

    def row_counts(self, state: PooledModel) -> tuple[int, int]:
        seen = int(state.pool.seen[0])
        return seen, seen

    def copy(self, state: PooledModel) -> PooledModel:
        return copy_model(state)

    # Files

    def export(
        self, state: PooledModel
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata = {
            "seed": state.seed,
            "dense": state.shape.dense,
            "fingerprint": _projections_checksum(state),
        }
        arrays = arrays_of(state)
        if self.varying:
            width = self.given.n_features_in_
            if self.given._frame is not None:
                width = self.given._frame.columns.width
            arrays |= rows_waiting(self.given).to_arrays(width)
        return metadata, arrays

    def schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        settings = self.settings()
        dense, varying = dense_in_file(state, p, settings[1]), self.varying
        schema = pooled_schema(*settings, dense, p, M, shapes, varying=varying)
        if not varying:
            return schema
        K = schema.arrays["pool.weights"].shape[0]
        columns = shapes[ROWS][1] if len(shapes.get(ROWS, ())) == 2 else p
        waiting = waiting_schema(shapes, columns, K, M)
        return StateSchema({**schema.arrays, **waiting}, schema.values)

    def restore(
        self,
        metadata: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        classes: LabelArray,
        p: int,
    ) -> PooledModel:
        settings, dense, seed = self.settings(), metadata["dense"], metadata["seed"]
        varying = self.varying
        state = pooled_from_arrays(*settings, dense, p, seed, arrays, varying=varying)
        _check_projections(state, metadata["fingerprint"])
        if varying:
            waiting = waiting_from_arrays(arrays, classes, state.outputs)
            self.given._waiting = waiting
        return state


def weight_of_each(weight: FloatArray, n: int) -> FloatArray:
    """Return the weights of n rows (n,), given those or one for all (1,)."""
    return weight if weight.shape[0] == n else np.broadcast_to(weight, n).copy()


def _member_names(members: str | Sequence[str]) -> tuple[str, ...]:
    """Return the members that the parameter `members` stands for, in their order."""
    if isinstance(members, str):
        choice = check_choice("members", members, ("all", "mergeable"))
        wanted = {
            name: choice == "all" or module.MERGEABLE
            for name, module in MEMBERS.items()
        }
    elif not isinstance(members, Iterable):
        raise TypeError(
            "members must be 'all', 'mergeable' or a list of names of members, "
            f"got {members!r}"
        )
    else:
        owner = {
            output: name for name, each in MEMBERS.items() for output in each.OUTPUTS
        } | {name: name for name in MEMBERS}
        given = {owner[check_choice("members", name, tuple(owner))] for name in members}
        wanted = {name: name in given for name in MEMBERS}
    names = tuple(name for name, chosen in wanted.items() if chosen)
    if not names:
        raise ValueError("members must name at least one member, got none")
    return names


def _check_pool(
    members: str | Sequence[str], n_projections: int, window: int | None, delay: int
) -> tuple[tuple[str, ...], int, int, int]:
    """Check the parameters of a pool.

    Returns the members, the number of projections, the window (0 for none), and the
    number of rows predicted between a row and the arrival of its label.
    """
    D = check_integer("n_projections", n_projections, 16, _MOST_PROJECTIONS)
    if D % 16 != 0:
        raise ValueError(f"n_projections must be a multiple of 16, got {D!r}")
    rows = 0 if window is None else check_integer("window", window, 16)
    between = max(check_integer("delay", delay, 0) - 1, 0)
    return _member_names(members), D, rows, between


def _check_adds_up(names: Sequence[str], between: int) -> None:
    """Refuse a pool that cannot learn the blocks of a mini-batch separately.

    Parameters
    ----------
    names
        Names of the members.
    between
        Number of rows predicted between a row and the arrival of its label.
    """
    others = [name for name in names if not MEMBERS[name].MERGEABLE]
    if others:
        raise TypeError(
            f"PooledClassifier with {', '.join(others)} learns row by row: these "
            "members keep rows, trees or fading sums, which cannot be summed over "
            "parts of a mini-batch, so they cannot be distributed. Set "
            "members='mergeable', or learn in one process and distribute the "
            "predictions by rpnb.spark.predict"
        )
    if between > 0:
        raise ValueError(
            f"PooledClassifier with delay={between + 1!r} learns each row twice, one "
            "by one, so parts of a mini-batch cannot be distributed: set delay=0. The "
            "labels of a mini-batch are late for all of its rows"
        )


def _as_pooled_block(block: BlockStatistics) -> PooledBlock:
    """Return the statistics of a block of rows for a pool."""
    weight = np.broadcast_to(block.weight, block.y.shape).copy()
    return PooledBlock(block.y, block.labels, weight, block.arrays)


def arrays_of(state: PooledModel) -> dict[str, NDArray[Any]]:
    """Return all arrays of the learned state, by their names in files."""
    parts: dict[str, Any] = {"scale": state.scale, "pool": state.pool}
    parts |= dict(zip(state.names, state.states, strict=True))
    if state.late is not None:
        behind = state.late.behind
        parts |= {
            "late.pending": state.late.pending,
            "late.scale": behind.scale,
            "late.pool": behind.pool,
        }
        for name, record in zip(behind.names, behind.states, strict=True):
            parts[f"late.{name}"] = record
    return {
        f"{part}.{field}": array
        for part, record in parts.items()
        for field, array in record._asdict().items()
    }


def _projections_checksum(state: PooledModel) -> int:
    """Return a checksum of the projections, the same on every machine."""
    checksum = 0
    for part in state.features:
        little_endian = np.ascontiguousarray(part, part.dtype.newbyteorder("<"))
        checksum = zlib.crc32(little_endian.data, checksum)
    return checksum


def _check_projections(state: PooledModel, checksum: int) -> None:
    """Refuse a file whose projections are not those that its seed gives."""
    if _projections_checksum(state) != checksum:
        raise ModelFileError(
            "the projections drawn from the file's seed are not those of the saved "
            "model: the file is damaged, or from a version of rpnb that draws them "
            "differently"
        )
