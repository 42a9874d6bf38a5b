"""False alarms of confidence sequences for two learners, inspected after every row.

    python benchmarks/anytime_valid.py [--streams 2000] [--rows 10000]

First table: pairs of learners whose expected losses are equal in every row. For each
kind of stream, the share of streams in which the 95 % interval of
`rpnb.evaluate.differences` excludes 0 after any row; and for comparison, the share in
which the ordinary 95 % interval of a mean does so, after any row from the 100th on, and
after the last row only.

Second table: pairs that do differ. The number of rows after which the interval excluded
0 (median over streams), and the number that an ordinary test of fixed size needs (95 %
confidence, 50 % power).
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.differences import Loss, difference_of

CONFIDENCE = 0.95
QUANTILE = 1.96
FIRST = 100
"""first row after which the ordinary interval is inspected"""

Losses = tuple[FloatArray, FloatArray]
Draw = Callable[[np.random.Generator, int], Losses]


def errors(rate: float, shared: float = 0.0) -> Draw:
    """Return a draw of errors; a share of the rows has the same error for both."""

    def draw(rng: np.random.Generator, rows: int) -> Losses:
        A, B = rng.random((2, rows)) < rate
        same = rng.random(rows) < shared
        return A.astype(np.float64), np.where(same, A, B).astype(np.float64)

    return draw


def jumping(rng: np.random.Generator, rows: int) -> Losses:
    """Return errors whose common rate jumps from 0.05 to 0.5 and back."""
    rate = np.where(np.arange(rows) // (rows // 4) % 2 == 0, 0.05, 0.5)
    A, B = rng.random((2, rows)) < rate
    return A.astype(np.float64), B.astype(np.float64)


def following(rng: np.random.Generator, rows: int) -> Losses:
    """Return errors whose rate is high after a row in which they differ."""
    uniform = rng.random((2, rows))
    found = np.zeros((2, rows))
    rate = 0.05
    for i in range(rows):
        A, B = uniform[:, i] < rate
        found[:, i] = A, B
        rate = 0.4 if A != B else 0.05
    return found[0], found[1]


def log_losses(rng: np.random.Generator, rows: int) -> Losses:
    """Return losses with a long tail, larger for one learner in half of the rows."""
    high, low = rng.exponential([[2.0], [0.2]], (2, rows))
    swapped = rng.random(rows) < 0.5
    return np.where(swapped, low, high), np.where(swapped, high, low)


EQUAL: dict[str, tuple[Loss, Draw]] = {
    "errors of 50 %": ("error", errors(0.5)),
    "errors of 20 %": ("error", errors(0.2)),
    "errors of 1 %": ("error", errors(0.01)),
    "errors of 20 %, half of them shared": ("error", errors(0.2, 0.5)),
    "errors whose rate jumps": ("error", jumping),
    "errors that follow differences": ("error", following),
    "log-losses": ("log_loss", log_losses),
}
DIFFERENT = ((0.20, 0.15), (0.20, 0.18), (0.05, 0.04), (0.02, 0.01))


def ordinary(losses: Losses) -> FloatArray:
    """Return, after each row, mean over standard error of the mean."""
    D = losses[0] - losses[1]
    rows = np.arange(1, len(D) + 1)
    mean = np.cumsum(D) / rows
    variance = np.maximum(np.cumsum(D**2) / rows - mean**2, 1e-12)
    return np.abs(mean) / np.sqrt(variance / rows)


def equal(rows: int, streams: int) -> Iterator[tuple[str, float, float, float]]:
    """Yield shares of streams with a false alarm, for each kind."""
    for number, (name, (loss, draw)) in enumerate(EQUAL.items()):
        rng = np.random.default_rng(number)
        counts = np.zeros(3)
        for _ in range(streams):
            losses = draw(rng, rows)
            found = difference_of(("A", "B"), loss, losses, CONFIDENCE)
            z = ordinary(losses)
            counts += (
                bool(np.any((found.low > 0.0) | (found.high < 0.0))),
                bool(np.any(z[FIRST - 1 :] > QUANTILE)),
                bool(z[-1] > QUANTILE),
            )
        yield (name, *(counts / streams).tolist())


def different(rows: int, streams: int) -> Iterator[tuple[str, float, float]]:
    """Yield rows until a difference is clear, for each pair of error rates."""
    for number, (p, q) in enumerate(DIFFERENT):
        rng = np.random.default_rng(100 + number)
        needed = []
        for _ in range(streams):
            A, B = (rng.random((2, rows)) < [[p], [q]]).astype(np.float64)
            found = difference_of(("A", "B"), "error", (A, B), CONFIDENCE)
            clear = np.flatnonzero((found.low > 0.0) | (found.high < 0.0))
            needed.append(float(clear[0] + 1) if len(clear) else np.inf)
        fixed = QUANTILE**2 * (p * (1 - p) + q * (1 - q)) / (p - q) ** 2
        yield f"{p:.2f} and {q:.2f}", float(np.median(needed)), fixed


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    print("| equal learners | ours, any row | ordinary, any row | ordinary, last row |")
    print("|---|---:|---:|---:|")
    for name, *shares in equal(options.rows, options.streams):
        cells = (f"{100.0 * share:.2f} %" for share in shares)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("\n| error rates | rows until clear | rows, fixed in advance |")
    print("|---|---:|---:|")
    for name, needed, fixed in different(20 * options.rows, options.streams // 20):
        print(f"| {name} | {needed:,.0f} | {fixed:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
