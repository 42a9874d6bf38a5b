"""Rows and labels to send."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def clusters(
    n: int, p: int = 4, seed: int = 0, names: tuple[str, ...] = ("ash", "elm", "oak")
) -> tuple[NDArray[np.float64], list[Any]]:
    """Return rows scattered around one centre per class."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(0.0, 2.0, (len(names), p))
    y = rng.integers(0, len(names), n)
    return centres[y] + rng.normal(0.0, 1.0, (n, p)), [names[each] for each in y]
