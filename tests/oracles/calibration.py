"""Calibration: plain loops over experts, classes and rows."""

from math import exp, log
from typing import Any

from rpnb.core.conformal import COVERAGES

TEMPERATURES = [2.0**g for g in range(-9, 11)]
# Cells: the width of the first, how many each octave has, and the last one.
UNIT, PARTS, LAST = 32.0, 2, 45
ODDS = [1.0, 2.0, 4.0, 8.0]
SHARE = 0.002


def cell_bounds(number: int) -> tuple[float, float]:
    """Return the edges of a cell, in units of the smallest temperature."""
    edges = [float(i) * UNIT for i in range(2 * PARTS)]
    octave = 2.0 * PARTS * UNIT
    while len(edges) < number + 2:
        edges += [octave * (1.0 + part / PARTS) for part in range(PARTS)]
        octave *= 2.0
    return edges[number], edges[number + 1]


def rounded(u: float) -> float:
    """Return the middle of the cell that u is in."""
    for number in range(LAST + 1):
        low, high = cell_bounds(number)
        if low <= u < high:
            return (low + high) / 2.0
    return sum(cell_bounds(LAST)) / 2.0


def expert(
    differences: list[float | None], leaders: list[int], T: float, odds: float
) -> Any:
    """Return the probability of each class; None stands for one not active."""
    parts = [
        0.0 if d is None else exp(-min(d / T, 700.0)) * (odds if m in leaders else 1.0)
        for m, d in enumerate(differences)
    ]
    return [part / sum(parts) for part in parts]


class Calibration:
    """The mixture of temperatures and the thresholds of prediction sets."""

    def __init__(self, K: float) -> None:
        self.K = K
        self.weights = [[1.0 / 80.0] * 4 for _ in range(20)]
        self.thresholds = [0.0] * len(COVERAGES)
        self.rows = 0

    def _experts(self, differences: list[float | None], leaders: list[int]) -> Any:
        return [
            [expert(differences, leaders, self.K * T, odds) for odds in ODDS]
            for T in TEMPERATURES
        ]

    def predict(self, scores: list[float], active: list[bool]) -> list[float]:
        """Return the probability of each class."""
        known = [s for s, there in zip(scores, active, strict=True) if there]
        if not known:
            return [0.0] * len(scores)
        top = max(known)
        leaders = [m for m, s in enumerate(scores) if active[m] and s == top]
        below = [
            top - s if there else None for s, there in zip(scores, active, strict=True)
        ]
        given = self._experts(below, leaders)
        return [
            sum(
                self.weights[g][b] * given[g][b][m] for g in range(20) for b in range(4)
            )
            for m in range(len(scores))
        ]

    def learn(self, scores: list[float], active: list[bool], y: int) -> None:
        """Learn from a row of class y with these scores before it was learned."""
        if not active[y]:
            return
        top = max(s for s, there in zip(scores, active, strict=True) if there)
        best = next(m for m, s in enumerate(scores) if active[m] and s == top)
        unit = self.K / 512.0
        below = [
            None
            if not there
            else 0.0
            if m == best
            else rounded((top - s) / unit) * unit
            for m, (s, there) in enumerate(zip(scores, active, strict=True))
        ]
        given = self._experts(below, [best])
        new = [
            [self.weights[g][b] * given[g][b][y] for b in range(4)] for g in range(20)
        ]
        p = sum(map(sum, new))
        self.weights = [
            [w / p * (1.0 - SHARE) + SHARE / 80.0 for w in line] for line in new
        ]
        strange = 12.0 if p <= 0.0 else -12.0
        if 0.0 < p < 1.0:
            strange = min(max(log((1.0 - p) / p), -12.0), 12.0)
        step = 0.2
        for c, coverage in enumerate(COVERAGES.tolist()):
            missed = 1.0 if strange > self.thresholds[c] else 0.0
            self.thresholds[c] += step * (missed - (1.0 - coverage))
        self.rows += 1
