"""The members of a pool by name, what became of them, and whether two pools match."""

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.mini_batches import PooledBlock
from rpnb.core.pooled.model import MEMBERS, PooledModel
from rpnb.estimators.checks.parameters import check_choice, check_integer
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.stream.learner import BlockStatistics

# Memory of shared_covariance is 4 bytes times the square: 1 GB.
_MOST_PROJECTIONS = 16384


class MemberHistory(NamedTuple):
    """Weights and errors of the members of a pool along the stream."""

    rows: IntArray
    """(n,) rows learned, ascending; the last is all of them"""
    weights: dict[str, FloatArray]
    """(n,) by member: its weight at these rows"""
    errors: dict[str, FloatArray]
    """(n,) by member, and "pool": share of wrong predictions since the entry before"""


def member_history(state: PooledModel) -> MemberHistory:
    """Return the weights and errors of a pool's members along the stream."""
    pool, names = state.pool, state.outputs
    K = len(names)
    past = pool.history[: pool.clock[0]]
    if pool.clock[0] == 0 or past[-1, 0] < pool.seen[0]:
        now = np.concatenate([pool.seen[:1], pool.weight, pool.mistakes, pool.weights])
        past = np.vstack([past, now])
    parts = np.diff(past[:, 1 : K + 3], axis=0, prepend=0.0)
    errors = parts[:, 1:] / np.maximum(parts[:, :1], 1e-300)
    return MemberHistory(
        past[:, 0].astype(np.int64),
        dict(zip(names, past[:, K + 3 :].T, strict=True)),
        dict(zip([*names, "pool"], errors.T, strict=True)),
    )


def member_names(members: str | Sequence[str]) -> tuple[str, ...]:
    """Return the members that the parameter `members` stands for, in their order."""
    if isinstance(members, str):
        choice = check_choice("members", members, ("all", "mergeable"))
        wanted = {
            name: choice == "all" or module.MERGEABLE
            for name, module in MEMBERS.items()
        }
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


def check_pool(
    members: str | Sequence[str], n_projections: int, window: int | None, delay: int
) -> tuple[tuple[str, ...], int, int, int]:
    """Check the parameters of a pool.

    Returns the members, the number of projections, the window, 0 for none, and how many
    rows are predicted between a row and the arrival of its label.
    """
    D = check_integer("n_projections", n_projections, 16, _MOST_PROJECTIONS)
    if D % 16 != 0:
        raise ValueError(f"n_projections must be a multiple of 16, got {D!r}")
    rows = 0 if window is None else check_integer("window", window, 16)
    between = max(check_integer("delay", delay, 0) - 1, 0)
    return member_names(members), D, rows, between


def check_adds_up(names: Sequence[str], between: int) -> None:
    """Refuse a pool that cannot learn the blocks of a mini-batch apart.

    Parameters
    ----------
    names
        Its members.
    between
        Rows that are predicted between a row and the arrival of its label.
    """
    others = [name for name in names if not MEMBERS[name].MERGEABLE]
    if others:
        raise TypeError(
            f"PooledClassifier with {', '.join(others)} learns row by row: these "
            "members keep rows, trees or sums that fade, and what they learn from "
            "parts of a mini-batch does not add up, so the parts cannot be shared "
            "out. Set members='mergeable', or learn it in one process and share "
            "out its predictions by rpnb.spark.predict"
        )
    if between > 0:
        raise ValueError(
            f"PooledClassifier with delay={between + 1!r} learns each row twice, one "
            "by one, so parts of a mini-batch cannot be shared out: set delay=0. The "
            "labels of a mini-batch are late for all of its rows"
        )


def as_pooled_block(block: BlockStatistics) -> PooledBlock:
    """Return what a pool learns of a block of rows."""
    weight = np.broadcast_to(block.weight, block.y.shape).copy()
    return PooledBlock(block.y, block.labels, weight, block.arrays)


def check_copies(name: str, mine: PooledModel, its: PooledModel) -> None:
    """Refuse a pool that is no copy of this one, and cannot be merged with it."""
    if its.late is not None:
        raise ValueError(
            f"{name} has delay={its.shape.delay + 1}: only models without a delay "
            "can be merged"
        )
    if (mine.names, mine.shape, mine.seed) != (its.names, its.shape, its.seed):
        raise ValueError(
            f"{name} has other members or projections: only copies of one model "
            "can be merged"
        )
    same = np.array_equal(mine.scale.mean, its.scale.mean) and np.array_equal(
        mine.scale.deviation, its.scale.deviation
    )
    if not same or its.scale.seen[0] < 256:
        raise ValueError(
            f"{name} scales its rows differently: only copies of one model that "
            "had learned at least 256 rows can be merged"
        )


def arrays_of(state: PooledModel) -> dict[str, NDArray[Any]]:
    """Return all arrays that hold what was learned, with their names in files."""
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


def projections_checksum(state: PooledModel) -> int:
    """Return a checksum of the projections, the same on every machine."""
    checksum = 0
    for part in state.features:
        little_endian = np.ascontiguousarray(part, part.dtype.newbyteorder("<"))
        checksum = zlib.crc32(little_endian.data, checksum)
    return checksum


def check_projections(state: PooledModel, checksum: int) -> None:
    """Refuse a file whose projections are not those that its seed gives."""
    if projections_checksum(state) != checksum:
        raise ModelFileError(
            "the projections drawn from the file's seed are not those it was saved "
            "with: the file is damaged, or from a version of rpnb that draws them "
            "otherwise"
        )
