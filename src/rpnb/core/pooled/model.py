"""The pooled model: scale, members and pool; creating, copying and merging it.

Rows are processed in compiled code (model.h).
"""

from collections.abc import Sequence
from functools import cache
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

from rpnb._core import pooled as compiled
from rpnb._core.numbers import philox
from rpnb._core.pooled import Pending
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.pooled import pool as pooling
from rpnb.core.pooled.features import (
    Features,
    FeatureScale,
    columns_of,
    dense_columns,
    low_columns,
    raw_columns,
)
from rpnb.core.pooled.member import (
    Shape,
    State,
    arrange,
    copy_state,
    new_numbers,
)
from rpnb.core.pooled.members import (
    binned_bayes,
    boosted_trees,
    class_covariance,
    fading_covariance,
    neighbours,
    selected_neighbours,
    shared_covariance,
    transitions,
    window_forest,
)
from rpnb.core.pooled.pool import Pool

#: The members by name, in the order of their scores in the pool.
MEMBERS: Final[dict[str, ModuleType]] = {
    "class_covariance": class_covariance,
    "shared_covariance": shared_covariance,
    "binned_bayes": binned_bayes,
    "neighbours": neighbours,
    "selected_neighbours": selected_neighbours,
    "fading_covariance": fading_covariance,
    "window_forest": window_forest,
    "boosted_trees": boosted_trees,
    "transitions": transitions,
}
#: Rows of more features are hashed to `HASHED` columns (hashing.h).
MOST_FEATURES: Final = 4096
HASHED: Final = 1024

# Members whose initial weight is 0.
_LATE_STARTERS = ("transitions", "selected_neighbours", "boosted_trees")


class LateLabels(NamedTuple):
    """A delayed copy of the members, and the rows that it has not learned yet."""

    behind: "PooledModel"
    """the delayed members; its pool is not used"""
    pending: Pending


@cache
def _modules(names: tuple[str, ...]) -> tuple[ModuleType, ...]:
    return tuple(MEMBERS[name] for name in names)


class PooledModel(compiled.PooledModel):
    """Everything that a pooled classifier has learned, and its random projections."""

    @property
    def modules(self) -> tuple[ModuleType, ...]:
        """The modules of the members."""
        return _modules(self.names)

    @property
    def outputs(self) -> list[str]:
        """Names of the scores that the pool combines."""
        return [output for module in self.modules for output in module.OUTPUTS]

    @property
    def late(self) -> LateLabels | None:
        """The delayed members from which the pool learns, if labels are delayed."""
        if self.behind is None or self.pending is None:
            return None
        return LateLabels(self.behind, self.pending)

    def replace(self, **changes: Any) -> "PooledModel":
        """Return a model with some parts replaced; it shares all others."""
        return PooledModel(**(dict(zip(_PARTS, self._parts(), strict=True)) | changes))

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in _PARTS)

    def __reduce__(self) -> tuple[type["PooledModel"], tuple[Any, ...]]:
        return PooledModel, self._parts()


_PARTS: Final = (
    "names",
    "shape",
    "seed",
    "features",
    "places",
    "scale",
    "states",
    "pool",
    "behind",
    "pending",
)


def new_model(
    names: Sequence[str],
    p: int,
    D: int,
    window: int,
    active: BoolArray,
    seed: int,
    delay: int = 0,
    *,
    varying: bool = False,
) -> PooledModel:
    """Return an initial model for rows with p features.

    Labels arrive `delay` rows after the prediction of their row. If delays are
    `varying`, this is their approximate mean, and there are no delayed members.
    """
    shape = model_shape(p, D, window, delay)
    names = members_for(names, shape)
    states = [MEMBERS[name].begin(shape, active, seed) for name in names]
    outputs = [output for name in names for output in MEMBERS[name].OUTPUTS]
    pool = pooling.begin(first_weights(outputs), active, delay)
    model = assemble(names, p, shape, seed, FeatureScale.begin(shape.p), states, pool)
    if delay > 0 and not varying:
        # It gets rows that have already been hashed.
        behind = copy_model(model).replace(places=np.zeros(0, np.int64))
        model = model.replace(behind=behind, pending=Pending.begin(delay, shape.p))
    return model


