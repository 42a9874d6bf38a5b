"""Bins, neighbours and transitions, as their formulas stand, in NumPy."""

from typing import Any

import numpy as np
from scipy.stats import norm

from rpnb.core.kernels.arrays import BoolArray, FloatArray

QUANTILES = norm.ppf(np.arange(1, 16) / 16)


class BinnedBayes:
    """N: counts of rows by feature, bin and class."""

    def __init__(self, M: int, p: int) -> None:
        self.n, self.counts = np.zeros(M), np.zeros((p, 16, M))

    def bins(self, z: FloatArray) -> Any:
        return (z[:, None] > QUANTILES.astype(np.float32)).sum(axis=1)

    def score(self, z: FloatArray, missing: BoolArray) -> FloatArray:
        there = np.flatnonzero(~missing)
        picked = self.counts[there, self.bins(z)[there]]
        scores = np.log(self.n + 1) - len(there) * np.log(self.n + 2)
        return scores + np.log(picked + 2 / 16).sum(axis=0)

    def learn(self, z: FloatArray, missing: BoolArray, y: int, weight: float) -> None:
        there = np.flatnonzero(~missing)
        self.counts[there, self.bins(z)[there], y] += weight
        self.n[y] += weight


class Neighbours:
    """K: the ten nearest of the last 500 rows."""

    def __init__(self, M: int) -> None:
        self.n = np.zeros(M)
        self.slots: list[tuple[FloatArray, int, float]] = []
        self.seen = 0

    def score(self, x: FloatArray, active: FloatArray) -> FloatArray:
        frequency = (self.n + 0.5) / (self.n.sum() + active.sum() / 2)
        votes = 0.5 * frequency
        distance = [((row - x) ** 2).sum() for row, _, _ in self.slots]
        for rank, slot in enumerate(np.argsort(distance, kind="stable")[:10]):
            _, y, weight = self.slots[slot]
            votes[y] += weight / (rank + 1)
        return np.log(votes)

    def learn(self, x: FloatArray, y: int, weight: float) -> None:
        if len(self.slots) < 500:
            self.slots.append((x, y, weight))
        else:
            self.slots[self.seen % 500] = (x, y, weight)
        self.n[y] += weight
        self.seen += 1


class Transitions:
    """T: which class follows which."""

    def __init__(self, M: int) -> None:
        self.n, self.pairs, self.last = np.zeros(M), np.zeros((M, M)), -1

    def score(self, active: FloatArray) -> FloatArray:
        frequency = (self.n + 0.5) / (self.n.sum() + active.sum() / 2)
        after = self.pairs[self.last] if self.last >= 0 else 0.0
        return np.log(after + 2 * frequency)

    def learn(self, y: int, weight: float) -> None:
        if self.last >= 0:
            self.pairs[self.last, y] += weight
        self.n[y] += weight
        self.last = y
