"""The pooled model as a whole: rows go through the scale, all members, and the pool.

`run` learns a block of rows, each predicted beforehand; `score` predicts only. Rows are
handled in chunks, and chunks are cut where the scale is found anew: after 2, 4, 8, …,
256 labelled rows, when all members that depend on it learn the first rows again. No
result depends on where a block or a chunk ends.

Where labels come late, a second set of members learns the same rows later, and the pool
learns from its scores: `rpnb.core.pooled.late`.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any, Final

import numpy as np
from scipy.sparse import issparse

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, as_block
from rpnb.core.kernels.rows import RowTable, as_rows
from rpnb.core.pooled import late, scale
from rpnb.core.pooled import pool as pooling
from rpnb.core.pooled.features import (
    Features,
    columns_of,
    dense_columns,
    draw_features,
    fill_features,
    low_columns,
    raw_columns,
)
from rpnb.core.pooled.hashing import (
    HASHED,
    MOST_FEATURES,
    columns_after_hashing,
    draw_places,
    hash_rows,
)
from rpnb.core.pooled.member import MemberRows, Shape, State, copy_state
from rpnb.core.pooled.members import (
    binned_bayes,
    class_covariance,
    fading_covariance,
    neighbours,
    selected_neighbours,
    shared_covariance,
    transitions,
    window_forest,
)
from rpnb.core.pooled.plain import as_it_is, code_for_beginning, code_for_rows, plain
from rpnb.core.pooled.pool import Pool
from rpnb.core.pooled.scale import LAST_REPLAY, FeatureScale

#: The members by name, in the order in which the pool has them.
MEMBERS: Final[dict[str, ModuleType]] = {
    "class_covariance": class_covariance,
    "shared_covariance": shared_covariance,
    "binned_bayes": binned_bayes,
    "neighbours": neighbours,
    "selected_neighbours": selected_neighbours,
    "fading_covariance": fading_covariance,
    "window_forest": window_forest,
    "transitions": transitions,
}
# Members whose weight is 0 until they prove useful.
_LATE_STARTERS = ("transitions", "selected_neighbours")
# Rows handled at once.
_CHUNK = 256

# Kernels are silent, and so is their Python source.
_SILENT = np.errstate(all="ignore")

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)
_NO_SCORES = np.zeros((0, 0, 0))


@cache
def _modules(names: tuple[str, ...]) -> tuple[ModuleType, ...]:
    return tuple(MEMBERS[name] for name in names)


@dataclass
class PooledModel:
    """All that a pooled classifier has learnt, and what it was drawn with."""

    names: tuple[str, ...]
    """of the members"""
    shape: Shape
    seed: int
    features: Features
    """they follow from shape and seed"""
    places: IntArray
    """(p,) where features are hashed to; (0,) where they are not hashed"""
    scale: FeatureScale
    states: list[State]
    """one for each member"""
    pool: Pool
    late: "LateLabels | None" = None
    """where labels come late, what the pool learns from"""

    @property
    def modules(self) -> tuple[ModuleType, ...]:
        """The members' functions."""
        return _modules(self.names)

    @property
    def M(self) -> int:
        """Number of classes, active or not."""
        return int(self.pool.active.shape[0])

    @property
    def outputs(self) -> list[str]:
        """Names of the scores that the pool weighs."""
        return [output for module in self.modules for output in module.OUTPUTS]


@dataclass
class LateLabels:
    """Members that are behind, and the rows that they have not learnt yet."""

    behind: PooledModel
    """of which the pool is not used"""
    pending: late.Pending


@_SILENT
def new_model(
    names: Sequence[str],
    p: int,
    D: int,
    window: int,
    active: BoolArray,
    seed: int,
    delay: int = 0,
) -> PooledModel:
    """Return a model that has seen nothing, of rows with p features.

    Labels arrive `delay` rows after the prediction of their row.
    """
    shape = model_shape(p, D, window, delay)
    names = members_for(names, shape)
    code = code_for_beginning(p)
    states = [code(MEMBERS[name].begin)(shape, active, seed) for name in names]
    outputs = [output for name in names for output in MEMBERS[name].OUTPUTS]
    waiting = np.array([output in _LATE_STARTERS for output in outputs])
    first = np.full(waiting.shape[0], 1.0 / max(int((~waiting).sum()), 1))
    if not waiting.all():
        first[waiting] = 0.0
    pool = pooling.begin(first, active, delay)
    model = assemble(names, p, shape, seed, scale.begin(shape.p), states, pool)
    if delay > 0:
        # Its rows are hashed already.
        behind = replace(copy_model(model), places=np.zeros(0, np.int64))
        model.late = LateLabels(behind, late.begin(delay, shape.p))
    return model


