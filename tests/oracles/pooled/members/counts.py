"""Bins, neighbours, selected features and transitions: their formulas in NumPy.

The formulas and their sources are in the headers of these members in `cpp/pooled`.
"""

import numpy as np
from scipy.stats import norm

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray

QUANTILES = norm.ppf(np.arange(1, 16) / 16)


class BinnedBayes:
    """Counts of rows by feature, bin and class."""

    def __init__(self, M: int, p: int) -> None:
        self.n, self.counts = np.zeros(M), np.zeros((p, 16, M))

    def bins(self, z: FloatArray) -> IntArray:
        found: IntArray = (z[:, None] > QUANTILES.astype(np.float32)).sum(axis=1)
        return found

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
    """The ten nearest of the last 500 rows."""

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


class SelectedNeighbours:
    """Neighbours by the features most informative of the class."""

    def __init__(self, M: int) -> None:
        self.M, self.chosen, self.next = M, np.zeros(0, np.int64), 32
        self.rows: list[FloatArray] = []
        self.labels: list[int] = []
        self.weights: list[float] = []
        self.relevance = np.zeros(0)

    def information(self, z: FloatArray) -> float:
        """Return the mutual information of a feature (n,) with the class."""
        edges = norm.ppf(np.arange(1, 8) / 8).astype(np.float32)
        table = np.zeros((8, self.M))
        bins = (z[:, None] > edges).sum(axis=1)
        np.add.at(table, (bins, np.array(self.labels)), np.array(self.weights))
        joint = table / table.sum()
        free = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        there = joint > 0
        return float((joint[there] * np.log(joint[there] / free[there])).sum())

    def select(self) -> None:
        N = np.sum(self.weights)
        f = 7 * (len(set(self.labels)) - 1)
        found = np.array([self.information(z) for z in np.array(self.rows).T])
        count = int((2 * N * found > f + 5 * np.sqrt(2 * f)).sum())
        order = np.argsort(-found, kind="stable")
        self.chosen = order[: min(max(count, 4), 32)]
        excess = np.maximum(found - f / (2 * N), 0)[self.chosen]
        self.relevance = np.sqrt(excess / max(excess[0], 1e-12))
        self.next = len(self.rows) + max(len(self.rows) // 4, 1)

    def score(self, z: FloatArray) -> FloatArray:
        labels, weights = np.array(self.labels, int), np.array(self.weights)
        n = np.bincount(labels, weights, self.M)
        votes = 0.5 * (n + 0.5) / (n.sum() + self.M / 2)
        if len(self.chosen) > 0:
            gaps = (np.array(self.rows)[-1000:] - z)[:, self.chosen] * self.relevance
            nearest = np.argsort((gaps**2).sum(axis=1), kind="stable")[:10]
            nearest += max(len(labels) - 1000, 0)
            for r, i in enumerate(nearest):
                votes[labels[i]] += weights[i] / (r + 1)
        return np.log(votes)

    def learn(self, z: FloatArray, y: int, weight: float) -> None:
        self.rows.append(z)
        self.labels.append(y)
        self.weights.append(weight)
        if len(self.rows) >= self.next:
            self.select()


class Transitions:
    """Which class follows which, `delay` + 1 rows later."""

    def __init__(self, M: int, delay: int = 0) -> None:
        self.n, self.pairs, self.delay = np.zeros(M), np.zeros((M, M)), delay
        self.labels: list[int] = []

    def score(self, active: FloatArray) -> FloatArray:
        frequency = (self.n + 0.5) / (self.n.sum() + active.sum() / 2)
        if not self.labels:
            return np.log(frequency)
        by_chance = self.n @ frequency
        kappa = (np.trace(self.pairs) - by_chance) / (self.n.sum() - by_chance + 2)
        kappa, last = max(kappa, 0.0), self.labels[-1]
        stay = kappa * np.eye(len(self.n))[last]
        return np.log(self.pairs[last] + 2 * ((1 - kappa) * frequency + stay))

    def learn(self, y: int, weight: float) -> None:
        if len(self.labels) > self.delay:
            self.pairs[self.labels[-1 - self.delay], y] += weight
        self.n[y] += weight
        self.labels.append(y)
