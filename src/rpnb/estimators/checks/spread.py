"""Warnings about features on very different scales, for learners that they harm."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

# Standard deviations of the features may differ by this factor.
_LARGEST_RATIO = 1000.0
# Number of rows to inspect: fewer give a poor estimate, more take time.
_FEWEST, _MOST = 16, 1024


class SpreadWarning(UserWarning):
    """Features differ so much in spread that the widest ones dominate the learner.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.preprocessing import SpreadWarning
    >>> X = np.random.default_rng(0).normal(size=(20, 2)) * [1.0, 1e6]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", SpreadWarning)
    ...     model = RPNBClassifier(random_state=0).fit(X, [0, 1] * 10)
    >>> RPNBClassifier(scale="running", random_state=0).fit(X, [0, 1] * 10).scale
    'running'
    """


def describe_spread(X: Any, names: Sequence[Any] | None = None) -> str | None:
    """Return how much the features of X (n, p) differ in spread; None if not too much.

    Only the first rows are inspected. Features that do not vary have no spread, and
    sparse rows are not inspected. Columns are named by `names`, if given.
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
        "those with the smallest spread have hardly any influence"
    )


def warn_of_spread(X: Any, names: Sequence[Any] | None = None) -> None:
    """Warn if the features of the first rows differ too much in spread."""
    problem = describe_spread(X, names)
    if problem is not None:
        warnings.warn(
            f"{problem}; scale them, for example by scale='running' or "
            "rpnb.preprocessing.make_stream_pipeline",
            SpreadWarning,
            stacklevel=6,
        )
