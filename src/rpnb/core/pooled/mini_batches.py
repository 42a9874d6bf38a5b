"""Mini-batches of the pooled model: blocks are observed separately, then learned.

All rows of a mini-batch are scaled and scored by the model as it was before the batch.
Each block of rows is reduced to the members' scores, the sums that members would add,
and its last 64 rows. The blocks are then learned in order:

- Members with sums add those of each block, as `merge` does, and recompute what they
  derive from them once.
- A member that reads labels only learns them row by row.
- The pool learns row by row from the scores, with the classes active before the batch.
- The scale is checked once, by the last 64 rows, if a check was due.

Before the first 256 rows are learned, the scale is not final: such a block keeps the
rows themselves, which are learned row by row.

This is only for models whose members are mergeable and whose labels are not delayed.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.row_blocks import RowTable
from rpnb.core.pooled import pool as pooling
from rpnb.core.pooled.engine import prepare_rows, run, score
from rpnb.core.pooled.features import LAST_REPLAY, LOOK
from rpnb.core.pooled.member import MemberRows, State, no_rows
from rpnb.core.pooled.model import PooledModel

#: Names of the arrays of a block other than the members' sums.
ROWS, SCORES, LAST_ROWS = "rows", "scores", "last_rows"

_NO_LABELS = np.zeros(0, np.int64)
_NO_WEIGHT = np.zeros(0)
_NOTHING = np.zeros((0, 0))
# Lower scores make no difference; this is within the range of single precision.
_LEAST_SCORE = -1e30


class PooledBlock(NamedTuple):
    """Statistics that a mini-batch learns from one of its blocks of n rows."""

    y: IntArray
    """(n,) classes of the rows"""
    labels: IntArray
    """(n,) predicted classes"""
    weight: FloatArray
    """(n,)"""
    arrays: Mapping[str, NDArray[Any]]
    """result of `observe_block`"""


def has_scale(model: PooledModel) -> bool:
    """Return whether the rows that determine the scale were learned."""
    return int(model.scale.seen[0]) >= LAST_REPLAY


def observe_block(
    model: PooledModel,
    X: RowTable,
    y: IntArray,
    weight: FloatArray,
    labels: IntArray,
    jobs: int = 1,
) -> dict[str, NDArray[Any]]:
    """Predict a block of labelled rows into `labels`; return its statistics.

    The model is not changed. X (n, p) and the other arguments (n,) are those of `run`.
    Once the scale is final, the result has

    - ``scores`` (n, K, M) in single precision, relative to the best active class of
      each member; −6 for classes that are not active;
    - ``last_rows``, the last 64 rows;
    - ``member.array`` for each array that a member sums;

    before, only ``rows``. Rows are hashed if they have many features.
    """
    rows = prepare_rows(model, X)
    if not has_scale(model):
        score(model, rows.raw, labels, _NOTHING, ordered=True)
        return {ROWS: rows.raw}

    def work(k: int) -> tuple[FloatArray, dict[str, NDArray[Any]]]:
        return _observe(model.modules[k], model.states[k], rows, y, weight, model.M)

    members = range(len(model.modules))
    if jobs > 1:
        with ThreadPoolExecutor(jobs) as threads:
            parts = list(threads.map(work, members))
    else:
        parts = [work(k) for k in members]
    scores = np.ascontiguousarray(np.concatenate([part[0] for part in parts], axis=1))
    pooling.pool_rows(
        model.pool, scores, _NO_LABELS, _NO_WEIGHT, labels, _NOTHING, scores[:0]
    )
    found = {
        f"{name}.{array}": value
        for name, (_, sums) in zip(model.names, parts, strict=True)
        for array, value in sums.items()
    }
    found[SCORES] = relative_scores(scores, model.pool.active)
    found[LAST_ROWS] = rows.raw[-LOOK:]
    return found


def _observe(
    module: ModuleType,
    state: State,
    rows: MemberRows,
    y: IntArray,
    weight: FloatArray,
    M: int,
) -> tuple[FloatArray, dict[str, NDArray[Any]]]:
    """Return a member's scores (n, outputs, M) of rows, and their sums."""
    scores = np.zeros((y.shape[0], len(module.OUTPUTS), M))
    module.score_rows(state, rows, scores)
    if not module.SUMS:
        return scores, {}
    sums = module.sum_rows(state, rows, y, weight)
    return scores, {name: getattr(sums, name) for name in module.SUMS}


def relative_scores(
    scores: FloatArray, active: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return scores (n, K, M) relative to the best active class.

    Classes that are not active get the pool's substitute for a missing score.
    """
    best = np.where(active, scores, -np.inf).max(axis=2, keepdims=True)
    relative = np.where(active, scores - best, pooling.NO_SCORE)
    return np.maximum(relative, _LEAST_SCORE).astype(np.float32)


def learn_blocks(
    model: PooledModel, blocks: Sequence[PooledBlock], jobs: int = 1
) -> None:
    """Learn a mini-batch, given all its blocks in order; updates `model`."""
    if not has_scale(model):
        for block in blocks:
            labels = np.empty_like(block.labels)
            rows = block.arrays[ROWS]
            run(model, rows, block.y, block.weight, labels, _NOTHING, jobs)
        return
    for k, (name, module) in enumerate(zip(model.names, model.modules, strict=True)):
        model.replace_state(k, _learn(module, name, model.states[k], blocks))
    for block in blocks:
        scores = block.arrays[SCORES].astype(np.float64)
        pooling.learn_scored_rows(
            model.pool, scores, block.y, block.weight, block.labels
        )
    for block in blocks:
        model.pool.active[block.y] = True
    _follow_scale(model, blocks)


def _learn(
    module: ModuleType, name: str, state: State, blocks: Sequence[PooledBlock]
) -> State:
    """Return the state of a member after learning all blocks."""
    if module.SUMS:
        parts = [
            state._replace(
                **{array: block.arrays[f"{name}.{array}"] for array in module.SUMS}
            )
            for block in blocks
        ]
        return module.merge([state, *parts])
    nothing = np.zeros((0, len(module.OUTPUTS), state.active.shape[0]))
    for block in blocks:
        rows = no_rows(block.y.shape[0])
        module.learn_rows(state, rows, block.y, block.weight, nothing)
    return state


def _follow_scale(model: PooledModel, blocks: Sequence[PooledBlock]) -> None:
    """Keep the last 64 rows of all blocks, and check the scale if that is due."""
    last = [block.arrays[LAST_ROWS] for block in blocks]
    y = [block.y[-LOOK:] for block in blocks]
    weight = [block.weight[-LOOK:] for block in blocks]
    model.scale.keep_last_rows(
        np.concatenate(last)[-LOOK:],
        np.concatenate(y)[-LOOK:],
        np.concatenate(weight)[-LOOK:],
        sum(block.y.shape[0] for block in blocks),
    )