def members_for(names: Sequence[str], shape: Shape) -> Sequence[str]:
    """Return the members that rows of this shape have, of those that are wanted."""
    if shape.p <= selected_neighbours.MANY_FEATURES and len(names) > 1:
        # Of so few features none has to be selected.
        return [name for name in names if name != "selected_neighbours"]
    return names


def model_shape(
    p: int, D: int, window: int, delay: int, dense: int | None = None
) -> Shape:
    """Return what the shapes of states depend on, for rows with p features.

    `dense` of the D projections are dense, by default as many as new models have.
    """
    p = columns_after_hashing(p)
    return Shape(
        p=p,
        d=low_columns(p),
        E=columns_of(p, D),
        dimension=raw_columns(p) + D,
        D=D,
        dense=dense_columns(p, D) if dense is None else dense,
        window=window,
        delay=delay,
    )


@_SILENT
def assemble(
    names: Sequence[str],
    p: int,
    shape: Shape,
    seed: int,
    scale: FeatureScale,
    states: list[State],
    pool: Pool,
) -> PooledModel:
    """Return the model of these states; its projections are drawn from the seed."""
    code = code_for_beginning(p)
    return PooledModel(
        tuple(names),
        shape,
        seed,
        code(draw_features)(shape.p, shape.D, shape.dense, seed),
        draw_places(p, seed) if p > MOST_FEATURES else np.zeros(0, np.int64),
        scale,
        states,
        pool,
    )


def copy_model(model: PooledModel) -> PooledModel:
    """Return a model with arrays of its own."""
    return PooledModel(
        model.names,
        model.shape,
        model.seed,
        model.features,
        model.places,
        copy_state(model.scale),
        [copy_state(state) for state in model.states],
        copy_state(model.pool),
        None
        if model.late is None
        else LateLabels(copy_model(model.late.behind), copy_state(model.late.pending)),
    )


@_SILENT
def arrange_classes(
    model: PooledModel, source: IntArray, declared: IntArray
) -> PooledModel:
    """Return a model whose class m is class source[m] of `model`, or new if −1.

    The classes numbered in `declared` become active. `model` stays as it is.
    """
    known = np.flatnonzero(source >= 0)
    active = np.zeros(source.shape[0], np.bool_)
    active[known] = model.pool.active[source[known]]
    active[declared] = True
    grown = copy_state(model.scale)
    target = np.zeros(max(model.M, 1), np.int64)
    target[source[known]] = known
    if model.M > 0:
        grown.labels[:] = target[model.scale.labels]
    behind = None
    if model.late is not None:
        behind = LateLabels(
            arrange_classes(model.late.behind, source, declared),
            copy_state(model.late.pending),
        )
        behind.pending.labels[:] = target[behind.pending.labels]
    code = _code(model, 1, False)
    states = [
        code(module.grow_classes)(state, source, active)
        for module, state in zip(model.modules, model.states, strict=True)
    ]
    return PooledModel(
        model.names,
        model.shape,
        model.seed,
        model.features,
        model.places,
        grown,
        states,
        pooling.grow_classes(model.pool, source, active),
        behind,
    )


