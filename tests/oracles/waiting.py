"""The forecast of errors: plain loops over rows, cells and places."""

from fractions import Fraction
from math import ceil, log, sqrt
from statistics import fmean, pstdev

from scipy.stats import norm, t

CORRECTIONS = [(0, 0.0), (500, 0.5), (500, 1.0), (2000, 0.5), (2000, 1.0)]


def cell(c: float) -> int:
    """Return the number of the twentieth that a probability is in."""
    return min(int(c * 20), 19)


def mistake(c: float) -> float:
    """Return the probability of a mistake, rounded to 2^-20."""
    return float(1 - Fraction(round(c * 2**20), 2**20))


def forecast(
    seen: list[tuple[float, bool]], ahead: list[float], last: int, share: float
) -> float:
    """Forecast the error of rows ahead, corrected by the last rows seen."""
    if last == 0:
        return fmean(mistake(c) for c in ahead)
    used = seen[max(len(seen) - last, 0) :]
    gaps = [wrong - mistake(c) for c, wrong in used]
    shift = sum(gaps) / (50 + len(used))
    total = 0.0
    for b in range(20):
        rows = [mistake(c) for c in ahead if cell(c) == b]
        here = [g for g, (c, _) in zip(gaps, used, strict=True) if cell(c) == b]
        if rows:
            correction = (sum(here) + 20 * shift) / (len(here) + 20)
            error = min(max(fmean(rows) + share * correction, 0.0), 1.0)
            total += len(rows) * error
    return total / len(ahead)


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
    residuals: list[list[float]] = [[] for _ in CORRECTIONS]
    place = len(seen) - width
    while place >= 250:
        after = seen[place : place + width]
        true = fmean(wrong for _, wrong in after)
        for column, (last, share) in zip(residuals, CORRECTIONS, strict=True):
            ahead = [c for c, _ in after]
            column.append(true - forecast(seen[:place], ahead, last, share))
        place -= stride
    n = len(residuals[0])
    if n == 0:
        return forecast(seen, waiting, 0, 0.0), 0.0, 1.0, 0.0
    m = min(1 + (n - 1) * stride / width, n)
    means = [fmean(map(abs, column)) for column in residuals]
    best = means.index(min(means))
    error = forecast(seen, waiting, *CORRECTIONS[best])
    if m < 5:
        return error, 0.0, 1.0, m
    absolute = sorted(map(abs, residuals[best]))
    place = min(ceil(min(coverage * (m + 1) / m, 1.0) * n), n)
    seen_half = absolute[place - 1]
    if m < 1 / (1 - coverage) - 1:
        seen_half *= 1 / ((1 - coverage) * (m + 1))
    spread = sqrt(fmean(r * r for r in residuals[best]))
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
