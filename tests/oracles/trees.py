"""A Hoeffding tree, slow and readable.

The compiled kernels are tested against it. A tree is made of objects, a density is a
number and a vote is a product, each rule is written where it is used, and nothing is
stored that can be recomputed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import exp, inf, log, log2, nan, pi, sqrt

from oracles.elementary import erfc
from rpnb.core.trees import (
    DENSITY_LOG,
    LEAF_ADAPTIVE,
    LEAF_MAJORITY,
    TreeParameters,
)

Vector = Sequence[float]


@dataclass(slots=True)
class Gaussian:
    """One attribute of one class: weight W, mean μ, scatter S, and the range seen."""

    weight: float = 0.0
    mean: float = 0.0
    scatter: float = 0.0
    low: float = inf
    high: float = -inf

    def observe(self, x: float, weight: float) -> None:
        """Add a value."""
        self.low = min(self.low, x)
        self.high = max(self.high, x)
        self.weight += weight
        if self.weight == weight:
            self.mean = x
            return
        delta = x - self.mean
        self.mean += weight * delta / self.weight
        self.scatter += weight * delta * (x - self.mean)

    def deviation(self) -> float:
        """Return σ."""
        return sqrt(self.scatter / (self.weight - 1.0)) if self.weight > 1.0 else 0.0

    def density(self, x: float) -> float:
        """Return the density; without variance, 1 at the mean and 0 elsewhere."""
        sigma = self.deviation()
        if sigma == 0.0:
            return 1.0 if x == self.mean else 0.0
        delta = x - self.mean
        power = -(delta * delta / (2.0 * sigma * sigma))
        return 1.0 / (sqrt(2.0 * pi) * sigma) * exp(power)

    def log_density(self, x: float) -> float:
        """Return the logarithm of the density, which may be too small for a number."""
        sigma = self.deviation()
        if sigma == 0.0:
            return 0.0 if x == self.mean else -inf
        distance = (x - self.mean) / sigma
        return -log(sqrt(2.0 * pi) * sigma) - distance * distance / 2.0

    def divide(self, z: float) -> tuple[float | None, float | None]:
        """Return the weight at most z and above z, None on a side out of range."""
        if z < self.low:
            return None, self.weight
        if z >= self.high:
            return self.weight, None
        sigma = self.deviation()
        if sigma == 0.0:
            share = 1.0 if z >= self.mean else 0.0
        else:
            share = 0.5 * erfc(-(z - self.mean) / sigma * sqrt(0.5))
        return self.weight * share, self.weight - self.weight * share


@dataclass(slots=True)
class Leaf:
    """Class weights N up to the highest class seen, and an observer per attribute."""

    N: list[float] = field(default_factory=list)
    observers: list[dict[int, Gaussian]] = field(default_factory=list)
    majority_right: float = 0.0
    bayes_right: float = 0.0
    checked: float = 0.0
    frozen: bool = False

    def __post_init__(self) -> None:
        self.checked = add_up(self.N)


@dataclass(slots=True)
class Node:
    """A split: left where the attribute is at most the threshold."""

    attribute: int
    threshold: float
    left: "Leaf | Node"
    right: "Leaf | Node"


@dataclass(slots=True)
class Tree:
    """A Hoeffding tree, and the splits made so far: row, attribute, threshold."""

    rules: TreeParameters
    root: Leaf | Node = field(default_factory=Leaf)
    rows: int = 0
    splits: list[tuple[int, int, float]] = field(default_factory=list)

    def leaf(self, x: Vector) -> Leaf:
        """Return the leaf to which a row belongs."""
        place = self.root
        while isinstance(place, Node):
            is_left = x[place.attribute] <= place.threshold
            place = place.left if is_left else place.right
        return place

    def votes(self, x: Vector) -> list[float]:
        """Return the votes for the classes with a slot, of arbitrary scale."""
        leaf = self.leaf(x)
        adaptive = self.rules.leaf == LEAF_ADAPTIVE
        if (
            leaf.frozen
            or self.rules.leaf == LEAF_MAJORITY
            or (adaptive and leaf.majority_right > leaf.bayes_right)
        ):
            return list(leaf.N)
        return bayes_votes(leaf, x, self.rules)

    def learn(self, x: Vector, y: int, weight: float) -> None:
        """Learn a row; one without weight is only counted."""
        self.rows += 1
        if not weight > 0.0:
            return
        leaf = self.leaf(x)
        if not leaf.frozen:
            if leaf.N and first_largest(leaf.N) == y:
                leaf.majority_right += weight
            if first_largest(bayes_votes(leaf, x, self.rules)) == y:
                leaf.bayes_right += weight
        leaf.N += [0.0] * (y + 1 - len(leaf.N))
        leaf.N[y] += weight
        if leaf.frozen:
            return
        leaf.observers = leaf.observers or [{} for _ in x]
        for observer, value in zip(leaf.observers, x, strict=True):
            observer.setdefault(y, Gaussian()).observe(value, weight)
        n = add_up(leaf.N)
        if self.rules.grows and n - leaf.checked >= self.rules.grace:
            leaf.checked = n
            self.attempt(leaf)

    def attempt(self, leaf: Leaf) -> None:
        """Split the leaf if an attribute leads by more than the Hoeffding bound."""
        if sum(weight != 0.0 for weight in leaf.N) < 2:
            return
        offers = [(-inf, -1, nan)]
        for j, observer in enumerate(leaf.observers):
            offer = best_threshold(leaf.N, observer, self.rules.bins)
            if offer is not None:
                offers.append((offer[0], j, offer[1]))
        if len(offers) == 1:
            leaf.frozen = True
            return
        second, best = sorted(offers, key=lambda offer: offer[0])[-2:]  # stable
        R = log2(max(2, len(leaf.N)))
        bound = sqrt(R**2 * log(1.0 / self.rules.confidence) / (2.0 * add_up(leaf.N)))
        if best[0] - second[0] > bound or bound < self.rules.tie:
            _, j, z = best
            left, right = sides(leaf.observers[j], z)
            self.splits.append((self.rows - 1, j, z))
            self.replace(leaf, Node(j, z, Leaf(left), Leaf(right)))

    def replace(self, leaf: Leaf, node: Node) -> None:
        """Put a node where the leaf was."""
        if self.root is leaf:
            self.root = node
        places = [self.root]
        while places:
            place = places.pop()
            if isinstance(place, Node):
                if place.left is leaf and place is not node:
                    place.left = node
                elif place.right is leaf and place is not node:
                    place.right = node
                places += [place.left, place.right]


def add_up(values: Iterable[float]) -> float:
    """Add in order, as `sum` does before Python 3.12: the rounding counts."""
    total = 0.0
    for value in values:
        total += value
    return total


def first_largest(values: Vector) -> int:
    """Return the place of the largest value, the first of equals, 0 if none."""
    best = 0
    for i, value in enumerate(values):
        if value > values[best]:
            best = i
    return best


def bayes_votes(leaf: Leaf, x: Vector, rules: TreeParameters) -> list[float]:
    """Return naive Bayes' votes: prior times densities, or their ratios from logs."""
    unseen = Gaussian(weight=2.0, mean=nan)  # its density is 0 everywhere
    columns = [
        [(observer.get(c, unseen), value) for c in range(len(leaf.N))]
        for observer, value in zip(leaf.observers, x, strict=False)
    ]
    if rules.density == DENSITY_LOG:
        scores = [log(weight) if weight > 0.0 else -inf for weight in leaf.N]
        for column in columns:
            for c, (gaussian, value) in enumerate(column):
                scores[c] += gaussian.log_density(value)
        highest = max(scores, default=-inf)
        return [exp(score - highest) if score > -inf else 0.0 for score in scores]
    votes = [weight / add_up(leaf.N) for weight in leaf.N]
    for column in columns:
        for c, (gaussian, value) in enumerate(column):
            votes[c] *= gaussian.density(value)
    return votes


