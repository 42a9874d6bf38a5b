"""Running scale applied to dense or sparse rows, with or without learning them."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from rpnb.core.kernels.arrays import FloatArray, IntArray, as_block
from rpnb.core.kernels.row_blocks import as_rows
from rpnb.core.kernels.running_scale import (
    RunningScale,
    scale_rows,
    scale_sparse_rows,
)
from rpnb.estimators.saving.schema import ArraySchema, counts, flags, reals

#: Default number of standard deviations at which scaled values are clipped.
CLIP: Final = 3.0

_ONE = np.ones(1)


def apply_scale(scale: RunningScale, X: Any, clip: float = CLIP) -> Any:
    """Return rows X (n, p) scaled by all rows learned so far; changes nothing."""
    unlearned = np.full(X.shape[0], -1)
    return learn_scale(scale, X, unlearned, _ONE, 1, clip)


def learn_scale(
    scale: RunningScale,
    X: Any,
    y: IntArray,
    weight: FloatArray,
    size: int = 1,
    clip: float = CLIP,
) -> Any:
    """Return rows X (n, p), each scaled by those before it, and learn their scale.

    A row whose number in `y` is negative is not learned; mini-batches of `size` rows
    are scaled by the rows before them. The first rows learned decide whether the scale
    is centred: if they are sparse it is not, and sparse rows stay sparse; a centred
    scale makes later sparse rows dense.
    """
    n = X.shape[0]
    if issparse(X) and scale.seen[0] == 0 and (y >= 0).any():
        scale.centred[0] = False
    if issparse(X) and (scale.seen[0] == 0 or not scale.centred[0]):
        out = np.empty_like(X.data, dtype=np.float64)
        scale_sparse_rows(scale, as_rows(X), y, weight, max(size, 1), clip, out)
        return csr_array((out, X.indices, X.indptr), X.shape)
    rows = as_block(X.toarray() if issparse(X) else X)
    scaled = np.empty((n, X.shape[1]))
    scale_rows(scale, rows, y, weight, max(size, 1), clip, scaled)
    return scaled


def scale_to_arrays(scale: RunningScale) -> dict[str, NDArray[Any]]:
    """Return a scale as arrays for a model file."""
    return {f"scale.{name}": array for name, array in scale._asdict().items()}


def scale_schema(p: int) -> dict[str, ArraySchema]:
    """Return the schema of the arrays of a scale of p features."""
    return {
        "scale.mean": reals(p),
        # Squares of large values, times large weights, are beyond double precision.
        "scale.scatter": reals(p, low=0.0, infinite=True),
        "scale.missing": reals(p, low=0.0),
        "scale.weight": reals(1, low=0.0),
        "scale.seen": counts(1),
        "scale.centred": flags(1),
    }


def scale_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> RunningScale:
    """Return the scale from the arrays of `scale_to_arrays`."""
    start = "scale."
    held: dict[str, Any] = {
        name.removeprefix(start): array
        for name, array in arrays.items()
        if name.startswith(start)
    }
    return RunningScale(**held)
