"""Generators of streams of any length, most of them drifting, in chunks.

Each function returns an iterator of chunks `(X, y)`: features as float64 and labels
0 … M − 1 as int64. Memory does not grow with the length `n`; the same seed gives the
same samples whatever the size of the chunks.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets.agrawal import agrawal
from rpnb.datasets.chunks import (
    Chunk,
    block_of,
    children,
    flip,
    in_chunks,
    require,
    require_probability,
)
from rpnb.datasets.dataset import DatasetError
from rpnb.datasets.drawn import LED_SEGMENTS

__all__ = [
    "Chunk",
    "agrawal",
    "from_river",
    "hyperplane",
    "led",
    "mixture",
    "random_rbf",
    "sea",
]

RiverRow: TypeAlias = tuple[Mapping[Any, Any], Any]


def mixture(
    n: int,
    p: int = 20,
    M: int = 2,
    *,
    separation: float = 4.0,
    chunk: int = 1000,
    seed: int = 0,
) -> Iterator[Chunk]:
    r"""Generate a stationary stream of M equally likely Gaussian classes.

    $x \sim N(\mu_y, I)$ with $\mu_{mj} \sim N(0, s^2 / 2p)$, so that two means are
    `separation` $s$ apart in the mean square, whatever p is. For measuring how time
    and memory grow with n, p and M; the distribution is our own.

    Parameters
    ----------
    n : int
        Number of samples of the stream.
    p : int, default=20
        Number of features.
    M : int, default=2
        Number of classes.
    separation : float, default=4.0
        Root mean square distance between the means of two classes.
    chunk : int, default=1000
        Largest number of samples per chunk.
    seed : int, default=0
        Seed of the random numbers.

    Yields
    ------
    X : ndarray of shape (n_samples, p)
        Features of the chunk's samples.
    y : ndarray of int of shape (n_samples,)
        Labels, 0 … M − 1.

    Examples
    --------
    >>> from rpnb.datasets import streams
    >>> X, y = next(streams.mixture(500, chunk=500, M=3))
    >>> X.shape, len(set(y.tolist()))
    ((500, 20), 3)
    """
    require(p >= 1, "p", p, "at least 1")
    require(M >= 1, "M", M, "at least 1")
    require(separation >= 0.0, "separation", separation, "at least 0")
    once, classes, features = children(seed, 3)
    means = once.normal(0.0, separation / np.sqrt(2.0 * p), (M, p))

    def draw(rows: IntArray) -> Chunk:
        y = classes.integers(0, M, len(rows))
        X = features.standard_normal((len(rows), p))
        X += means[y]
        return X, y

    return in_chunks(n, chunk, draw)


def sea(
    n: int,
    *,
    thresholds: tuple[float, ...] = (8.0, 9.0, 7.0, 9.5),
    noise: float = 0.1,
    chunk: int = 1000,
    seed: int = 0,
) -> Iterator[Chunk]:
    """Generate SEA concepts, which change abruptly: Street & Kim (KDD 2001).

    Three features are uniform on [0, 10), and the third is irrelevant; the label is 1
    where the sum of the first two is at most a threshold.

    Parameters
    ----------
    n : int
        Number of samples of the stream.
    thresholds : tuple of float, default=(8.0, 9.0, 7.0, 9.5)
        Threshold of each part of the stream; the parts are equally long.
    noise : float, default=0.1
        Probability that a label is replaced by another.
    chunk : int, default=1000
        Largest number of samples per chunk.
    seed : int, default=0
        Seed of the random numbers.

    Yields
    ------
    X : ndarray of shape (n_samples, 3)
        Features of the chunk's samples.
    y : ndarray of int of shape (n_samples,)
        Labels, 0 or 1.

    Examples
    --------
    >>> from rpnb.datasets import streams
    >>> X, y = next(streams.sea(500, chunk=500))
    >>> X.shape, len(set(y.tolist()))
    ((500, 3), 2)
    """
    require(len(thresholds) >= 1, "thresholds", thresholds, "at least one number")
    require_probability(noise, "noise")
    features, wrong = children(seed, 2)
    limits = np.array(thresholds, dtype=np.float64)

    def draw(rows: IntArray) -> Chunk:
        X = 10.0 * features.random((len(rows), 3))
        limit = limits[block_of(rows, n, len(limits))]
        y = (X[:, 0] + X[:, 1] <= limit).astype(np.int64)
        return X, flip(y, 2, noise, wrong)

    return in_chunks(n, chunk, draw)


def hyperplane(
    n: int,
    p: int = 10,
    *,
    drifting: int = 2,
    speed: float = 0.001,
    reversal: float = 0.1,
    noise: float = 0.05,
    chunk: int = 1000,
    seed: int = 0,
) -> Iterator[Chunk]:
    r"""Generate a rotating hyperplane: Hulten, Spencer & Domingos (KDD 2001).

    Features are uniform on $[0, 1)^p$; the label is 1 where
    $\sum_j w_j x_j \ge \frac12 \sum_j w_j$. After every sample each of the first
    `drifting` weights moves by `speed` in its direction.

    Parameters
    ----------
    n : int
        Number of samples of the stream.
    p : int, default=10
        Number of features.
    drifting : int, default=2
        Number of weights that move.
    speed : float, default=0.001
        Distance by which a weight moves after every sample.
    reversal : float, default=0.1
        Probability that a weight reverses its direction after a sample.
    noise : float, default=0.05
        Probability that a label is replaced by another.
    chunk : int, default=1000
        Largest number of samples per chunk.
    seed : int, default=0
        Seed of the random numbers.

    Yields
    ------
    X : ndarray of shape (n_samples, p)
        Features of the chunk's samples.
    y : ndarray of int of shape (n_samples,)
        Labels, 0 or 1.

    Examples
    --------
    >>> from rpnb.datasets import streams
    >>> X, y = next(streams.hyperplane(500, chunk=500))
    >>> X.shape, len(set(y.tolist()))
    ((500, 10), 2)
    """
    require(p >= 1, "p", p, "at least 1")
    require(0 <= drifting <= p, "drifting", drifting, f"between 0 and p = {p}")
    require_probability(reversal, "reversal")
    require_probability(noise, "noise")
    once, features, turns, wrong = children(seed, 4)
    weights = once.random(p)
    direction = np.ones(drifting)

    def draw(rows: IntArray) -> Chunk:
        X = features.random((len(rows), p))
        turn = np.where(turns.random((len(rows), drifting)) < reversal, -1.0, 1.0)
        signs = direction * np.cumprod(turn, axis=0)
        path = np.cumsum(np.vstack([weights[:drifting], speed * signs]), axis=0)
        w = np.tile(weights, (len(rows), 1))
        w[:, :drifting] = path[:-1]
        y = ((w * X).sum(axis=1) >= 0.5 * w.sum(axis=1)).astype(np.int64)
        weights[:drifting], direction[:] = path[-1], signs[-1]
        return X, flip(y, 2, noise, wrong)

    return in_chunks(n, chunk, draw)


def random_rbf(
    n: int,
    p: int = 10,
    M: int = 2,
    *,
    centroids: int = 50,
    speed: float = 0.0001,
    chunk: int = 1000,
    seed: int = 0,
) -> Iterator[Chunk]:
    """Generate moving radial basis functions: Bifet et al. (KDD 2009), as in MOA.

    Each centroid has a position in the unit cube, a label, a weight and a standard
    deviation. A sample is drawn from a centroid chosen by weight: in a random
    direction, at a normally distributed distance with the centroid's deviation.
    Centroids move in straight lines and are reflected at the faces of the cube.
    Departures: labels are assigned in turn, so that every class has a centroid, and
    directions are uniform on the sphere.

    Parameters
    ----------
    n : int
        Number of samples of the stream.
    p : int, default=10
        Number of features.
    M : int, default=2
        Number of classes.
    centroids : int, default=50
        Number of centroids, at least M.
    speed : float, default=0.0001
        Distance by which each centroid moves after every sample.
    chunk : int, default=1000
        Largest number of samples per chunk.
    seed : int, default=0
        Seed of the random numbers.

    Yields
    ------
    X : ndarray of shape (n_samples, p)
        Features of the chunk's samples.
    y : ndarray of int of shape (n_samples,)
        Labels, 0 … M − 1.

    Examples
    --------
    >>> from rpnb.datasets import streams
    >>> X, y = next(streams.random_rbf(500, chunk=500))
    >>> X.shape, len(set(y.tolist()))
    ((500, 10), 2)
    """
    require(p >= 1, "p", p, "at least 1")
    require(M >= 1, "M", M, "at least 1")
    require(centroids >= M, "centroids", centroids, f"at least M = {M}")
    once, choice, directions, distances = children(seed, 4)
    start, spread = once.random((centroids, p)), once.random(centroids)
    heading = _unit(once.standard_normal((centroids, p)))
    share = np.cumsum(once.random(centroids))

    def draw(rows: IntArray) -> Chunk:
        pick = np.searchsorted(share, choice.random(len(rows)) * share[-1], "right")
        travelled = start[pick] + speed * rows[:, None] * heading[pick]
        # Reflection at the faces is motion through mirrored copies of the cube.
        place = 1.0 - np.abs(np.mod(travelled, 2.0) - 1.0)
        distance = distances.standard_normal(len(rows)) * spread[pick]
        way = _unit(directions.standard_normal((len(rows), p)))
        return place + distance[:, None] * way, (pick % M).astype(np.int64)

    return in_chunks(n, chunk, draw)


def led(
    n: int,
    *,
    irrelevant: int = 17,
    drifting: int = 4,
    blocks: int = 4,
    noise: float = 0.1,
    chunk: int = 1000,
    seed: int = 0,
) -> Iterator[Chunk]:
    """Generate digits of an LED display with drift: Breiman et al. (1984), as in MOA.

    The features are the seven segments of a digit, followed by random bits.

    Parameters
    ----------
    n : int
        Number of samples of the stream.
    irrelevant : int, default=17
        Number of random bits.
    drifting : int, default=4
        Number of segments that have exchanged columns with random bits, in all parts
        of the stream but the first.
    blocks : int, default=4
        Number of parts of the stream; they are equally long.
    noise : float, default=0.1
        Probability that a segment is inverted.
    chunk : int, default=1000
        Largest number of samples per chunk.
    seed : int, default=0
        Seed of the random numbers.

    Yields
    ------
    X : ndarray of shape (n_samples, 7 + irrelevant)
        Features of the chunk's samples.
    y : ndarray of int of shape (n_samples,)
        Labels, 0 … 9.

    Examples
    --------
    >>> from rpnb.datasets import streams
    >>> X, y = next(streams.led(500, chunk=500))
    >>> X.shape, len(set(y.tolist()))
    ((500, 24), 10)
    """
    require(irrelevant >= 0, "irrelevant", irrelevant, "at least 0")
    most = min(7, irrelevant)
    require(0 <= drifting <= most, "drifting", drifting, f"between 0 and {most}")
    require(blocks >= 1, "blocks", blocks, "at least 1")
    require_probability(noise, "noise")
    once, digits, wrong, bits = children(seed, 4)
    columns = np.tile(np.arange(7 + irrelevant), (blocks, 1))
    for place in columns[1:]:
        segments = once.choice(7, drifting, replace=False)
        others = 7 + once.choice(irrelevant, drifting, replace=False)
        place[segments], place[others] = others, segments

    def draw(rows: IntArray) -> Chunk:
        y = digits.integers(0, 10, len(rows))
        shown = LED_SEGMENTS[y] ^ (wrong.random((len(rows), 7)) < noise)
        random = bits.random((len(rows), irrelevant)) < 0.5
        X = np.hstack([shown, random]).astype(np.float64)
        order = columns[block_of(rows, n, blocks)]
        return np.take_along_axis(X, order, axis=1), y

    return in_chunks(n, chunk, draw)


def from_river(
    dataset: Iterable[RiverRow] | str, n: int, *, chunk: int = 1000, **options: Any
) -> Iterator[tuple[FloatArray, NDArray[Any]]]:
    """Return the first samples of a River dataset in chunks.

    Parameters
    ----------
    dataset : River dataset or str
        Dataset with numeric features, or the name of one of `river.datasets.synth`.
    n : int
        Largest number of samples; there are fewer if the dataset ends.
    chunk : int, default=1000
        Largest number of samples per chunk.
    **options
        Parameters of the dataset, if it is given by name.

    Yields
    ------
    X : ndarray of shape (n_samples, n_features)
        Features, in the order of the first sample.
    y : ndarray of shape (n_samples,)
        Labels as River gives them.

    Examples
    --------
    >>> from river.datasets import Phishing
    >>> from rpnb.datasets import streams
    >>> X, y = next(streams.from_river(Phishing(), 500, chunk=100))
    >>> X.shape
    (100, 9)
    """
    require(n >= 0, "n", n, "at least 0")
    require(chunk >= 1, "chunk", chunk, "at least 1")
    rows = islice(_of_river(dataset, options), n)
    return _in_chunks(rows, chunk)


def _in_chunks(
    rows: Iterator[RiverRow], chunk: int
) -> Iterator[tuple[FloatArray, NDArray[Any]]]:
    """Yield River's rows as arrays of up to `chunk` rows."""
    first = next(rows, None)
    if first is None:
        return
    features, seen = list(first[0]), 0
    rows = chain([first], rows)
    while part := list(islice(rows, chunk)):
        X = np.empty((len(part), len(features)))
        for i, (x, _) in enumerate(part):
            if x.keys() != first[0].keys():
                raise DatasetError(
                    f"row {seen + i} must have the features of the first row, "
                    f"{features}, got {list(x)}"
                )
            for j, feature in enumerate(features):
                X[i, j] = _number(x[feature], feature, seen + i)
        seen += len(part)
        yield X, np.array([y for _, y in part])


def _of_river(
    dataset: Iterable[RiverRow] | str, options: dict[str, Any]
) -> Iterator[RiverRow]:
    if not isinstance(dataset, str):
        require(not options, "options", options, "empty where a dataset is given")
        return iter(dataset)
    try:
        synth = import_module("river.datasets.synth")  # an extra
    except ImportError as error:
        raise ImportError(
            f"from_river({dataset!r}, ...) needs River: pip install 'rpnb[river]'"
        ) from error
    known = sorted(synth.__all__)
    require(dataset in known, "dataset", dataset, f"one of {', '.join(known)}")
    return iter(getattr(synth, dataset)(**options))


def _number(value: Any, feature: Hashable, row: int) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"feature {feature!r} of row {row} must be a number, got {value!r}"
        ) from error


def _unit(vectors: FloatArray) -> FloatArray:
    lengths: FloatArray = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths
