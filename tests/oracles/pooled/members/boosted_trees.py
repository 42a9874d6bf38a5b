"""Boosted trees by their formulas: slow, without packing, blocks or slots.

What follows from rows is computed when it is needed, and the work that rows pay for is
a generator that yields the cost of each piece. Single precision is used where the
compiled trees use it, so that all results are equal to the bit.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rpnb._core.numbers import (
    fill_exponentials,
    fill_feature_words,
    fill_logs,
    fill_normal,
    philox,
)

F32 = np.float32
BLOCK = 256
STEPS = 65536.0


@dataclass(eq=False)
class Tree:
    """Nodes are (feature, last bin, threshold, left child), or leaf numbers."""

    nodes: list[tuple[int, int, F32, int] | int] = field(default_factory=lambda: [0])
    values: NDArray[np.int64] = field(default_factory=lambda: np.zeros((1, 1), int))

    def leaf(self, x: NDArray[np.float32]) -> int:
        node = self.nodes[0]
        while not isinstance(node, int):
            feature, _, threshold, child = node
            node = self.nodes[child + int(x[feature] > threshold)]
        return node

    def leaf_of_bins(self, bins: list[int]) -> int:
        node = self.nodes[0]
        while not isinstance(node, int):
            feature, last, _, child = node
            node = self.nodes[child + int(bins[feature] > last)]
        return node


@dataclass(eq=False)
class Row:
    raw: NDArray[np.float32]
    bins: list[int]
    label: int
    weight: int
    margin: NDArray[np.int64]
    leaves: dict[Tree, int]


@dataclass(eq=False)
class Part:
    """A leaf of the growing tree."""

    rows: list[int]
    node: int
    depth: int
    G: int
    H: int
    gain: float = 0.0
    feature: int = 0
    bin: int = 0
    left: tuple[int, int] = (0, 0)


def exponentials(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return exp(x) of x ≤ 0, in single precision (expf of Cephes)."""
    x = np.maximum(x, F32(-80.0))
    k = np.floor(x * F32(1.44269504) + F32(0.5))
    r = (x - k * F32(0.693359375)) - k * F32(-2.12194440e-4)
    value = np.full_like(x, F32(1.9875691500e-4))
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2):
        value = value * r + F32(c)
    for c in (1.6666665459e-1, 5.0000001201e-1):
        value = value * r + F32(c)
    return (value * (r * r) + r + F32(1.0)) * np.ldexp(F32(1.0), k.astype(int))


def log(x: float) -> float:
    value = np.array([x])
    fill_logs(value)
    return float(value[0])


def steps(x: float) -> int:
    return int(np.floor(x * STEPS + 0.5))


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """Return the mean of a block of 256 values, and its standard error."""
    total = squares = 0.0
    for value in values:
        total += value
        squares += value * value
    mean = total / 256.0
    return mean, np.sqrt(max(squares / 256.0 - mean * mean, 0.0) / 256.0)


def between(a: F32, b: F32) -> F32:
    middle = F32(0.5 * (float(a) + float(b)))
    return middle if middle < b else a


def find_cuts(values: list[F32], most: int) -> list[F32]:
    """Return cut points: between all neighbours, or `most` of about equal mass."""
    distinct, counts = np.unique(np.array(values, F32), return_counts=True)
    cuts: list[F32] = []
    left, taken = len(values), 0
    for i in range(len(distinct) - 1):
        taken += int(counts[i])
        if len(distinct) <= most + 1 or taken * (most + 1 - len(cuts)) >= left:
            cuts.append(between(distinct[i], distinct[i + 1]))
            left, taken = left - taken, 0
            if len(cuts) == most:
                break
    return cuts


class BoostedTrees:
    def __init__(self, p: int, active: NDArray[np.bool_], seed: int) -> None:
        self.p, self.seed = p, seed
        self.M = len(active)
        self.rank: dict[int, int] = {}
        self.class_weight: list[float] = []
        self.total = 0.0
        self.base: list[int] = []
        self.cuts: list[list[F32]] = [[] for _ in range(p)]
        self.made = [-1] * p
        self.rows: dict[int, Row] = {}
        self.first = self.end = 0
        self.trees: list[Tree] = []
        self.before_change: list[Tree] = []
        self.n_grown = 0
        self.event, self.next_event = -1, 128
        self.losses: list[float] = []
        self.gaps: list[float] = []
        self.reference: tuple[float, float] | None = None
        self.after_cut, self.quiet = False, 0
        self.credit = 0
        self.applying = self.off = False
        self.job = self.work()
        for c in np.flatnonzero(active):
            self.activate(int(c))

    # Scores

    @property
    def C(self) -> int:
        Q = len(self.rank)
        return 1 if Q <= 2 else -(-Q // 4) * 4

    def single(self, x: NDArray[np.float64]) -> NDArray[np.float32]:
        most = float(np.finfo(F32).max) / 2
        return np.clip(x, -most, most).astype(F32)

    def margin(self, leaves: dict[Tree, int]) -> NDArray[np.int64]:
        F = np.zeros(self.C, np.int64)
        if self.C == 1:
            F[0] = self.base[1] - self.base[0]
        else:
            F[: len(self.base)] = self.base
        for tree in self.trees:
            F += tree.values[leaves[tree]]
        return F

    def scores(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        Q, found = len(self.rank), np.zeros(self.M)
        if not self.base:
            logs = (np.array(self.class_weight) + 0.5) / (self.total + 0.5 * Q)
            fill_logs(logs)
        else:
            single = self.single(x)
            F = self.margin({tree: tree.leaf(single) for tree in self.trees})
            logs = F / STEPS
            if self.C == 1:
                logs = np.array([-F[0], F[0]]) / (2.0 * STEPS)
        for c, rank in self.rank.items():
            found[c] = logs[rank]
        return found

    def loss(self, F: NDArray[np.int64], rank: int) -> float:
        if self.C == 1:
            z = float(-F[0] if rank == 1 else F[0]) / STEPS
            e = np.array([-abs(z)])
            fill_exponentials(e, -700.0)
            return max(z, 0.0) + log(1.0 + e[0])
        Q = len(self.rank)
        e = (F[:Q] - F[:Q].max()) / STEPS
        own = float(e[rank])
        fill_exponentials(e, -700.0)
        total = 0.0
        for value in e:
            total += float(value)
        return log(total) - own

    # Learning

    def learn(self, x: NDArray[np.float64], y: int, weight: float) -> None:
        if y not in self.rank:
            self.activate(y)
        rank = self.rank[y]
        self.class_weight[rank] += weight
        self.total += weight
        if self.off:
            return
        single = self.single(x)
        leaves = {tree: tree.leaf(single) for tree in self.trees}
        F = self.margin(leaves) if self.base else np.zeros(self.C, np.int64)
        units = int(np.floor(min(weight, 2.0**20) * 1024.0 + 0.5))
        bins = [self.bin(j, single[j]) for j in range(self.p)]
        self.rows[self.end] = Row(single, bins, rank, units, F.copy(), leaves)
        self.end += 1
        if self.end == self.next_event:
            self.event += 1
            self.next_event = 2 * self.end if 2 * self.end <= 4096 else -1
        if self.base:
            i, n = 2 * len(self.losses), self.end - self.first
            older = [self.rows[self.first + k * n // 512] for k in (i, i + 1)]
            one, two = (min(self.loss(row.margin, row.label), 4.0) for row in older)
            self.losses.append(min(self.loss(F, rank), 4.0))
            self.gaps.append(self.losses[-1] - 0.5 * (one + two))
            if len(self.losses) == 256:
                self.end_block()
        self.credit += 40000 if self.end <= 4096 else 20000
        while self.credit > 0:
            self.credit -= next(self.job)

    def end_block(self) -> None:
        b, error = mean_and_error(self.losses)
        gap, gap_error = mean_and_error(self.gaps)
        self.losses, self.gaps = [], []
        if self.reference is None:
            self.reference = b, gap
            return
        ref, ref_gap = self.reference
        self.reference = ref + 0.1 * (b - ref), ref_gap + 0.1 * (gap - ref_gap)
        changed = self.end >= self.quiet and gap > ref_gap + 3.0 * gap_error
        bad = b > ref + 4.0 * error and b > 1.15 * ref
        self.after_cut = bad and (self.after_cut or changed)
        if self.after_cut:
            self.forget()

    def forget(self) -> None:
        self.stop()
        self.before_change = self.trees
        n = self.end - self.first
        kept = min(n, max(512, n // 4))
        self.drop_before(self.end - kept)
        self.quiet = self.end + kept
        if kept <= 512:
            self.reference, self.after_cut = None, False
        if kept <= 4096:
            self.event += 2
            self.next_event = self.end + 2048

    def stop(self) -> None:
        """Finish a tree that is being applied; discard one that is growing."""
        while self.applying:
            next(self.job)
        self.job = self.work()

    def drop_before(self, row: int) -> None:
        for old in range(self.first, row):
            del self.rows[old]
        self.first = max(self.first, row)

    def activate(self, c: int) -> None:
        before = self.C
        if self.base:
            self.stop()
        self.rank[c] = len(self.rank)
        self.class_weight.append(0.0)
        Q = len(self.rank)
        if Q > 64:
            self.off, self.base, self.trees, self.rows = True, [], [], {}
        elif self.base:
            self.base.append(steps(max(log(0.5 / (self.total + 0.5 * Q)), -20.0)))
            for row in self.rows.values():
                F = np.zeros(self.C, np.int64)
                if before == 1:
                    F[:2] = self.base[0], self.base[0] + row.margin[0]
                else:
                    F[: Q - 1] = row.margin[: Q - 1]
                F[Q - 1] = self.base[-1]
                row.margin = F
            for tree in self.trees:
                values = np.zeros((len(tree.values), self.C), np.int64)
                if before == 1:
                    values[:, 1] = tree.values[:, 0]
                else:
                    values[:, :before] = tree.values
                tree.values = values

    # Bins

    def bin(self, j: int, x: F32) -> int:
        return 0 if np.isnan(x) else 1 + sum(bool(cut < x) for cut in self.cuts[j])

    def first_raw(self) -> int:
        blocks = max(1, min(17, 2**21 // (256 * self.p)))
        newest = (self.end - 1) // BLOCK if self.end > 0 else 0
        return max(self.first, (newest - blocks + 1) * BLOCK)

    def middle(self, j: int, b: int) -> F32:
        cuts, up = self.cuts[j], F32(np.finfo(F32).max)
        if b == 0 or not cuts:
            return F32(np.nan)
        if b == 1:
            return cuts[0]
        if b > len(cuts):
            return F32(np.nextafter(cuts[-1], up))
        return F32(np.nextafter(between(cuts[b - 2], cuts[b - 1]), up))

    def cut(self, j: int) -> None:
        first_raw = self.first_raw()
        values = {
            i: row.raw[j] if i >= first_raw else self.middle(j, row.bins[j])
            for i, row in self.rows.items()
        }
        known = self.end - first_raw
        count = min(known, self.cut_rows())
        sample = [values[first_raw + i * known // count] for i in range(count)]
        most = min(126, max(15, known // 8))
        self.cuts[j] = find_cuts([x for x in sample if not np.isnan(x)], most)
        self.made[j] = self.event
        for i, row in self.rows.items():
            row.bins[j] = self.bin(j, values[i])

    def cut_rows(self) -> int:
        return 512 if self.p > 32 else 2048

    def is_due(self, j: int) -> bool:
        return self.made[j] < 0 or self.event - self.made[j] > int(self.p > 32)

    # The work that rows pay for

    def work(self) -> Iterator[int]:
        """Grow tree after tree; yield the units of each piece of work."""
        while True:
            if not self.base:
                self.drop_before(self.first_raw())
            if self.event < 0 or len(self.rank) < 2:
                yield self.credit
                continue
            if not self.base:
                self.start()
            self.drop_rows()
            features = self.draw_features()
            yield 200 + self.p
            for j in features:
                self.drop_rows()
                if self.is_due(j):
                    self.cut(j)
                    n = self.end - self.first
                    yield 12 * n + 40 * min(n, self.cut_rows())
            self.drop_rows()
            features = [j for j in features if self.cuts[j]]
            if not features:
                yield self.credit
                continue
            m = self.end - self.first
            T = 100
            if self.trees and self.trees[0] in self.before_change:
                T = min(100, max(8, int(np.sqrt(m))))
            old = self.trees[: max(len(self.trees) - T + 1, 0)]
            yield 200
            tree = yield from self.grow(features, m, old)
            yield from self.apply(tree, old)

    def drop_rows(self) -> None:
        self.drop_before(self.end - min(2**17, 2**26 // (self.p + 8 * self.C + 120)))

    def start(self) -> None:
        Q = len(self.rank)
        for n in self.class_weight:
            share = (n + 0.5) / (self.total + 0.5 * Q)
            self.base.append(steps(max(log(share), -20.0)))
        for row in self.rows.values():
            row.margin = self.margin({})

    def draw_features(self) -> list[int]:
        usable = [j for j in range(self.p) if self.cuts[j] or self.is_due(j)]
        if len(usable) <= 32:
            return usable
        for k in range(32):
            counter = np.array([[k], [6], [self.n_grown], [0]], np.uint64)
            philox(counter, self.seed)
            other = k + ((int(counter[0, 0]) * (len(usable) - k)) >> 32)
            usable[k], usable[other] = usable[other], usable[k]
        return sorted(usable[:32])

    def direction(self) -> NDArray[np.float32]:
        """Return u."""
        Q = len(self.rank)
        words, normal = np.empty(Q, np.int32), np.empty(Q)
        fill_feature_words(self.seed, (5 << 40) + self.n_grown, Q, words)
        fill_normal(words, normal)
        return np.clip(0.5 * normal, -1.5, 1.5).astype(F32)

    def gradients(
        self, rows: list[Row], old: list[Tree], unit: float, u: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], list[int], list[int]]:
        """Return P, and g and h as integers."""
        F = np.array(
            [
                row.margin - sum((t.values[row.leaves[t]] for t in old), start=0)
                for row in rows
            ]
        )
        y = np.array([row.label for row in rows])
        if self.C == 1:
            e = exponentials(-np.abs(F[:, 0].astype(F32) * F32(1.0 / STEPS)))
            P = np.where(F[:, 0] < 0, e, F32(1.0)) / (F32(1.0) + e)
            g, h = P - y.astype(F32), P * (F32(1.0) - P)
            P = P[:, None]
        else:
            Q = len(self.rank)
            F = F[:, :Q] - F[:, :Q].max(axis=1, keepdims=True)
            e = exponentials(F.astype(F32) * F32(1.0 / STEPS))
            total = np.zeros(len(rows), F32)
            for c in range(Q):
                total += e[:, c]
            P = e / total[:, None]
            g, h = np.zeros_like(total), np.zeros_like(total)
            for c in range(Q):
                g += u[c] * P[:, c]
                h += u[c] * (u[c] * P[:, c])
            h = np.maximum(h - g * g, F32(0.0))
            g = g - u[y]
        weight = np.array([row.weight for row in rows], F32) * F32(unit / 1024.0)
        rounded = [np.floor(weight * part + F32(0.5)).astype(int) for part in (g, h)]
        return P, rounded[0].tolist(), rounded[1].tolist()

    def grow(
        self, features: list[int], m: int, old: list[Tree]
    ) -> Generator[int, None, Tree]:
        first, C, Q, width = self.first, self.C, len(self.rank), len(features)
        rows = [self.rows[first + i] for i in range(m)]
        n_leaves = int(np.sqrt(float(m) * max(1.0, Q / 6.0)) / 4.0)
        n_leaves = min(127, max(12, n_leaves))
        bound = 3.0 * 4096.0 * (sum(row.weight for row in rows) / 1024.0)
        unit = 4096.0
        while bound > 2.0**31 - m - 1.0:
            bound, unit = bound / 2.0, unit / 2.0
        n_bins = sum(len(self.cuts[j]) + 2 for j in features)
        u = self.direction() if C > 1 else np.zeros(1, F32)
        P, g, h = np.zeros((0, 1), F32), list[int](), list[int]()
        done = 0
        while done < m:
            n = min(BLOCK - (first + done) % BLOCK, m - done)
            more = self.gradients(rows[done : done + n], old, unit, u)
            P = np.vstack([P, more[0]]) if done else more[0]
            g, h = g + more[1], h + more[2]
            done += n
            yield 50 + n * (2 + C + 2 * width)
        tree = Tree()
        parts = [Part(list(range(m)), 0, 0, sum(g), sum(h))]

        def may_split(part: Part) -> bool:
            return part.depth < 14 and 2.0 * unit <= part.H

        self.scan(parts[0], rows, features, g, h, unit)
        yield 300 + 2 * n_bins
        while True:
            best = max(parts, key=lambda part: part.gain)  # the first of equals
            yield 20 + len(parts)
            if best.gain <= 0.0 or len(parts) == n_leaves:
                break
            left, right = self.divide(best, tree, rows, features)
            for start in range(0, len(best.rows), 1024):
                yield 50 + 2 * min(1024, len(best.rows) - start)
            parts[parts.index(best)] = left
            parts.append(right)
            if len(parts) == n_leaves or not (may_split(left) or may_split(right)):
                continue
            smaller = min(len(left.rows), len(right.rows))
            for start in range(0, smaller, BLOCK):
                n = min(BLOCK, smaller - start)
                last = start + n == smaller
                yield n * (2 + width) + (n_bins if last else 0)
            for part in (left, right):
                if may_split(part):
                    self.scan(part, rows, features, g, h, unit)
                    yield 300 + 2 * n_bins
        tree.values = np.zeros((len(parts), C), np.int64)
        for leaf, part in enumerate(parts):
            tree.values[leaf] = self.values(part, rows, P, unit)
            for start in range(0, len(part.rows), BLOCK):
                n = min(BLOCK, len(part.rows) - start)
                yield 30 + n * (2 if C == 1 else 8 + C)
        return tree

    def scan(
        self,
        part: Part,
        rows: list[Row],
        features: list[int],
        g: list[int],
        h: list[int],
        unit: float,
    ) -> None:
        """Find the best split of a part."""
        G, H = float(part.G), float(part.H)
        whole = G * G / (H + unit)
        best = whole + 1e-6 * unit
        for j in features:
            sums = [[0, 0] for _ in range(len(self.cuts[j]) + 2)]
            for i in part.rows:
                sums[rows[i].bins[j]][0] += g[i]
                sums[rows[i].bins[j]][1] += h[i]
            GL = HL = 0
            for b in range(len(self.cuts[j]) + 1):
                GL, HL = GL + sums[b][0], HL + sums[b][1]
                if sums[b] == [0, 0] or unit > HL or unit > H - HL:
                    continue
                gain = float(GL) * GL / (HL + unit)
                gain += (G - GL) * (G - GL) / ((H - HL) + unit)
                if gain > best:
                    best = gain
                    part.gain, part.feature, part.bin = gain - whole, j, b
                    part.left = GL, HL

    def divide(
        self, part: Part, tree: Tree, rows: list[Row], features: list[int]
    ) -> tuple[Part, Part]:
        j, b = part.feature, part.bin
        threshold = self.cuts[j][b - 1] if b > 0 else F32(-np.finfo(F32).max)
        child, number = len(tree.nodes), tree.nodes[part.node]
        tree.nodes[part.node] = (j, b, threshold, child)
        tree.nodes += [number, (child + 1) // 2]
        depth, (G, H) = part.depth + 1, part.left
        lefts = [i for i in part.rows if rows[i].bins[j] <= b]
        rights = [i for i in part.rows if rows[i].bins[j] > b]
        return (
            Part(lefts, child, depth, G, H),
            Part(rights, child + 1, depth, part.G - G, part.H - H),
        )

    def values(
        self, part: Part, rows: list[Row], P: NDArray[np.float32], unit: float
    ) -> NDArray[np.int64]:
        Q, C = len(self.rank), self.C
        rate = min(0.4, 0.1 * np.sqrt(float(Q)))
        found = np.zeros(C, np.int64)
        if C == 1:
            step = -rate * float(part.G) / (float(part.H) + unit)
            found[0] = steps(float(np.clip(step, -2.0, 2.0)))
            return found
        slope, curvature = np.zeros(Q), np.zeros(Q)
        for i in part.rows:
            weight, share = rows[i].weight / 1024.0, P[i].astype(float)
            slope += weight * share
            curvature += weight * share * (1.0 - share)
            slope[rows[i].label] -= weight
        newton = -rate * slope / (curvature * (float(Q) / (Q - 1.0)) + 1.0)
        found[:Q] = np.floor(np.clip(newton, -2.0, 2.0) * STEPS + 0.5)
        return found

    def apply(self, tree: Tree, old: list[Tree]) -> Iterator[int]:
        self.applying = True
        cursor = self.first
        while self.applying:
            stop = min((cursor // BLOCK + 1) * BLOCK, self.end)
            for i in range(cursor, stop):
                row = self.rows[i]
                for other in old:
                    row.margin = row.margin - other.values[row.leaves.pop(other)]
                row.leaves[tree] = tree.leaf_of_bins(row.bins)
                row.margin = row.margin + tree.values[row.leaves[tree]]
            n, cursor = stop - cursor, stop
            if cursor == self.end:
                self.trees = [*self.trees[len(old) :], tree]
                self.n_grown += 1
                self.applying = False
            yield 50 + n * (5 + self.C)
