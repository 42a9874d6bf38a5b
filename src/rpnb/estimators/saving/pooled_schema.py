"""Schema of pooled models in files: scale, members, pool, and their consistency.

Each member has an entry in `MEMBER_SCHEMAS`: its record, the schema of its arrays, and
a check of what ranges cannot express, such as that the counters of rows kept and of
rows learned agree. A member without an entry cannot be loaded.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb._core import boosted, forest
from rpnb._core.pooled import Pending
from rpnb.core.pooled.features import LAST_REPLAY, FeatureScale, dense_columns
from rpnb.core.pooled.member import Shape, padded
from rpnb.core.pooled.members import (
    binned_bayes,
    boosted_trees,
    class_covariance,
    fading_covariance,
    neighbours,
    selected_neighbours,
    shared_covariance,
    transitions,
)
from rpnb.core.pooled.model import (
    MEMBERS,
    PooledModel,
    assemble,
    members_for,
    model_shape,
)
from rpnb.core.pooled.pool import (
    HISTORY,
    LEAST_NOISE,
    LEAST_POWER,
    MOST_NOISE,
    MOST_POWER,
    Pool,
)
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.schema import (
    CHECKSUM,
    MOST_COUNTED,
    SEED,
    ArraySchema,
    StateSchema,
    ValueSchema,
    counts,
    exactly,
    flags,
    indices,
    reals,
    refuse_tree,
    singles,
)

Shapes = Mapping[str, tuple[int, ...]]
Fields = dict[str, ArraySchema]


class MemberSchema(NamedTuple):
    """What a file holds of a member."""

    record: type[Any]
    """type of the member's state, a NamedTuple of arrays"""
    fields: Callable[[Shape, int, Shapes], Fields]
    """fields(shape, M, shapes) returns the schema of each array; `shapes` are those in
    the file, for sizes that nothing else determines"""
    check: Callable[[Any], None] = lambda _: None
    """check(state) refuses arrays that contradict each other"""


def pooled_schema(
    names: Sequence[str],
    D: int,
    window: int,
    delay: int,
    dense: int,
    p: int,
    M: int,
    shapes: Shapes,
    *,
    varying: bool = False,
) -> StateSchema:
    """Return the schema of a file with these members, p features and M classes.

    `dense` of its D projections are dense. With a delay there are delayed copies of the
    members, unless delays are `varying`.
    """
    shape = model_shape(p, D, window, delay, dense)
    names = members_for(names, shape)
    parts = _parts("", names, shape, M, shapes)
    if delay > 0 and not varying:
        parts["late.pending"] = _pending_fields(delay, shape.p, M)
        parts |= _parts("late.", names, shape, M, shapes)
    arrays = {
        f"{part}.{field}": rule
        for part, fields in parts.items()
        for field, rule in fields.items()
    }
    values = {
        "seed": SEED,
        "dense": ValueSchema(int, 8, D - 8),
        "fingerprint": CHECKSUM,
    }
    return StateSchema(arrays, values)


def dense_in_file(state: Mapping[str, Any], p: int, D: int) -> int:
    """Return how many of D projections are dense according to a file, if plausible."""
    dense = state.get("dense")
    if type(dense) is int and 8 <= dense <= D - 8 and dense % 8 == 0:
        return dense
    return dense_columns(p, D)


def _parts(
    prefix: str, names: Sequence[str], shape: Shape, M: int, shapes: Shapes
) -> dict[str, Fields]:
    """Return the schemas of scale, pool and members, whose names share a prefix."""
    K = sum(len(MEMBERS[name].OUTPUTS) for name in names)
    parts = {
        f"{prefix}scale": _scale_fields(shape.p, M),
        f"{prefix}pool": _pool_fields(K, M),
    }
    for name in names:
        part = f"{prefix}{name}"
        own = {
            key.removeprefix(f"{part}."): value
            for key, value in shapes.items()
            if key.startswith(f"{part}.")
        }
        parts[part] = MEMBER_SCHEMAS[name].fields(shape, M, own)
    return parts


