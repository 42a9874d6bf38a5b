"""Why few entries in a column cost accuracy on one dataset and save it on another.

Matrices of mean 0 and variance 1, from all entries to four a column, and other ways to
place as many entries as `very_sparse` does, are tried on Madelon, as it is and with one
spread for all features, and on drawn data: 20 of 500 features matter, with 4, 1 or ¼
times the spread of the others; or all matter, in directions at random. Drawn data are
drawn anew for each repetition. Beside a matrix stands its mean error minus that of the
Gaussian one, and this in standard errors of the differences, taken in pairs.

Run: python benchmarks/sparse_columns.py [--repeat 20] [--data DIR]
         [--streams NAME ...]
"""

import argparse
from collections.abc import Callable
from math import sqrt
from typing import TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from rpnb import datasets
from rpnb.core.bayes.densities import Prior
from rpnb.core.bayes.model import arrange_classes, new_model
from rpnb.core.bayes.state import LEARN_MISTAKES
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.passes.engine import run
from rpnb.core.projection.matrices import down_space_dimension
from rpnb.core.projection.record import Projection

Rng: TypeAlias = np.random.Generator
Stream: TypeAlias = tuple[FloatArray, IntArray]
K = 200
STREAMS = (
    "Madelon",
    "Madelon, one spread",
    "20 of 500, spread 4",
    "20 of 500, spread 1",
    "20 of 500, spread 1/4",
    "all directions",
)


def signs(rng: Rng, p: int, F: int) -> FloatArray:
    """Return −1 or 1 with equal probabilities (p, F)."""
    return np.where(rng.random((p, F)) < 0.5, -1.0, 1.0)


def independent(s: float) -> Callable[[Rng, int, int], FloatArray]:
    """Place every entry with probability 1/s."""
    return lambda rng, p, F: (rng.random((p, F)) < 1 / s) * signs(rng, p, F) * sqrt(s)


def very_sparse(rng: Rng, p: int, F: int) -> FloatArray:
    """Place every entry with probability 1/√p, as the library does."""
    return independent(sqrt(p))(rng, p, F)


def sizes(rng: Rng, p: int, F: int) -> IntArray:
    """Return √p (F,), each rounded up or down at random so that the mean is kept."""
    return (sqrt(p) + rng.random(F)).astype(np.int64)


def exact_number(rng: Rng, p: int, F: int) -> FloatArray:
    """Place √p entries in each column."""
    ranks = rng.random((p, F)).argsort(axis=0).argsort(axis=0)
    return (ranks < sizes(rng, p, F)) * signs(rng, p, F) * p**0.25


def dealt(rng: Rng, p: int, F: int) -> FloatArray:
    """Deal the features out to the columns: those that follow each other share none.

    Every feature has as many entries as any other, up to one.
    """
    placed: BoolArray = np.zeros((p, F), np.bool_)
    left = rng.permutation(p)
    for f, size in enumerate(sizes(rng, p, F)):
        if left.shape[0] < size:
            again = rng.permutation(p)
            left = np.concatenate([left, again[~np.isin(again, left)], left])
        placed[left[:size], f] = True
        left = left[size:]
    return placed * signs(rng, p, F) * p**0.25


def normal_entries(rng: Rng, p: int, F: int) -> FloatArray:
    """Place entries as `very_sparse` does; they are normal numbers."""
    return np.abs(very_sparse(rng, p, F)) * rng.normal(size=(p, F))


MATRICES: dict[str, Callable[[Rng, int, int], FloatArray]] = {
    "gaussian": lambda rng, p, F: rng.normal(size=(p, F)),
    "other draws": lambda rng, p, F: rng.normal(size=(p, F)),
    "one in 3": independent(3.0),
    "one in √p": very_sparse,
    "  √p a column": exact_number,
    "  dealt": dealt,
    "  normal": normal_entries,
    "one in p/4": lambda rng, p, F: independent(p / 4)(rng, p, F),
}


