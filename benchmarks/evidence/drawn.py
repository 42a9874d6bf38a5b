"""Synthetic streams: the field's generators, and long streams of our own.

The field's generators drift as they do in the literature. They are River's, which must
be installed; the others need nothing.
"""

from collections.abc import Callable
from itertools import chain, islice
from typing import Any

import numpy as np

from evidence.packages import Rows, collect
from rpnb.core.kernels.arrays import IntArray

#: Row at which the streams NAME_change change.
CHANGE = 50_000

# Generators of the literature


def _in_turn(make: Callable[[int], Any], n: int, concepts: int = 4) -> Rows:
    """Return rows of several generators in turn, with abrupt changes."""
    parts = (islice(make(i), n // concepts) for i in range(concepts))
    return collect(chain.from_iterable(parts))


def agrawal(n: int, seed: int) -> Rows:
    """Return loan applications; the rule changes at each quarter."""
    from river.datasets.synth import Agrawal

    return _in_turn(lambda i: Agrawal(classification_function=i, seed=4 * seed + i), n)


def sea(n: int, seed: int) -> Rows:
    """Return SEA with 10 % noise; the threshold changes at each quarter."""
    from river.datasets.synth import SEA

    return _in_turn(lambda i: SEA(variant=i, seed=4 * seed + i, noise=0.1), n)


def led(n: int, seed: int) -> Rows:
    """Return LED digits, 10 % noise; 1, 3, 5, then 7 features swap places."""
    from river.datasets.synth import LEDDrift

    return _in_turn(
        lambda i: LEDDrift(
            seed=4 * seed + i,
            noise_percentage=0.1,
            irrelevant_features=True,
            n_drift_features=2 * i + 1,
        ),
        n,
    )


def rbf(n: int, seed: int) -> Rows:
    """Return 50 centroids of five classes that move by 0.0001 a row."""
    from river.datasets.synth import RandomRBFDrift

    return collect(
        islice(
            RandomRBFDrift(
                seed_model=seed,
                seed_sample=seed,
                n_classes=5,
                n_features=10,
                n_centroids=50,
                change_speed=0.0001,
                n_drift_centroids=50,
            ),
            n,
        )
    )


def hyperplane(n: int, seed: int) -> Rows:
    """Return a hyperplane whose ten weights move by 0.001 a row, 5 % noise."""
    from river.datasets.synth import Hyperplane

    return collect(
        islice(
            Hyperplane(
                seed=seed,
                n_features=10,
                n_drift_features=10,
                mag_change=0.001,
                noise_percentage=0.05,
                sigma=0.1,
            ),
            n,
        )
    )


def random_tree(n: int, seed: int) -> Rows:
    """Return the classes of a random tree; no drift."""
    from river.datasets.synth import RandomTree

    return collect(
        islice(
            RandomTree(
                seed_tree=seed,
                seed_sample=seed,
                n_classes=2,
                n_num_features=5,
                n_cat_features=5,
                n_categories_per_feature=5,
            ),
            n,
        )
    )


def sine(n: int, seed: int) -> Rows:
    """Return points above or below a curve; another curve at each quarter."""
    from river.datasets.synth import Sine

    return _in_turn(lambda i: Sine(classification_function=i, seed=4 * seed + i), n)


def stagger(n: int, seed: int) -> Rows:
    """Return three symbolic features; the rule changes at each quarter."""
    from river.datasets.synth import STAGGER

    return _in_turn(
        lambda i: STAGGER(classification_function=i % 3, seed=4 * seed + i), n
    )


def mixed(n: int, seed: int) -> Rows:
    """Return two symbolic, two numeric features; classes swap at each quarter."""
    from river.datasets.synth import Mixed

    return _in_turn(
        lambda i: Mixed(classification_function=i % 2, seed=4 * seed + i), n
    )


def random_trees(n: int, seed: int) -> Rows:
    """Return the three classes of a random tree; another one at each quarter."""
    from river.datasets.synth import RandomTree

    return _in_turn(
        lambda i: RandomTree(
            seed_tree=4 * seed + i, seed_sample=4 * seed + i, n_classes=3
        ),
        n,
    )


FIELD: dict[str, Callable[[int, int], Rows]] = {
    function.__name__: function
    for function in (agrawal, sea, hyperplane, random_tree, rbf, led)
}
HELD_OUT: dict[str, Callable[[int, int], Rows]] = {
    function.__name__: function for function in (sine, stagger, mixed, random_trees)
}

# Our own; only the last four drift


def checks(rng: np.random.Generator, n: int) -> Rows:
    """Return a 4 × 4 × 4 board of three classes, and five irrelevant features."""
    X = rng.uniform(size=(n, 8))
    return X, np.floor(4 * X[:, :3]).astype(int).sum(axis=1) % 3


def rings(rng: np.random.Generator, n: int) -> Rows:
    """Return shells around the origin, five classes, 10 % noise."""
    X = rng.normal(size=(n, 6))
    return X, _noisy(rng, np.digitize((X[:, :4] ** 2).sum(axis=1), [1.5, 3, 4.5, 7]), 5)


def products(rng: np.random.Generator, n: int) -> Rows:
    """Return the sign of a sum of products, two classes."""
    X = rng.normal(size=(n, 12))
    total = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * X[:, 4]
    return X, (total + 0.3 * rng.normal(size=n) > 0).astype(np.int64)


def mixture(rng: np.random.Generator, n: int) -> Rows:
    """Return 60 clusters of eight classes in ten dimensions."""
    centre, label = 2.0 * rng.normal(size=(60, 10)), rng.integers(0, 8, 60)
    k = rng.integers(0, 60, n)
    return centre[k] + rng.normal(size=(n, 10)), label[k]


def codes(rng: np.random.Generator, n: int) -> Rows:
    """Return categories with effects and pairwise effects, four classes, noise."""
    X = rng.integers(0, 12, (n, 9)).astype(float)
    single, pair = rng.normal(size=(9, 12, 4)), rng.normal(size=(3, 12, 12, 4))
    rows = X.astype(int)
    score = sum(single[j, rows[:, j]] for j in range(9))
    score = score + sum(2 * pair[j, rows[:, j], rows[:, j + 3]] for j in range(3))
    return X, np.argmax(score + rng.gumbel(size=(n, 4)), axis=1)


def waves(rng: np.random.Generator, n: int) -> Rows:
    """Return which of six sines is highest, with 20 features and some missing."""
    X = rng.uniform(-1, 1, size=(n, 20))
    turn = rng.normal(size=(6, 2)) * 3
    y = np.argmax(np.sin(X[:, :2] @ turn.T + X[:, 2:8] * 1.5), axis=1)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, y


def checks_change(rng: np.random.Generator, n: int) -> Rows:
    """Return `checks`, whose classes rotate after 50,000 rows."""
    X, y = checks(rng, n)
    y[CHANGE:] = (y[CHANGE:] + 1) % 3
    return X, y


def products_change(rng: np.random.Generator, n: int) -> Rows:
    """Return `products`, whose features shift by five places after 50,000 rows."""
    X, y = products(rng, n)
    X[CHANGE:] = np.roll(X[CHANGE:], 5, axis=1)
    return X, y


def mixture_change(rng: np.random.Generator, n: int) -> Rows:
    """Return `mixture`, whose classes rotate after 50,000 rows."""
    X, y = mixture(rng, n)
    y[CHANGE:] = (y[CHANGE:] + 1) % 8
    return X, y


def codes_change(rng: np.random.Generator, n: int) -> Rows:
    """Return `codes`, whose features shift by five places after 50,000 rows."""
    X, y = codes(rng, n)
    X[CHANGE:] = np.roll(X[CHANGE:], 5, axis=1)
    return X, y


def _noisy(rng: np.random.Generator, y: IntArray, M: int) -> IntArray:
    return np.where(rng.random(len(y)) < 0.1, rng.integers(0, M, len(y)), y)


LONG: dict[str, Callable[[np.random.Generator, int], Rows]] = {
    function.__name__: function
    for function in (
        checks,
        rings,
        products,
        mixture,
        codes,
        waves,
        checks_change,
        products_change,
        mixture_change,
        codes_change,
    )
}