@_SILENT
def run(
    model: PooledModel,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    labels: IntArray,
    log_posteriors: FloatArray,
    jobs: int = 1,
) -> None:
    """Predict each row, then learn it; rows of class −1 are predicted only.

    X (n, p) is an array or a SciPy matrix in compressed rows. `labels` (n,) gets the
    predictions, and `log_posteriors` (n, M), unless it has no rows, their logarithmic
    probabilities.
    """
    n = y.shape[0]
    code = _code(model, n, True)
    done = 0
    while done < n:
        stop, replay = _next_chunk(model, y, done)
        part = slice(done, stop)
        rows = prepare_rows(model, X[part], y[part], weight[part], code)
        scores = _member_scores(model, rows, y[part], weight[part], jobs, code)
        learnt = _NO_SCORES
        if model.late is not None:
            learnt = _late_scores(model.late, rows.raw, y[part], weight[part], jobs)
        out = log_posteriors[part] if log_posteriors.shape[0] > 0 else log_posteriors
        code(pooling.pool_rows)(
            model.pool, scores, y[part], weight[part], labels[part], out, learnt
        )
        if replay:
            _replay(model, code)
        done = stop


def _code(model: PooledModel, n: int, learn: bool) -> Any:
    """Return what turns functions into those that learn, or predict, n rows."""
    if model.late is not None:
        return as_it_is
    seen = int(model.scale.seen[0])
    return code_for_rows(n, learn, seen, model.shape.p, model.M)


def _next_chunk(model: PooledModel, y: IntArray, done: int) -> tuple[int, bool]:
    """Return where the chunk from row `done` ends, and if the scale is found there."""
    stop = min(done + _CHUNK, y.shape[0])
    seen = int(model.scale.seen[0])
    if seen < LAST_REPLAY:
        left = scale.next_replay(seen) - seen
        labelled = np.flatnonzero(y[done:stop] >= 0)
        if labelled.shape[0] >= left:
            return done + int(labelled[left - 1]) + 1, True
    return stop, False


def _late_scores(
    labels: LateLabels, raw: FloatArray, y: IntArray, weight: FloatArray, jobs: int
) -> FloatArray:
    """Return the scores (n, K, M) that labelled rows had when they were predicted."""
    behind, pending, delay = labels.behind, labels.pending, labels.behind.shape.delay
    scores = np.zeros((y.shape[0], len(behind.outputs), behind.M))
    labelled = np.flatnonzero(y >= 0)
    while labelled.shape[0] > 0:
        due = late.due_rows(pending, delay)
        if due.shape[0] > 0:
            _learn_behind(
                behind,
                pending.rows[due],
                pending.labels[due],
                pending.weight[due],
                jobs,
            )
        count = late.rows_until_due(pending, delay)
        some, labelled = labelled[:count], labelled[count:]
        rows = prepare_rows(behind, raw[some], _NO_LABELS, _NO_WEIGHT)
        found = _member_scores(behind, rows, _NO_LABELS, _NO_WEIGHT, jobs)
        # A class that they do not know yet has no score.
        found[:, :, ~behind.pool.active] = -np.inf
        scores[some] = found
        late.add_rows(pending, raw[some], y[some], weight[some])
    return scores


def _learn_behind(
    model: PooledModel, X: FloatArray, y: IntArray, weight: FloatArray, jobs: int
) -> None:
    """Let the members learn labelled rows; the pool only learns which classes exist."""
    done = 0
    while done < y.shape[0]:
        stop, replay = _next_chunk(model, y, done)
        part = slice(done, stop)
        rows = prepare_rows(model, X[part], y[part], weight[part])
        _member_scores(model, rows, y[part], weight[part], jobs)
        model.pool.active[y[part]] = True
        if replay:
            _replay(model)
        done = stop


@_SILENT
def score(
    model: PooledModel,
    X: RowTable,
    labels: IntArray,
    log_posteriors: FloatArray,
) -> None:
    """Predict rows; the arguments are those of `run`. Changes nothing."""
    n = X.shape[0]
    code = _code(model, n, False)
    for done in range(0, n, _CHUNK):
        part = slice(done, min(done + _CHUNK, n))
        rows = prepare_rows(model, X[part], _NO_LABELS, _NO_WEIGHT, code)
        scores = _member_scores(model, rows, _NO_LABELS, _NO_WEIGHT, 1, code)
        out = log_posteriors[part] if log_posteriors.shape[0] > 0 else log_posteriors
        code(pooling.pool_rows)(
            model.pool, scores, _NO_LABELS, _NO_WEIGHT, labels[part], out, _NO_SCORES
        )