def best_threshold(
    N: Vector, observer: dict[int, Gaussian], bins: int
) -> tuple[float, float] | None:
    """Return the highest merit of an attribute and its threshold, if it has one."""
    low = min(gaussian.low for gaussian in observer.values())
    high = max(gaussian.high for gaussian in observer.values())
    best: tuple[float, float] | None = None
    for i in range(1, bins + 1):
        z = (high - low) / (bins + 1.0) * i + low
        if low < z < high:
            left, right = sides(observer, z)
            total = sum(left) + sum(right)
            merit = -inf
            if min(sum(left), sum(right)) > 0.01 * total:
                after = sum(left) * entropy(left) + sum(right) * entropy(right)
                merit = entropy(N) - after / total
            if best is None or merit > best[0]:
                best = merit, z
    return best


def sides(observer: dict[int, Gaussian], z: float) -> tuple[list[float], list[float]]:
    """Return the class weights on either side, up to the last class put there."""
    lists: tuple[list[float], list[float]] = ([], [])
    for c, gaussian in sorted(observer.items()):
        for side, weight in zip(lists, gaussian.divide(z), strict=True):
            if weight is not None:
                side += [0.0] * (c + 1 - len(side))
                side[c] += weight
    return lists


def entropy(weights: Vector) -> float:
    """Return the entropy in bits."""
    total = sum(weights)
    return -sum(w / total * log2(w / total) for w in weights if w > 0.0)