def pooled_from_arrays(
    names: Sequence[str],
    D: int,
    window: int,
    delay: int,
    dense: int,
    p: int,
    seed: int,
    arrays: Mapping[str, NDArray[Any]],
    *,
    varying: bool = False,
) -> PooledModel:
    """Return the model from the arrays of a file, which follow `pooled_schema`.

    The projections are drawn again from the seed.
    """
    shape = model_shape(p, D, window, delay, dense)
    _require(dense % 8 == 0, "dense")
    names = members_for(names, shape)
    parts = _records("", names, shape, seed, arrays)
    model = assemble(names, p, shape, seed, *parts)
    if delay > 0 and not varying:
        scale, states, pool = _records("late.", names, shape, seed, arrays)
        nothing = np.zeros(0, np.int64)
        behind = model.replace(places=nothing, scale=scale, states=states, pool=pool)
        pending = _record("late.pending", Pending, arrays)
        model = model.replace(behind=behind, pending=pending)
    return model


def _record(part: str, kind: type[Any], arrays: Mapping[str, NDArray[Any]]) -> Any:
    try:
        return kind(**{name: arrays[f"{part}.{name}"] for name in kind._fields})
    except ValueError as problem:  # what ranges and shapes cannot express
        raise ModelFileError(f"the model file is damaged: {problem}") from problem


def _records(
    prefix: str,
    names: Sequence[str],
    shape: Shape,
    seed: int,
    arrays: Mapping[str, NDArray[Any]],
) -> tuple[FeatureScale, list[Any], Pool]:
    """Return scale, states of the members and pool, checked for consistency."""
    states = []
    for name in names:
        schema = MEMBER_SCHEMAS[name]
        state = _record(f"{prefix}{name}", schema.record, arrays)
        schema.check(state)
        states.append(state)
        if name in ("window_forest", "boosted_trees"):
            _require(int(state.seed[0]) == seed, "seed")
        if name == "fading_covariance":
            expected = fading_covariance.chosen_columns(shape)
            fits = np.array_equal(state.columns, expected)
            _require(fits, "fading_covariance.columns")
    pool: Pool = _record(f"{prefix}pool", Pool, arrays)
    _require(pool.clock[0] < HISTORY and pool.clock[1] > 0, "pool.clock")
    return _record(f"{prefix}scale", FeatureScale, arrays), states, pool


