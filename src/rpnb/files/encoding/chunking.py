"""Chunks of equal size from batches of any size, in order or shuffled."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import IntArray


def rechunk(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Yield the same rows, `rows` at a time; the last chunk has the rest."""
    parts: list[Any] = []
    held = 0
    for batch in batches:
        start = 0
        while batch.num_rows - start >= rows - held:
            stop = start + rows - held
            parts.append(_slice(batch, start, stop))
            yield _joined(parts)
            parts, held, start = [], 0, stop
        if start < batch.num_rows:
            parts.append(_slice(batch, start, batch.num_rows))
            held += batch.num_rows - start
    if parts:
        yield _joined(parts)


def shuffled(
    batches: Iterator[Any], rows: int, seed: int
) -> Iterator[tuple[Any, IntArray]]:
    """Yield all rows in random order, with their numbers; holds them in memory."""
    everything = list(batches)
    if not everything:
        return
    whole = _joined(everything)
    del everything
    order = np.random.default_rng(seed).permutation(whole.num_rows)
    for start in range(0, order.shape[0], rows):
        chosen = order[start : start + rows]
        yield _taken(whole, chosen), chosen + 1


def _is_sparse(batch: Any) -> bool:
    return isinstance(batch, tuple)


def _slice(batch: Any, start: int, stop: int) -> Any:
    if start == 0 and stop == batch.num_rows:
        return batch
    if _is_sparse(batch):
        return type(batch)(batch.X[start:stop], batch.y[start:stop])
    return batch.slice(start, stop - start)


def _taken(batch: Any, chosen: IntArray) -> Any:
    if _is_sparse(batch):
        return type(batch)(batch.X[chosen], batch.y[chosen])
    import pyarrow as pa

    return batch.take(pa.array(chosen))


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if _is_sparse(parts[0]):
        from scipy.sparse import vstack

        X = vstack([part.X for part in parts], format="csr")
        return type(parts[0])(X, np.concatenate([part.y for part in parts]))
    import pyarrow as pa

    table = pa.Table.from_batches(parts).unify_dictionaries().combine_chunks()
    return table.to_batches()[0]
