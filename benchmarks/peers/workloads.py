"""Streams to measure on, by name: drawn, or as River ships them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets import streams
from rpnb.datasets.records import DatasetError


@dataclass(frozen=True, slots=True)
class Workload:
    """Rows in the order in which everyone gets them, labels 0 .. M-1."""

    name: str
    X: FloatArray
    y: IntArray
    M: int


#: Drawn by `rpnb.datasets.streams`; a seed is another draw.
DRAWN: Mapping[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "mixture": (streams.mixture, {"p": 20, "M": 5}),
    "random_rbf": (streams.random_rbf, {"p": 10, "M": 5}),
    "led": (streams.led, {}),
    "hyperplane": (streams.hyperplane, {}),
    "sea": (streams.sea, {}),
    "agrawal": (streams.agrawal, {}),
}

#: Files that River carries; a seed is another permutation.
RIVER_FILES = ("ImageSegments", "Shuttle", "Phishing", "Bananas")

#: Before the name of a generator of River's.
SYNTH = "synth."


def workload(name: str, n: int, seed: int, scale: bool = False) -> Workload:
    """Return the first `n` rows of a stream.

    Parameters
    ----------
    name
        One of `DRAWN` or `RIVER_FILES`, or "synth." and the name of a generator in
        `river.datasets.synth`.
    n
        At most so many rows.
    seed
        Of the draw or the permutation.
    scale
        Whether to hand out `standardised` features.

    Raises
    ------
    DatasetError
        If there is no such stream.
    ImportError
        If it is River's and River is not here.
    """
    require_known(name)
    if name in DRAWN:
        draw, options = DRAWN[name]
        chunks = draw(n, seed=seed, **options)
    elif name.startswith(SYNTH):
        chunks = streams.from_river(name.removeprefix(SYNTH), n, seed=seed)
    else:
        dataset = getattr(_river_datasets(name), name)()
        chunks = streams.from_river(dataset, dataset.n_samples)
    parts = list(chunks)
    X = np.concatenate([part[0] for part in parts])
    labels = np.concatenate([part[1] for part in parts])
    if name in RIVER_FILES:
        order = np.random.default_rng(seed).permutation(len(X))[:n]
        X, labels = X[order], labels[order]
    X = standardised(X) if scale else np.ascontiguousarray(X)
    classes, y = np.unique(labels, return_inverse=True)
    return Workload(name, X, y.astype(np.int64), len(classes))


def standardised(X: FloatArray) -> FloatArray:
    """Return rows less the mean, over the deviation, of the rows up to each of them.

    This is what a scaler that goes with the stream makes of them: the features of a
    row are known when its label is predicted, later rows are not. Where a feature has
    not varied yet, it is 0. Welford (1962).
    """
    scaled = np.zeros_like(X)
    mean, sum_sq = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i, x in enumerate(X):
        delta = x - mean
        mean += delta / (i + 1)
        sum_sq += delta * (x - mean)
        deviation = np.sqrt(sum_sq / (i + 1))
        np.divide(x - mean, deviation, out=scaled[i], where=deviation > 0.0)
    return scaled


def require_known(name: str) -> None:
    """Raise DatasetError unless there is such a stream, as far as its name tells."""
    if name not in DRAWN and name not in RIVER_FILES and not name.startswith(SYNTH):
        known = ", ".join([*DRAWN, *RIVER_FILES, f"{SYNTH}NAME"])
        raise DatasetError(f"stream must be one of {known}, got {name!r}")


def _river_datasets(name: str) -> Any:
    try:
        return import_module("river.datasets")
    except ImportError as error:
        raise ImportError(
            f"the stream {name} needs River: pip install 'rpnb[river]'"
        ) from error
