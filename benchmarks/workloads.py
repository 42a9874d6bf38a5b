"""Seeded streams to measure on: the paper's, where available."""

from typing import NamedTuple

import numpy as np

from rpnb import datasets
from rpnb.core.kernels.arrays import FloatArray


class Workload(NamedTuple):
    """A stream in the order in which it is presented."""

    name: str
    X: FloatArray
    y: np.ndarray
    stand_in: bool
    """whether generated data of the same shape replace the named dataset"""


def paper_stream(name: str, seed: int = 0) -> Workload:
    """Return a permuted dataset of the paper, or generated rows of its shape."""
    facts = datasets.describe(name)
    try:
        data = datasets.load(name, reading="paper")
        X, y, stand_in = data.X, data.y, False
    except datasets.DatasetError:
        X, y = draw_alike(facts.n, facts.p, facts.M)
        stand_in = True
    order = np.random.default_rng(seed).permutation(X.shape[0])
    return Workload(name, np.ascontiguousarray(X[order]), y[order], stand_in)


def draw_alike(n: int, p: int, M: int) -> tuple[FloatArray, np.ndarray]:
    """Draw a Gaussian mixture of the given shape, with some overlap."""
    rng = np.random.default_rng(12345)
    y = rng.integers(0, M, n)
    centres = rng.normal(size=(M, p)) * (2.5 / np.sqrt(p))
    return rng.normal(size=(n, p)) + centres[y], y