def _require(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise ModelFileError(
            f"the model file is damaged: {what!r} contradicts the rest of the state"
        )


def _scale_fields(p: int, M: int) -> Fields:
    kept = LAST_REPLAY
    return {
        "mean": reals(p),
        "deviation": reals(p, low=0.0),
        "constant": flags(p),
        "rows": reals(kept, p, nan=True),  # missing values
        "labels": indices(kept, below=M),
        "weight": reals(kept, low=0.0),
        "seen": counts(1),
    }


def _pool_fields(K: int, M: int) -> Fields:
    return {
        "active": flags(M),
        "weights": reals(K, low=0.0),
        "curvature": reals(K, K),
        "class_terms": reals(K + 1, M),
        "class_curvature": reals(K + 1, M, low=float(np.nextafter(0.0, 1.0))),
        "class_ridge": reals(K + 1, low=float(np.nextafter(0.0, 1.0))),
        "mean_weights": reals(K, low=0.0),
        "mean_terms": reals(K + 1, M),
        "mix": reals(1, low=0.0, high=1.0),
        "mix_curvature": reals(1, low=float(np.nextafter(0.0, 1.0))),
        "class_weight": reals(M, low=0.0),
        "power": reals(1, low=LEAST_POWER, high=MOST_POWER),
        "power_curvature": reals(1, low=float(np.nextafter(0.0, 1.0))),
        "noise": reals(1, low=LEAST_NOISE, high=MOST_NOISE),
        "mistakes": reals(K + 1, low=0.0),
        "weight": reals(1, low=0.0),
        "seen": counts(2),
        "history": reals(HISTORY, 2 * K + 3, low=0.0),
        "clock": ArraySchema(np.int64, (2,), 0, MOST_COUNTED >> 1),
    }


def _pending_fields(delay: int, p: int, M: int) -> Fields:
    kept = delay + Pending.block_rows(delay)
    return {
        "rows": reals(kept, p, nan=True),  # missing values
        "labels": indices(kept, below=M),
        "weight": reals(kept, low=0.0),
        "seen": counts(1),
    }


# Members


def _class_covariance(shape: Shape, M: int, _shapes: Shapes) -> Fields:
    d = shape.d
    G, P = -(-M // 4), d * (d + 1) // 2  # groups of classes; entries of a triangle
    return {
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "mean": reals(G, d, 4),
        "scatter": reals(M, P),
        "inverse": reals(G, P, 4),
        "log_volume": reals(M),
        "constant": reals(M),
        "spread": reals(M),
        "total": reals(d),
        "weight": reals(1, low=0.0),
        "prior": reals(P),
        "prior_inverse": reals(P),
        "seen": counts(1),
        "next": counts(1),
    }


def _blocks(E: int) -> int:
    """Return the number of entries of a symmetric matrix in blocks of 16 by 16."""
    return 256 * ((E // 16) * (E // 16 + 1) // 2)


def _shared_covariance(shape: Shape, M: int, _shapes: Shapes) -> Fields:
    E, C, kept = shape.E, padded(max(M, 1), 8), shared_covariance.FIRST
    return {
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "log_count": reals(M),
        "B": reals(M, E),
        "A": reals(_blocks(E)),
        "V": singles(E, C, infinite=True),
        "offset": singles(C, infinite=True),
        "kept": singles(E * kept),
        "labels": indices(kept, below=M),
        "weight": reals(kept, low=0.0),
        "gram": singles(kept, kept),
        "done": indices(1, below=kept + 1),
        "pending": indices(1, below=kept),
        "seen": counts(1),
        "next": counts(1),
        "dimension": exactly(shape.dimension, 1),
    }


def _check_shared_covariance(state: shared_covariance.SharedCovariance) -> None:
    seen, pending = int(state.seen[0]), int(state.pending[0])
    if seen < shared_covariance.FIRST:
        _require(pending == seen, "shared_covariance.pending")
        _require(state.done[0] <= pending, "shared_covariance.done")
        _require(state.next[0] > seen, "shared_covariance.next")


def _binned_bayes(shape: Shape, M: int, shapes: Shapes) -> Fields:
    # Without bins, where there are too many pairs of feature and class.
    p = 0 if shapes.get("bins", (shape.p,))[:1] == (0,) else shape.p
    C = padded(max(M, 1), 8)
    return {
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "bins": singles(p, binned_bayes.BINS, C, low=0.0, infinite=True),
        "logs": singles(p, binned_bayes.BINS, C, infinite=True),
        "log_class": reals(M),
        "log_bins": reals(M),
    }


def _neighbours(shape: Shape, M: int, _shapes: Shapes) -> Fields:
    slots = padded(neighbours.ROWS, 32)
    return {
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "rows": singles(shape.d, slots),
        "labels": indices(slots, below=M),
        "weight": reals(slots, low=0.0),
        "seen": counts(1),
    }


def _selected_neighbours(shape: Shape, M: int, shapes: Shapes) -> Fields:
    member = selected_neighbours
    # Without counts and rows, where there are too many pairs of feature and class.
    p = 0 if shapes.get("counts", (shape.p,))[:1] == (0,) else shape.p
    kept, most = member.rows_kept(shape.p), member.MOST
    return {
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "counts": reals(p, member.BINS, M, low=0.0),
        "rows": singles(kept, p),
        "labels": indices(kept, below=M),
        "weight": reals(kept, low=0.0),
        "chosen": indices(most, low=-1, below=shape.p),
        "relevance": singles(most),
        "near": singles(most, padded(member.ROWS, 32)),
        "clock": counts(2),
    }


def _fading_covariance(shape: Shape, M: int, _shapes: Shapes) -> Fields:
    columns = fading_covariance.chosen_columns(shape).shape[0]
    E, C, kept = padded(columns), padded(max(M, 1), 8), fading_covariance.GROUP
    return {
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "log_count": reals(M),
        "B": reals(M, E),
        "A": reals(_blocks(E)),
        "V": singles(E, C, infinite=True),
        "offset": singles(C, infinite=True),
        "kept": singles(E * kept),
        "weight": reals(kept, low=0.0),
        "pending": indices(1, below=kept),
        "seen": counts(1),
        "next": counts(1),
        "columns": indices(columns, below=shape.E),
    }


def _check_fading_covariance(state: fading_covariance.FadingCovariance) -> None:
    _require(state.next[0] > state.seen[0], "fading_covariance.next")
    _require(state.pending[0] <= state.seen[0], "fading_covariance.pending")


def _transitions(shape: Shape, M: int, _shapes: Shapes) -> Fields:
    return {
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "pairs": reals(M, M, low=0.0),
        "last": indices(shape.delay + 1, low=-1, below=M),
    }


def _window_forest(shape: Shape, M: int, _shapes: Shapes) -> Fields:
    p = forest.read_columns(shape)
    W = forest.window_rows(p, shape.window)
    R, L, T = forest.kept_rows(W), min(forest.MOST_LEAVES, W), forest.TREES
    N, S, word = 2 * L - 1, forest.listed_classes(M), np.int32
    return {
        "seed": ArraySchema(np.uint64, (1,)),
        "clock": ArraySchema(np.int64, (forest.CLOCKS,), -1, MOST_COUNTED),
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "total_weight": reals(1, low=0.0),
        "window": reals(R, p, nan=True),  # missing values
        "window_class": indices(R, low=-1, below=M),
        "window_weight": reals(R, low=0.0),
        "place": indices(T + 1, below=T + 1),
        "log_weight": reals(2, T),
        "tree_number": counts(T + 1),
        "n_nodes": indices(T + 1, low=1, below=N + 1),
        "n_leaves": indices(T + 1, below=L + 1),
        "feature": indices(T + 1, N, below=p, dtype=word),
        "threshold": reals(T + 1, N),
        "child": indices(T + 1, N, low=-L, below=N, dtype=word),
        "slow_class": indices(T + 1, L, S, low=-1, below=M, dtype=word),
        "slow_count": reals(T + 1, L, S, low=0.0),
        "slow_total": reals(T + 1, L, low=0.0),
        "recent": indices(T + 1, L, forest.RECENT_ROWS, low=-1, below=MOST_COUNTED + 1),
        "origin": indices(T + 1, L, below=L, dtype=word),
        "fast_class": indices(T + 1, L, S, low=-1, below=M, dtype=word),
        "fast_count": reals(T + 1, L, S, low=0.0),
        "fast_total": reals(T + 1, L, low=0.0),
        "order": indices(W, below=R),
        "node_first": indices(N, below=W + 1),
        "node_end": indices(N, below=W + 1),
        "node_depth": indices(N, below=N),
    }


def _check_window_forest(state: forest.WindowForest) -> None:
    learned, start = int(state.clock[forest.LEARNED]), int(state.clock[forest.START])
    clock = "window_forest.clock"
    _require((np.delete(state.clock, forest.START) >= 0).all(), clock)
    R = state.window.shape[0]
    _require((state.window_class[: min(learned, R)] >= 0).all(), clock)
    _require(state.recent.max() < learned, "window_forest.recent")
    trees = forest.TREES
    place = state.place
    _require(
        np.array_equal(np.sort(place), np.arange(trees + 1)), "window_forest.place"
    )
    for j in range(trees):
        k = int(place[j])
        n_nodes, n_leaves = int(state.n_nodes[k]), int(state.n_leaves[k])
        check_paired_tree(f"tree {j}", state.child[k, :n_nodes], n_leaves, n_nodes)
    if start >= 0:
        _check_growing(state, int(place[-1]), learned, start)


def _check_growing(
    state: forest.WindowForest, k: int, learned: int, start: int
) -> None:
    """Refuse a tree that is grown from rows outside the window."""
    R = state.window.shape[0]
    _require(max(1, learned - R) <= start <= learned, "window_forest.clock")
    n_nodes, n_leaves = int(state.n_nodes[k]), int(state.n_leaves[k])
    done = int(state.clock[forest.NEXT])
    _require(done < n_nodes, "window_forest.clock")
    check_paired_tree("the growing tree", state.child[k, :done], n_leaves, n_nodes)
    first, end = state.node_first[done:n_nodes], state.node_end[done:n_nodes]
    _require((first < end).all(), "window_forest.node_end")
    rows = state.order[: int(end.max())]
    _require((state.window_class[rows] >= 0).all(), "window_forest.order")


def _boosted_trees(shape: Shape, M: int, shapes: Shapes) -> Fields:
    """Return the schema of rows and trees; the file determines how many there are.

    Their consistency is checked where the state is created from them (snapshot.cpp).
    """

    def length(name: str, axis: int, most: int) -> int:
        found = shapes.get(name, ())
        return min(found[axis], most) if len(found) > axis else 0

    p, byte, word = shape.p, np.uint8, np.int32
    Q = length("base", 0, boosted.MOST_CLASSES)
    # As many rows again may arrive while a round of growing lasts.
    n = length("label", 0, 2 * boosted.rows_kept(p, 1))
    C, raw = length("margin", 1, 64), length("raw", 0, n)
    used, trees = length("leaf", 1, boosted.MOST_TREES), length("slot", 0, 101)
    N, L, most = boosted.MOST_NODES, boosted.MOST_LEAVES, 2**28
    return {
        "seed": ArraySchema(np.uint64, (1,)),
        "clock": ArraySchema(np.int64, (boosted.CLOCKS,), -MOST_COUNTED, MOST_COUNTED),
        "active": flags(M),
        "class_weight": reals(M, low=0.0),
        "rank": indices(M, low=-1, below=M),
        "total_weight": reals(1, low=0.0),
        "base": ArraySchema(word, (Q,), -most, most),
        "loss": reals(3, low=0.0),
        "gap": reals(3),
        "cuts": singles(p, boosted.MOST_CUTS + 2),
        "n_cuts": indices(p, below=boosted.MOST_CUTS + 1, dtype=word),
        "cuts_made": indices(p, low=-1, below=2**31 - 1, dtype=word),
        "bins": ArraySchema(byte, (n, p)),
        "label": ArraySchema(byte, (n,)),
        "row_weight": ArraySchema(np.uint32, (n,), 0, 2**30),
        "margin": ArraySchema(word, (n, C), -most, most),
        "leaf": ArraySchema(byte, (n, used)),
        "raw": ArraySchema(np.float32, (raw, p), nan=True),  # missing values
        "slot": indices(trees, below=boosted.MOST_TREES),
        "born": counts(trees),
        "n_nodes": indices(trees, low=1, below=N + 1),
        "feature": indices(trees, N, below=p, dtype=word),
        "threshold": singles(trees, N),
        "last_bin": ArraySchema(byte, (trees, N)),
        "child": indices(trees, N, below=N, dtype=word),
        "value": ArraySchema(word, (trees, L, C), -most, most),
        "features": indices(length("features", 0, 32), below=p, dtype=word),
        "replaced": indices(length("replaced", 0, 100), below=boosted.MOST_TREES),
    }


def check_paired_tree(
    what: str, child: NDArray[Any], n_leaves: int, n_nodes: int
) -> None:
    """Refuse nodes that do not form a binary tree with root 0.

    `child` of a node is the number of its left child, the right one being the next, or
    −1 − l for leaf l. Only the first nodes may be known yet: the others, up to
    `n_nodes`, have no children so far.
    """
    child = child.astype(np.int64)
    inner = np.flatnonzero(child >= 0)
    left = child[inner]
    if (left <= inner).any():
        refuse_tree(what, "a node is not after its parent")
    children = np.sort(np.concatenate([left, left + 1]))
    if not np.array_equal(children, np.arange(1, n_nodes)):
        refuse_tree(what, "not every node is the child of one node")
    if not np.array_equal(np.sort(-1 - child[child < 0]), np.arange(n_leaves)):
        refuse_tree(what, "not every leaf is that of one node")


MEMBER_SCHEMAS: Final[Mapping[str, MemberSchema]] = {
    "class_covariance": MemberSchema(
        class_covariance.ClassCovariance, _class_covariance
    ),
    "shared_covariance": MemberSchema(
        shared_covariance.SharedCovariance, _shared_covariance, _check_shared_covariance
    ),
    "binned_bayes": MemberSchema(binned_bayes.BinnedBayes, _binned_bayes),
    "neighbours": MemberSchema(neighbours.Neighbours, _neighbours),
    "selected_neighbours": MemberSchema(
        selected_neighbours.SelectedNeighbours, _selected_neighbours
    ),
    "fading_covariance": MemberSchema(
        fading_covariance.FadingCovariance, _fading_covariance, _check_fading_covariance
    ),
    "window_forest": MemberSchema(
        forest.WindowForest, _window_forest, _check_window_forest
    ),
    "boosted_trees": MemberSchema(boosted_trees.BoostedTrees, _boosted_trees),
    "transitions": MemberSchema(transitions.Transitions, _transitions),
}
