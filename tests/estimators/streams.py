"""Streams, labels of every family, divisions into calls, and the oracle."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from oracles.paper import Oracle, matrices
from rpnb import RPNBClassifier
from rpnb.core.bayes.statistics import COMBINERS
from rpnb.core.kernels.arrays import FloatArray, IntArray

WORDS = ["ant", "bee", "cat", "dog", "emu"]

# Each family names the classes 0 … 4 in an order-preserving way.
FAMILIES: dict[str, NDArray[Any]] = {
    "small integers": np.arange(5, dtype=np.uint8),
    "integers": np.array([0, 3, 4, 70, 1000]),
    "negative integers": np.array([-9, -4, -1, 0, 2]),
    "whole floats": np.array([-1.0, 0.0, 2.0, 3.0, 5.0]),
    "text": np.array(WORDS),
    "objects": np.array(WORDS, dtype=object),
}

families = st.sampled_from(sorted(FAMILIES))
rules = st.sampled_from(COMBINERS)
seeds = st.integers(0, 10_000)


class Stream(NamedTuple):
    X: FloatArray
    y: IntArray


def blobs(seed: int, n: int = 60, p: int = 4, M: int = 3, apart: float = 1.0) -> Stream:
    """Rows of M normal distributions, some way apart, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M, n)
    centres = rng.normal(scale=apart, size=(M, p))
    return Stream(rng.normal(size=(n, p)) + centres[y], y)


def small(**parameters: Any) -> RPNBClassifier:
    """A model of few members with a fixed seed."""
    return RPNBClassifier(**{"n_estimators": 7, "random_state": 3, **parameters})


@st.composite
def cuts(draw: st.DrawFn, n: int) -> list[slice]:
    """Cut rows 0 … n−1 into calls, none of them empty."""
    inner = draw(st.sets(st.integers(1, n - 1), max_size=6)) if n > 1 else set()
    borders = [0, *sorted(inner), n]
    return [slice(a, b) for a, b in pairwise(borders)]


def rows(n: int) -> Iterator[slice]:
    """Cut rows 0 … n−1 into calls of one row."""
    return (slice(i, i + 1) for i in range(n))


def oracle_for(
    model: RPNBClassifier, *, declared: Sequence[int] = (), **changes: Any
) -> Oracle:
    """Return the oracle of a fitted model, in its state before the first row.

    `declared` numbers the classes that are active from the start.
    """
    state = model._state
    settings: dict[str, Any] = {
        "rule": state.rule,
        "prior_mean": state.prior.mean,
        "prior_variance": state.prior.variance,
        "prior_weight": state.prior.weight,
        "var_floor": state.prior.floor,
        "keep": state.keep,
    }
    oracle = Oracle(matrices(state.projection), state.M, **{**settings, **changes})
    oracle.eligible[:] = False
    oracle.eligible[list(declared)] = True
    return oracle


def projected(model: RPNBClassifier, X: FloatArray) -> FloatArray:
    """Return the rows as the model sees them (n, F): equation (2)."""
    projection = model._state.projection
    Z: FloatArray = X @ projection.R.astype(np.float64) / np.sqrt(projection.q)
    return Z


def densities_of(model: RPNBClassifier) -> tuple[FloatArray, FloatArray]:
    """Return the mean and variance (M, F) of the densities that the model uses."""
    gaussians = model._state.gaussians
    return gaussians.mean, 1.0 / gaussians.precision
