"""The forecast of errors: plain loops over rows and places."""

from fractions import Fraction
from math import ceil, log, sqrt
from statistics import fmean, pstdev

from scipy.stats import norm, t


def mistake(c: float) -> float:
    """Return the probability of a mistake, rounded to 2^-20."""
    return float(1 - Fraction(round(c * 2**20), 2**20))


def forecasts(seen: list[tuple[float, bool]], ahead: list[float]) -> list[float]:
    """Forecast the error of rows ahead in five ways."""
    mean = fmean(mistake(c) for c in ahead)
    corrected, observed = [], []
    for used in (seen[-250:], seen):
        error = fmean(wrong for _, wrong in used) if used else 0.0
        probability = fmean(mistake(c) for c, _ in used) if used else 0.0
        corrected.append(min(max(mean + error - probability, 0.0), 1.0))
        observed.append(error)
    return [mean, *corrected, *observed]


def weighted(values: list[float], weights: list[float]) -> float:
    """Return the weighted mean of values."""
    total = sum(weights)
    return sum(v * w / total for v, w in zip(values, weights, strict=True))


def expected(
    seen: list[tuple[float, bool]],
    waiting: list[float],
    history: int = 20_000,
    coverage: float = 0.95,
) -> tuple[float, float, float, float]:
    """Return the expected error, its band, and how many windows that rests on."""
    seen = seen[-history:]
    W = len(waiting)
    width = min(max(W, 50), max(history // 10, 50))
    stride = max(width // 4, 25)
    residuals: list[list[float]] = []
    place = len(seen) - width
    while place >= 250:
        after = seen[place : place + width]
        true = fmean(wrong for _, wrong in after)
        tried = forecasts(seen[:place], [c for c, _ in after])
        residuals.append([true - each for each in tried])
        place -= stride
    n = len(residuals)
    if n == 0:
        return forecasts(seen, waiting)[0], 0.0, 1.0, 0.0
    m = min(1 + (n - 1) * stride / width, n)
    squares = [fmean(row[k] ** 2 for row in residuals) for k in range(5)]
    weights = [1 / (1 / width**2 + each) for each in squares]
    error = weighted(forecasts(seen, waiting), weights)
    if m < 5:
        return error, 0.0, 1.0, m
    mixed = [weighted(row, weights) for row in residuals]
    absolute = sorted(map(abs, mixed))
    place = min(ceil(min(coverage * (m + 1) / m, 1.0) * n), n)
    seen_half = absolute[place - 1]
    if m < 1 / (1 - coverage) - 1:
        seen_half *= 1 / ((1 - coverage) * (m + 1))
    spread = sqrt(fmean(r * r for r in mixed))
    half = max(seen_half, t.ppf((1 + coverage) / 2, m) * spread)
    half *= sqrt(max(W / width, 1.0))
    chance = norm.ppf((1 + coverage) / 2) * sqrt(error * (1 - error) / W)
    half = max(half, chance)
    return error, max(error - half, 0.0), min(error + half, 1.0), m


class PriorCorrection:
    """The correction of priors: one row at a time, lists of all rows."""

    def __init__(self) -> None:
        self.given: list[list[float]] = []
        self.ratios: list[list[float] | None] = []
        self.shares: list[float] = []
        self.expected: list[list[float]] = []
        self.gains: list[list[float]] = []

    def correct(self, p: list[float]) -> list[float]:
        """Return the corrected probabilities of the next row."""
        row = len(self.given)
        if row % 50 == 0:
            self.now = self._estimate()
        ratio, share = self.now
        self.given.append(p)
        self.ratios.append(ratio)
        return p if ratio is None or share == 0.0 else _multiplied(p, ratio, share)

    def _estimate(self) -> tuple[list[float] | None, float]:
        if len(self.given) < 500 or len(self.expected) < 500:
            return None, 0.0
        seen, last = self.expected[-1000:], self.given[-500:]
        M = len(last[0])
        pi = [(1 + sum(p[m] for p in seen)) / (len(seen) + M) for m in range(M)]
        q = list(pi)
        for _ in range(10):
            ratio = [q[m] / pi[m] for m in range(M)]
            parts = [_multiplied(p, ratio, 1.0) for p in last]
            q = [(1 + sum(r[m] for r in parts)) / (len(last) + M) for m in range(M)]
        return [q[m] / pi[m] for m in range(M)], self._share()

    def _share(self) -> float:
        gains = self.gains[-5000:]
        if len(gains) < 500:
            return 0.0
        gains = gains[len(gains) % 50 :]
        found = []
        for k in range(4):
            means = [
                fmean(g[k] for g in gains[i : i + 50]) for i in range(0, len(gains), 50)
            ]
            found.append(fmean(means) - 2 * pstdev(means) / sqrt(len(means)))
        best = max(found)
        return [0.25, 0.5, 0.75, 1.0][found.index(best)] if best > 0 else 0.0

    def add_labelled(self, row: int, label: int) -> None:
        """Add the label of a row."""
        p, ratio = self.given[row], self.ratios[row]
        self.expected.append(p)
        if ratio is not None:
            before = log(max(p[label], 1e-6))
            self.gains.append(
                [
                    log(max(_multiplied(p, ratio, g)[label], 1e-6)) - before
                    for g in (0.25, 0.5, 0.75, 1.0)
                ]
            )


def _multiplied(p: list[float], ratio: list[float], share: float) -> list[float]:
    """Return probabilities times powers of ratios, which sum to 1."""
    found = [a * r**share for a, r in zip(p, ratio, strict=True)]
    return [each / sum(found) for each in found]
