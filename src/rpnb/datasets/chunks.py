"""Streams in chunks: the size of the chunks has no effect on the rows."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets.dataset import DatasetError

#: Features (n_samples, n_features), and labels (n_samples,) from 0 on.
Chunk: TypeAlias = tuple[FloatArray, IntArray]


def in_chunks(n: int, chunk: int, draw: Callable[[IntArray], Chunk]) -> Iterator[Chunk]:
    """Yield `draw(t)` for the row numbers t = 0 .. n-1, at most `chunk` at a time."""
    require(n >= 0, "n", n, "at least 0")
    require(chunk >= 1, "chunk", chunk, "at least 1")
    return (
        draw(np.arange(start, min(start + chunk, n), dtype=np.int64))
        for start in range(0, n, chunk)
    )


def children(seed: int, count: int) -> list[np.random.Generator]:
    """Return independent random generators, one for each quantity of a stream.

    A quantity with its own generator is drawn in the order of the rows, so that its
    values do not depend on the size of the chunks.
    """
    require(seed >= 0, "seed", seed, "at least 0")
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(count)]


def block_of(rows: IntArray, n: int, blocks: int) -> IntArray:
    """Return which of `blocks` equal parts of the stream each row belongs to."""
    edges = [-(-n * block // blocks) for block in range(1, blocks)]
    part: IntArray = np.searchsorted(edges, rows, side="right").astype(np.int64)
    return part


def flip(y: IntArray, M: int, noise: float, rng: np.random.Generator) -> IntArray:
    """Replace labels by another of the M, each with probability `noise`."""
    # Two numbers per row, whether used or not, so that chunks do not matter.
    draws = rng.random((len(y), 2))
    shift = 1 + (draws[:, 1] * (M - 1)).astype(np.int64)
    noisy: IntArray = np.where(draws[:, 0] < noise, (y + shift) % M, y)
    return noisy


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Raise DatasetError, naming the parameter, unless the rule holds."""
    if not holds:
        raise DatasetError(f"{name} must be {rule}, got {value!r}")


def require_probability(value: float, name: str) -> None:
    """Raise DatasetError, naming the parameter, unless it is a probability."""
    require(0.0 <= value <= 1.0, name, value, "between 0 and 1")