def draw_few(spread: float, rng: Rng) -> Stream:
    """Draw classes that are apart in 20 of 500 features, which lie off zero."""
    y = rng.integers(0, 2, 2000)
    X = rng.normal(size=(2000, 500))
    X[:, :20] += 0.5 * (y[:, None] - 0.5)
    X[:, :20] *= spread
    return X + 10.0, y


def draw_everywhere(rng: Rng) -> Stream:
    """Draw classes apart in a direction at random; spreads differ, along no axis."""
    p = 500
    y = rng.integers(0, 2, 2000)
    spread = np.exp(0.5 * rng.normal(size=p))
    way = rng.normal(size=p)
    way *= 2.0 / np.linalg.norm(way)
    Z = (rng.normal(size=(2000, p)) + (y[:, None] - 0.5) * way) * spread
    rotation = np.linalg.qr(rng.normal(size=(p, p)))[0]
    return Z @ rotation + 10.0, y


def stream(name: str, r: int, data: str | None) -> Stream:
    """Return the r-th permutation of Madelon, or the r-th draw."""
    rng = np.random.default_rng([r, STREAMS.index(name)])
    if name.startswith("Madelon"):
        found = datasets.load("Madelon", reading="paper", data=data)
        X, y = found.X, np.unique(found.y, return_inverse=True)[1]
        if name != "Madelon":
            mean = X.mean(axis=0)
            X = mean + (X - mean) * (40.0 / X.std(axis=0))
        order = rng.permutation(y.shape[0])
        return np.ascontiguousarray(X[order]), y[order]
    if name == "all directions":
        return draw_everywhere(rng)
    return draw_few({"4": 4.0, "1": 1.0, "1/4": 0.25}[name.split()[-1]], rng)


def error(R: FloatArray, q: int, X: FloatArray, y: IntArray) -> float:
    """Return the error rate in per cent of RPNB with the given matrix (p, F)."""
    features = np.arange(R.shape[0], dtype=np.uint64)
    longest = float(np.sqrt((R**2).sum(axis=0).max())) * (1.0 + 1e-6)
    single = R.astype(np.float32)
    projection = Projection("gaussian", 0, features, K, q, single, longest)
    model = new_model(projection, "log_sum", Prior(0.0, 1.0, 1.0, 1e-9), False)
    model = arrange_classes(model, np.array([-1, -1]))
    model.classes.eligible[:] = True
    labels = np.empty(y.shape[0], np.int64)
    run(model, X, y, np.ones(1), LEARN_MISTAKES, labels)
    return 100.0 * float(np.mean(labels != y))


def main() -> None:
    """Run and print one line per stream and matrix."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=STREAMS)
    parser.add_argument("--data", help="folder with the paper's files")
    arguments = parser.parse_args()
    n = arguments.repeat
    print(f"{n} repetitions; error in per cent: mean (standard deviation)")
    with threadpool_limits(1):
        for name in arguments.streams:
            rates = np.empty((len(MATRICES), n))
            for r in range(n):
                X, y = stream(name, r, arguments.data)
                p = X.shape[1]
                q = down_space_dimension(p)
                for i, draw in enumerate(MATRICES.values()):
                    R = draw(np.random.default_rng([r, i, 1]), p, K * q)
                    rates[i, r] = error(R, q, X, y)
            for matrix, rate in zip(MATRICES, rates, strict=True):
                apart = rate - rates[0]
                spread = rate.std(ddof=1)
                line = f"{name:22} {matrix:14} {rate.mean():6.2f} ({spread:4.2f})"
                if matrix != "gaussian":
                    in_errors = apart.mean() / (apart.std(ddof=1) / sqrt(n))
                    line += f"  {apart.mean():+6.2f}  {in_errors:+6.2f} s.e."
                print(line, flush=True)


if __name__ == "__main__":
    main()
