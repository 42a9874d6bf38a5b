"""Which rows to ask for, as `rpnb.core.asking` draws them, in Python's numbers."""

from collections.abc import Sequence

_WORD = 2**64


def mix(x: int) -> int:
    """SplitMix64's finaliser, in Python's integers."""
    x = x * 0x9E3779B97F4A7C15 % _WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % _WORD
    return x ^ (x >> 31)


def uniform(seed: int, row: int) -> float:
    """The draw of a row, from 0."""
    return float(mix((row + 1) ^ mix(seed % _WORD)) >> 11) / 2.0**53


def asked_rows(
    doubt: Sequence[float], budget: float, share: float, seed: int
) -> tuple[list[bool], list[float]]:
    """Whether each row of a stream is asked for, and with which probability."""
    asked: list[bool] = []
    chances: list[float] = []
    mean = 0.0
    balance = 20.0
    for row, q in enumerate(doubt):
        if row < 10 or budget == 1.0:
            p = 1.0
        elif balance <= -10.0:
            odds = 0.25 * share * budget
            p = odds / (1.0 - budget + odds)
        else:
            rate = balance / 10.0
            rate = 0.25 if rate < 0.25 else 4.0 if rate > 4.0 else rate
            relative = 1.0 if mean == 0.0 else min(q * q / mean, 1000.0)
            odds = rate * (share + (1.0 - share) * relative) * budget
            p = odds / (1.0 - budget + odds)
        chances.append(p)
        asked.append(uniform(seed, row) < p)
        balance = balance + budget - asked[-1]
        mean += (q * q - mean) / min(row + 1, 1000)
    return asked, chances
