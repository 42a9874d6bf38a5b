"""Bagging, boosting and Online Bayes, slow and readable, on the trees of `trees`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import e, factorial, log

import numpy as np

from oracles.trees import Tree, Vector, add_up, first_largest
from rpnb.core.kernels.arrays import FloatArray


def add_normalised(total: list[float], votes: Vector, factor: float) -> None:
    """Add votes, scaled to sum to `factor`; those that sum to 0 or NaN are left out."""
    if add_up(votes) > 0.0:
        for c, vote in enumerate(votes):
            total[c] += factor * (vote * (1.0 / add_up(votes)))


def bagging_votes(trees: Sequence[Tree], x: Vector, M: int) -> list[float]:
    """Return the sum of the trees' normalised votes."""
    total = [0.0] * M
    for tree in trees:
        add_normalised(total, tree.votes(x), 1.0)
    return total


@dataclass(slots=True)
class Boosting:
    """Online boosting; `draw(k, i, mean)`: the weight of row i for member k."""

    trees: list[Tree]
    draw: Callable[[int, int, float], float]
    right: list[float] = field(init=False)
    wrong: list[float] = field(init=False)
    seen: float = 0.0
    rows: int = 0

    def __post_init__(self) -> None:
        self.right = [0.0 for _ in self.trees]
        self.wrong = [0.0 for _ in self.trees]

    def votes(self, x: Vector, M: int) -> list[float]:
        """Return the weighted votes up to the first member without influence."""
        total = [0.0] * M
        for tree, right, wrong in zip(self.trees, self.right, self.wrong, strict=True):
            share = wrong / (right + wrong) if right + wrong > 0.0 else 0.0
            if share == 0.0 or share >= 0.5:
                break
            add_normalised(total, tree.votes(x), log((1.0 - share) / share))
        return total

    def learn(self, x: Vector, y: int, weight: float) -> None:
        """Pass a row through the members, each handing on the mean to the next."""
        mean = 1.0
        self.seen += weight
        for k, tree in enumerate(self.trees):
            tree.learn(x, y, weight * self.draw(k, self.rows, mean))
            totals = self.right if first_largest(tree.votes(x)) == y else self.wrong
            totals[k] += mean
            mean *= self.seen / (2.0 * totals[k])
        self.rows += 1


def philox_words(seed: int, counter: Sequence[int]) -> list[int]:
    """Return four 32-bit words: Philox-4x32 with ten rounds, in whole numbers."""
    c = list(counter)
    key = [seed % 2**32, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ key[0], b % 2**32, (a >> 32) ^ c[3] ^ key[1], a % 2**32]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return c


def uniform(seed: int, purpose: int, member: int, row: int) -> float:
    """Return the number in (0, 1) that belongs to a member and a row."""
    block = row // 4
    words = philox_words(seed, (block % 2**32, block >> 32, member, purpose))
    return (words[row % 4] + 0.5) / 2**32


def poisson(place: float, mean: float) -> int:
    """Return the smallest k with P(at most k) > place, of a Poisson distribution."""
    k = 0
    while sum(mean**i / factorial(i) for i in range(k + 1)) <= place * e**mean:
        k += 1
    return k


@dataclass(slots=True)
class OnlineBayes:
    """Online Bayes with the covariances themselves, inverted whenever they are read."""

    M: int
    p: int
    n: FloatArray = field(init=False)
    mean: FloatArray = field(init=False)
    S: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.n = np.ones(self.M)
        self.mean = np.zeros((self.M, self.p))
        self.S = np.tile(np.eye(self.p), (self.M, 1, 1))

    def scores(self, x: FloatArray) -> FloatArray:
        """Return log prior plus log density of each class, up to a constant."""
        out: FloatArray = np.log(self.n / self.n.sum())
        for m in range(self.M):
            delta = x - self.mean[m]
            out[m] -= 0.5 * np.linalg.slogdet(self.S[m])[1]
            out[m] -= 0.5 * delta @ np.linalg.solve(self.S[m], delta)
        return out

    def learn(self, x: FloatArray, y: int, weight: float) -> None:
        """Combine a row with the statistics of its class: Theorem 1 for matrices."""
        n, after = self.n[y], self.n[y] + weight
        delta = x - self.mean[y]
        between = n * weight / after * np.outer(delta, delta)
        self.S[y] = (n * self.S[y] + between) / after
        self.mean[y] += weight / after * delta
        self.n[y] = after
