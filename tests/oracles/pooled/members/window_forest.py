"""A window forest, slow and readable.

The compiled kernels are tested against it, to the bit. A tree is
made of objects, all rows ever learned are kept and found by their number, class counts
are lists of [class, count], and random words are drawn one at a time.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from math import ceil, sqrt

import numpy as np

from rpnb._core.numbers import fill_exponentials, fill_logs

MASK = 0xFFFFFFFF
THRESHOLDS = 32
RENEWAL = 16
LEAST_REFINED = 4


@cache
def philox(seed: int, tree: int, node: int) -> tuple[int, ...]:
    """Return four words of 32 bits: Philox-4x32, ten rounds (Salmon et al., 2011)."""
    c = (0, node, tree & MASK, tree >> 32)
    k0, k1 = seed & MASK, seed >> 32
    for _ in range(10):
        one, two = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = ((two >> 32) ^ c[1] ^ k0, two & MASK, (one >> 32) ^ c[3] ^ k1, one & MASK)
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c


def finalised(x: int) -> int:
    """Return the finaliser of MurmurHash3, of 32 bits (Appleby, 2011)."""
    x = (x ^ x >> 16) * 0x85EBCA6B & MASK
    x = (x ^ x >> 13) * 0xC2B2AE35 & MASK
    return x ^ x >> 16


@dataclass
class Row:
    x: list[float]
    y: int
    weight: float
    number: int


@dataclass
class Counts:
    """Class counts, S classes at most; `total` is of all classes ever counted."""

    S: int
    entries: list[list[float]] = field(default_factory=list)
    total: float = 0.0

    def of(self, y: int) -> float:
        return sum(n for c, n in self.entries if c == y)

    def add(self, y: int, weight: float) -> None:
        if all(c != y for c, _ in self.entries):
            if len(self.entries) < self.S:
                self.entries.append([y, 0.0])
            else:
                counts = [n for _, n in self.entries]
                self.entries[counts.index(min(counts))] = [y, 0.0]
        for entry in self.entries:
            if entry[0] == y:
                entry[1] += weight
        self.total += weight

    def halve(self) -> None:
        for entry in self.entries:
            entry[1] = entry[1] / 2 if entry[1] / 2 > 1e-30 else 0.0
        self.total /= 2

    def most_frequent(self) -> int:
        counts = [n for _, n in self.entries]
        return int(self.entries[counts.index(max(counts))][0]) if counts else -1


@dataclass
class Node:
    """A leaf, or a split if it has children."""

    number: int
    depth: int
    slow: Counts
    fast: Counts
    """of the grown leaf, shared by all leaves that it was split into"""
    recent: list[Row] = field(default_factory=list)
    feature: int = -1
    threshold: float = 0.0
    children: list["Node"] = field(default_factory=list)


@dataclass
class Tree:
    number: int
    root: Node
    n_nodes: int = 1
    a: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """log weights for slow and for fast counts"""

    def leaf_of(self, x: list[float]) -> Node:
        node = self.root
        while node.children:
            goes_left = x[node.feature] <= node.threshold
            node = node.children[0 if goes_left else 1]
        return node


def count_row(leaf: Node, row: Row) -> None:
    leaf.slow.add(row.y, row.weight)
    leaf.recent = [*leaf.recent, row][-8:]


def count_fast(leaf: Node, row: Row) -> None:
    leaf.fast.halve()
    leaf.fast.add(row.y, 1.0)


class WindowForest:
    """Trees grown from the last rows; formulas: `cpp/pooled/forest/leaves.h`."""

    def __init__(self, p: int, M: int, seed: int, window: int = 0) -> None:
        self.p, self.M, self.seed = p, M, seed
        self.W = min(window or 4000, max(256, 2**19 // p))
        self.R = self.W + self.W // 32 + 3
        self.L = min(1024, self.W)
        self.S = min(M, 8)
        self.active = [False] * M
        self.n = [0.0] * M
        self.total = 0.0
        self.rows: list[Row] = []
        self.trees = [Tree(0, self.new_node(0, 0)) for _ in range(16)]
        self.n_grown = 0
        self.due = 1
        self.growing: Tree | None = None
        self.queue: list[tuple[Node, list[Row]]] = []
        self.started = 0
        self.n_features = min(p, max(16, ceil(sqrt(p))))
        per_level = self.W * (2 + self.n_features)
        per_node = 256 + 16 * (THRESHOLDS + self.n_features)
        most = 17 * per_level + 2 * self.L * per_node
        self.units = most // (self.W // 32 + 1) + 1

    def new_node(self, number: int, depth: int) -> Node:
        return Node(number, depth, Counts(self.S), Counts(self.S))

    def prior(self, y: int) -> tuple[float, float]:
        return self.n[y] + 0.5, self.total + 0.5 * max(sum(self.active), 1)

    def scores(self, x: list[float]) -> np.ndarray:
        """Return the scores (2, M) of a row."""
        out = np.zeros((2, self.M))
        leaves = [tree.leaf_of(x) for tree in self.trees]
        for kind in range(2):
            logs = np.array([tree.a[kind] for tree in self.trees])
            weights = logs - logs.max()
            fill_exponentials(weights, -700.0)
            total = 0.0
            for w in weights:
                total += w
            rest = 0.0
            for w, leaf in zip(weights / total, leaves, strict=True):
                counts = (leaf.slow, leaf.fast)[kind]
                share = w / (counts.total + 1.0)
                rest += share
                for c, n in counts.entries:
                    out[kind, int(c)] += share * n
            rest /= self.prior(0)[1]
            for c in range(self.M):
                out[kind, c] = out[kind, c] + rest * self.prior(c)[0] + 1e-4
            fill_logs(out[kind])
        return out

    def learn(self, x: list[float], y: int, weight: float = 1.0) -> None:
        row = Row(x, y, weight, len(self.rows))
        self.rows.append(row)
        self.active[y] = True
        leaves = [tree.leaf_of(x) for tree in self.trees]
        surprised = [leaf.slow.most_frequent() not in (-1, y) for leaf in leaves]
        numerator, denominator = self.prior(y)
        prior = numerator / denominator
        for tree, leaf in zip(self.trees, leaves, strict=True):
            for kind, counts in enumerate((leaf.slow, leaf.fast)):
                log = np.array([(counts.of(y) + prior) / (counts.total + 1.0)])
                fill_logs(log)
                tree.a[kind] = 0.98 * tree.a[kind] + 0.1 * float(log[0])
            count_row(leaf, row)
            count_fast(leaf, row)
        self.n[y] += weight
        self.total += weight
        for tree, leaf, was in zip(self.trees, leaves, surprised, strict=True):
            if was:
                self.refine(tree, leaf)
        self.grow()

    def refine(self, tree: Tree, leaf: Node) -> None:
        """Split a leaf by its recent rows that the window still has."""
        rows = [row for row in leaf.recent if row.number >= len(self.rows) - self.R]
        if (
            len(rows) < LEAST_REFINED
            or leaf.depth >= 32
            or tree.n_nodes + 2 > 2 * self.L - 1
            or len({row.y for row in rows}) == 1
        ):
            return
        for part, child in self.split(tree, leaf, rows, min(8, self.p), 8):
            child.fast = leaf.fast
            for row in part:
                count_row(child, row)

    def grow(self) -> None:
        """Do the work that one row pays for."""
        if self.growing is None:
            if len(self.rows) < self.due:
                return
            span = (250, 1000, 4000)[self.n_grown % 3]
            n = min(len(self.rows), span, self.W)
            self.growing = Tree(self.n_grown, self.new_node(0, 0))
            self.queue = [(self.growing.root, self.rows[-n:])]
            self.started = len(self.rows)
            self.n_grown += 1
            self.due = len(self.rows) + max(1, n // RENEWAL)
        units = self.units
        while units > 0 and self.queue:
            node, rows = self.queue.pop(0)
            units -= 2 * len(rows)
            parts: list[tuple[list[Row], Node]] = []
            if (
                node.depth < 16
                and self.growing.n_nodes + 2 <= 2 * self.L - 1
                and len({row.y for row in rows}) > 1
            ):
                units -= min(len(rows), 64) * self.n_features + 16 * THRESHOLDS + 256
                parts = self.split(
                    self.growing, node, rows, self.n_features, THRESHOLDS
                )
            self.queue += [(child, part) for part, child in parts]
            if not parts:
                for row in rows:
                    count_row(node, row)
                    count_fast(node, row)
        if not self.queue:
            self.finish(self.growing)

    def finish(self, tree: Tree) -> None:
        """Let the grown tree learn the rows since its start and replace the weakest."""
        for row in self.rows[self.started :]:
            leaf = tree.leaf_of(row.x)
            count_row(leaf, row)
            count_fast(leaf, row)
        weights = [tree.a[0] + tree.a[1] for tree in self.trees]
        for kind in range(2):
            total = 0.0
            for other in self.trees:
                total += other.a[kind]
            tree.a[kind] = total / 16
        weakest = weights.index(min(weights))
        number = self.trees[weakest].number
        if sum(other.number < number for other in self.trees) >= 14:
            self.due += self.due - self.started
        self.trees[weakest] = tree
        self.growing = None

    def split(
        self, tree: Tree, node: Node, rows: list[Row], n_features: int, most: int
    ) -> list[tuple[list[Row], Node]]:
        """Split a node; return its children, each with its rows, or nothing."""
        words = count()

        def draw() -> int:
            key, other, _, _ = philox(self.seed, tree.number, node.number)
            return finalised((key + next(words) * 0x9E3779B9) & MASK) ^ other

        sample = rows
        if len(rows) > 64:
            sample = [rows[(draw() * len(rows)) >> 32] for _ in range(64)]
        size = len(sample)
        n_thresholds = min(size - 1, ceil(most / n_features))
        left_over = list(range(self.p))
        best = -1.0
        for f in range(n_features):
            at = f + ((draw() * (self.p - f)) >> 32)
            left_over[f], left_over[at] = left_over[at], left_over[f]
            feature = left_over[f]
            for _ in range(n_thresholds):
                bits = draw()
                one = sample[((bits & 255) * size) >> 8].x[feature]
                other = sample[(((bits >> 8) & 255) * size) >> 8].x[feature]
                threshold = one + (other - one) * ((bits >> 16) / 65536)
                left = [row.y for row in sample if row.x[feature] <= threshold]
                right = [row.y for row in sample if not row.x[feature] <= threshold]
                purity = _purity(left) + _purity(right) if left and right else -1.0
                if purity > best:
                    best = purity
                    node.feature, node.threshold = feature, threshold
        if best < 0.0:
            return []
        node.children = [
            self.new_node(tree.n_nodes, node.depth + 1),
            self.new_node(tree.n_nodes + 1, node.depth + 1),
        ]
        tree.n_nodes += 2
        goes_left = [row.x[node.feature] <= node.threshold for row in rows]
        parts = [
            [row for row, left in zip(rows, goes_left, strict=True) if left],
            [row for row, left in zip(rows, goes_left, strict=True) if not left],
        ]
        return list(zip(parts, node.children, strict=True))


def _purity(labels: list[int]) -> float:
    """Return Σ n_c² / n, which is large where the Gini impurity is small."""
    return sum(n * n for n in Counter(labels).values()) / len(labels)
