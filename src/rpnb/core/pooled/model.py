"""The pooled model: scale, members and pool, begun, copied, grown and merged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any, Final

import numpy as np

from rpnb.core.kernels.arrays import BoolArray, IntArray
from rpnb.core.pooled import late, pool_state, scale
from rpnb.core.pooled.features import (
    Features,
    columns_of,
    dense_columns,
    draw_features,
    low_columns,
    raw_columns,
)
from rpnb.core.pooled.hashing import MOST_FEATURES, columns_after_hashing, draw_places
from rpnb.core.pooled.member import Shape, State, copy_state
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
from rpnb.core.pooled.pool_state import Pool
from rpnb.core.pooled.scale import FeatureScale

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

#: Kernels are silent, and so is their Python source.
SILENT = np.errstate(all="ignore")


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


@SILENT
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
    states = [MEMBERS[name].begin(shape, active, seed) for name in names]
    outputs = [output for name in names for output in MEMBERS[name].OUTPUTS]
    waiting = np.array([output in _LATE_STARTERS for output in outputs])
    first = np.full(waiting.shape[0], 1.0 / max(int((~waiting).sum()), 1))
    if not waiting.all():
        first[waiting] = 0.0
    pool = pool_state.begin(first, active, delay)
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


@SILENT
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
    return PooledModel(
        tuple(names),
        shape,
        seed,
        draw_features(shape.p, shape.D, shape.dense, seed),
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


@SILENT
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
    states = [
        module.grow_classes(state, source, active)
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
        pool_state.grow_classes(model.pool, source, active),
        behind,
    )


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
    first.pool = pool_state.merge(pools, None if base is None else base.pool)
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