def prepare_rows(
    model: PooledModel,
    table: RowTable,
    y: IntArray,
    weight: FloatArray,
    code: Any = as_it_is,
) -> MemberRows:
    """Scale rows and project them; keep what the scale needs of labelled rows."""
    n = table.shape[0]
    if model.places.shape[0] > 0:
        X = np.empty((n, HASHED))
        code(hash_rows)(as_rows(table), table.shape[1], model.places, X)
    else:
        X = as_block(table.toarray() if issparse(table) else table)
    z = np.empty(X.shape, np.float32)
    phi = np.empty((n, model.shape.E), np.float32)
    low = np.empty((n, model.shape.d), np.float32)
    code(scale.scale_rows)(model.scale, X, y, weight, z)
    code(fill_features)(model.features, z, phi, low)
    return MemberRows(X, z, low, phi)


def _member_scores(
    model: PooledModel,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    jobs: int,
    code: Any = as_it_is,
) -> FloatArray:
    """Return the scores (n, K, M) of all members, which learn rows if there is y."""
    n, M = rows.raw.shape[0], model.M
    learn = y.shape[0] > 0

    modules = model.modules
    if n == 1:
        # Parts of an array of one row are contiguous: nothing to put together.
        whole = np.zeros((1, model.pool.weights.shape[0], M))
        first = 0
        for module, state in zip(modules, model.states, strict=True):
            part = whole[:, first : first + len(module.OUTPUTS)]
            first += len(module.OUTPUTS)
            if learn:
                code(module.learn_rows)(state, rows, y, weight, part)
            else:
                code(module.score_rows)(state, rows, part)
        return whole

    def work(k: int) -> FloatArray:
        module = modules[k]
        scores = np.zeros((n, len(module.OUTPUTS), M))
        if learn:
            code(module.learn_rows)(model.states[k], rows, y, weight, scores)
        else:
            code(module.score_rows)(model.states[k], rows, scores)
        return scores

    members = range(len(modules))
    if jobs > 1 and code is not plain:
        with ThreadPoolExecutor(jobs) as threads:
            parts = list(threads.map(work, members))
    else:
        parts = [work(k) for k in members]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _replay(model: PooledModel, code: Any = as_it_is) -> None:
    """Find the scale anew; what depends on it learns the rows kept once more."""
    code(scale.fit_all)(model.scale)
    seen = int(model.scale.seen[0])
    X = model.scale.rows[:seen]
    y, weight = model.scale.labels[:seen], model.scale.weight[:seen]
    z = np.empty(X.shape, np.float32)
    phi = np.empty((seen, model.shape.E), np.float32)
    low = np.empty((seen, model.shape.d), np.float32)
    code(scale.apply_scale)(model.scale, X, z)
    code(fill_features)(model.features, z, phi, low)
    rows = MemberRows(X, z, low, phi)
    active = model.pool.active
    for k, module in enumerate(model.modules):
        if module.USES_SCALE:
            state = code(module.begin)(model.shape, active, model.seed)
            nothing = np.zeros((0, len(module.OUTPUTS), model.M))
            code(module.learn_rows)(state, rows, y, weight, nothing)
            model.states[k] = state


def merge_models(models: list[PooledModel], base: PooledModel | None) -> PooledModel:
    """Return what models of one scale have learnt, with `base` counted once.

    Not for models whose labels come late.
    """
    first = copy_model(models[0])
    for k, module in enumerate(first.modules):
        states = [model.states[k] for model in models]
        if module.MERGEABLE and base is not None:
            first.states[k] = module.merge(states, base.states[k])
        else:
            first.states[k] = module.merge(states)
    pools = [model.pool for model in models]
    first.pool = pooling.merge(pools, None if base is None else base.pool)
    for model in models[1:]:
        first.scale.seen[0] += model.scale.seen[0]
        if base is not None:
            first.scale.seen[0] -= base.scale.seen[0]
    return first


def size_of_model(model: PooledModel) -> int:
    """Return the bytes that all that was learnt takes."""
    parts: list[Any] = [model.scale, *model.states, model.pool, model.features]
    if model.late is not None:
        behind = model.late.behind
        parts += [behind.scale, *behind.states, behind.pool, model.late.pending]
    return sum(array.nbytes for part in parts for array in part)
