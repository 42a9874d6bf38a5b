"""Features on very different scales, for learners that such features harm."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

# Standard deviations of the features may differ by this factor.
_LARGEST_RATIO = 1000.0
# Rows that are looked at: fewer say little, more take time.
_FEWEST, _MOST = 16, 1024


class SpreadWarning(UserWarning):
    """Features differ in spread so much that the learner sees few of them."""


def describe_spread(X: Any, names: Sequence[Any] | None = None) -> str | None:
    """Return how much the features of X (n, p) differ in spread; None if not too much.

    Only the first rows are looked at. Features that do not vary have no spread, and
    sparse rows are not looked at. Columns go by their `names`, if they have some.
    """
    if issparse(X) or not X.shape[0] >= _FEWEST:
        return None
    some = np.asarray(X[:_MOST], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = np.nan_to_num(some.std(axis=0), nan=0.0)
    varying = np.flatnonzero(deviation > 0.0)
    if varying.shape[0] < 2:
        return None
    widest = varying[np.argmax(deviation[varying])]
    narrowest = varying[np.argmin(deviation[varying])]
    high, low = deviation[widest], deviation[narrowest]
    if not high > _LARGEST_RATIO * low:
        return None
    wide, narrow = (
        f"X[:, {j}]" if names is None else f"column {names[j]}"
        for j in (int(widest), int(narrowest))
    )
    return (
        f"features differ in spread by more than {_LARGEST_RATIO:,.0f} (standard "
        f"deviation {high:.3g} of {wide}, {low:.3g} of {narrow}): "
        "those that vary little hardly count"
    )


def warn_of_spread(X: Any, names: Sequence[Any] | None = None) -> None:
    """Warn if the features of the first rows differ too much in spread."""
    problem = describe_spread(X, names)
    if problem is not None:
        warnings.warn(
            f"{problem}; scale them, for instance by scale='running' or "
            "rpnb.preprocessing.make_stream_pipeline",
            SpreadWarning,
            stacklevel=6,
        )
