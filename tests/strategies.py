"""Streams and models to test with, named by their axes."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from oracles.paper import Oracle, matrices
from rpnb.core.bayes.model import Model, arrange_classes, new_model
from rpnb.core.bayes.statistics import Prior
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.passes.engine import run
from rpnb.core.projection.matrices import (
    DISTRIBUTIONS,
    MATRIX_DISTRIBUTIONS,
    Distribution,
)
from rpnb.core.projection.record import make_projection

WEIGHT = np.ones(1)


class Stream(NamedTuple):
    X: FloatArray
    y: IntArray
    M: int


@st.composite
def streams(draw: st.DrawFn, max_n: int = 60, max_p: int = 7, max_M: int = 4) -> Stream:
    """Rows of all kinds: repeated, constant, far from zero, tiny and huge."""
    n = draw(st.integers(1, max_n))
    p = draw(st.integers(1, max_p))
    M = draw(st.integers(1, max_M))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(
        st.sampled_from(["normal", "few values", "offset", "tiny", "huge", "mixed"])
    )
    y = rng.integers(0, M, n)
    X = rng.normal(size=(n, p)) + rng.normal(size=(M, p))[y]
    if kind == "few values":
        X = np.round(X)
    elif kind == "offset":
        X += 1e7
    elif kind == "tiny":
        X *= 1e-150
    elif kind == "huge":
        X *= 1e149
    elif kind == "mixed":
        X *= 10.0 ** rng.integers(-30, 30, p)
        X[:, 0] = 1.0
    return Stream(X, y, M)


def make_model(
    p: int,
    M: int,
    *,
    K: int = 5,
    q: int = 3,
    distribution: Distribution = "gaussian",
    seed: int = 0,
    prior: Prior | None = None,
    keep: float = 1.0,
) -> Model:
    """Return a model that has seen nothing and knows all its classes."""
    projection = make_projection(
        distribution, seed, np.arange(p, dtype=np.uint64), K, q
    )
    prior = prior or Prior(0.0, 1.0, 1.0, 1e-9)
    empty = new_model(projection, "log_sum", prior, prior_from_counts=False, keep=keep)
    model = arrange_classes(empty, np.full(M, -1))
    model.classes.eligible[:] = True
    return model


def oracle_of(model: Model) -> Oracle:
    """Return the plain twin of a model that has seen nothing."""
    oracle = Oracle(
        matrices(model.projection),
        model.M,
        model.rule,
        model.prior.mean,
        model.prior.variance,
        model.prior.weight,
        model.prior.floor,
        model.keep,
    )
    oracle.eligible[:] = model.classes.eligible
    return oracle


def assert_same_state(a: Model, b: Model) -> None:
    """Compare all that two models hold, to the bit."""
    for x, y in zip(
        (*a.moments, *a.gaussians, *a.classes),
        (*b.moments, *b.gaussians, *b.classes),
        strict=True,
    ):
        assert_array_equal(x, y)
    assert (a.n_seen, a.n_updates) == (b.n_seen, b.n_updates)


def exact_labels(
    model: Model, stream: Stream, learn: int, weight: FloatArray = WEIGHT
) -> IntArray:
    """Run the pass that defines the result; return its labels."""
    labels = np.empty(stream.y.shape[0], np.int64)
    run(model, stream.X, stream.y, weight, learn, labels, "exact")
    return labels


def well_behaved(seed: int, n: int, M: int = 3) -> Stream:
    """Draw M normal laws in six dimensions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M, n)
    return Stream(rng.normal(size=(n, 6)) + rng.normal(size=(M, 6))[y], y, M)


def mixtures(seed: int, n: int, apart: float) -> tuple[FloatArray, IntArray]:
    """Draw three classes, each a mixture of two Gaussians in three dimensions."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    centres = rng.normal(size=(3, 2, 3)) * apart
    return centres[y, rng.integers(0, 2, n)] + rng.normal(size=(n, 3)), y


distributions = st.sampled_from(DISTRIBUTIONS)
matrix_distributions = st.sampled_from(MATRIX_DISTRIBUTIONS)