def first_weights(outputs: Sequence[str]) -> FloatArray:
    """Return the initial weights of these scores in the pool."""
    waiting = np.array([output in _LATE_STARTERS for output in outputs])
    first = np.full(waiting.shape[0], 1.0 / max(int((~waiting).sum()), 1))
    if not waiting.all():
        first[waiting] = 0.0
    return first


def members_for(names: Sequence[str], shape: Shape) -> Sequence[str]:
    """Return which of the requested members are used for rows of this shape."""
    if shape.p <= selected_neighbours.MANY_FEATURES and len(names) > 1:
        # There are too few features to select from.
        return [name for name in names if name != "selected_neighbours"]
    return names


def model_shape(
    p: int, D: int, window: int, delay: int, dense: int | None = None
) -> Shape:
    """Return the sizes that determine the shapes of states, for p features.

    `dense` of the D projections are dense; by default as many as in new models.
    """
    p = p if p <= MOST_FEATURES else HASHED
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


def assemble(
    names: Sequence[str],
    p: int,
    shape: Shape,
    seed: int,
    scale: FeatureScale,
    states: list[State],
    pool: Pool,
) -> PooledModel:
    """Return a model with these states; its projections are drawn from the seed."""
    return PooledModel(
        tuple(names),
        shape,
        seed,
        Features.draw(shape.p, shape.D, shape.dense, seed),
        draw_places(p, seed) if p > MOST_FEATURES else np.zeros(0, np.int64),
        scale,
        states,
        pool,
    )


def draw_places(p: int, seed: int) -> IntArray:
    """Return 1 + the column that each feature is hashed to, negative to subtract it."""
    counters = np.zeros((4, p), np.uint64)
    counters[0] = np.arange(p, dtype=np.uint64)
    counters[1] = 1  # apart from the counters of projections
    counters[3] = 0xFFFFFFFF
    philox(counters, seed)
    column = (counters[0] % np.uint64(HASHED)).astype(np.int64) + 1
    return np.where(counters[1] & np.uint64(1) == 0, column, -column)


def copy_model(model: PooledModel) -> PooledModel:
    """Return an independent copy."""
    late = model.late
    return model.replace(
        scale=copy_state(model.scale),
        states=[copy_state(state) for state in model.states],
        pool=copy_state(model.pool),
        behind=None if late is None else copy_model(late.behind),
        pending=None if late is None else copy_state(late.pending),
    )


def arrange_classes(
    model: PooledModel, source: IntArray, declared: IntArray, *, given_up: bool = False
) -> PooledModel:
    """Return a model whose class m is class source[m] of `model`, or new if −1.

    The classes with numbers `declared` become active. `model` is not changed, unless it
    is `given_up`: then the rows that boosted trees keep are not copied, and it must not
    be used any longer.
    """
    active = arrange(model.pool.active, source, False)
    active[declared] = True
    scale = copy_state(model.scale)
    numbers = new_numbers(source, max(model.M, 1), 0)
    if model.M > 0:
        scale.labels[:] = numbers[model.scale.labels]
    behind = pending = None
    if model.late is not None:
        behind = arrange_classes(model.late.behind, source, declared, given_up=given_up)
        pending = copy_state(model.late.pending)
        pending.labels[:] = numbers[pending.labels]
    pool = pooling.grow_classes(model.pool, source, active)
    states = []
    for module, state in zip(model.modules, model.states, strict=True):
        grow = module.grow_classes
        if given_up:
            grow = getattr(module, "arrange_classes", grow)
        states.append(grow(state, source, active))
    return model.replace(
        scale=scale, states=states, pool=pool, behind=behind, pending=pending
    )


def merge_models(models: list[PooledModel], base: PooledModel | None) -> PooledModel:
    """Return what models of the same scale have learned, with `base` counted once.

    Not for models with delayed labels.
    """
    first = models[0]
    states = []
    for k, module in enumerate(first.modules):
        parts = [model.states[k] for model in models]
        if module.MERGEABLE and base is not None:
            states.append(module.merge(parts, base.states[k]))
        else:
            states.append(module.merge(parts))
    pools = [model.pool for model in models]
    pool = pooling.merge(pools, None if base is None else base.pool)
    scale = copy_state(first.scale)
    for model in models[1:]:
        scale.seen[0] += model.scale.seen[0]
        if base is not None:
            scale.seen[0] -= base.scale.seen[0]
    return first.replace(scale=scale, states=states, pool=pool)
