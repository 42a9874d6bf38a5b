"""A slow twin of the forecast of errors: plain loops over rows, cells and places."""

from fractions import Fraction
from math import ceil, sqrt
from statistics import fmean

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
