"""Memory of the pool and of its members, for benchmarks and tests."""

from typing import Any

from rpnb.core.pooled.member import Arrays
from rpnb.core.pooled.model import PooledModel


def size_of_model(model: PooledModel) -> int:
    """Return the memory of the learned state, in bytes."""
    parts: list[Any] = [model.scale, *model.states, model.pool, model.features]
    if model.late is not None:
        behind = model.late.behind
        parts += [behind.scale, *behind.states, behind.pool, model.late.pending]
    return sum(size_of(part) for part in parts)


def size_of(state: Arrays) -> int:
    """Return the memory of a state, in bytes."""
    # Boosted trees have an attribute: their arrays are copies.
    size: int | None = getattr(state, "nbytes", None)
    return sum(array.nbytes for array in state) if size is None else size
