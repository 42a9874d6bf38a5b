"""What it costs to learn probabilities from fewer rows.

    python benchmarks/calibration_rows.py --data FOLDER --streams FOLDER [--rows N]

Datasets and streams are those of `trust.py`, of 1,000 rows and more. The scores before
each row are computed once; the mixture of temperatures then learns from the first rows
and one in so many of the others. Each line has a choice of rows: the share of rows
used, the logarithmic loss as a multiple of what all rows give (geometric mean over the
datasets, and the worst), and the calibration error (mean).
"""

import argparse
from pathlib import Path

import numpy as np

from rpnb._core.streams import CELL_WIDTH, write_codes
from rpnb.core.calibration.cells import smallest_temperature
from rpnb.core.calibration.mixture import learn_all_codes, mix_rows, new_calibration
from rpnb.core.kernels.arrays import FloatArray, IntArray
from trust import Figures, figures_of, scores_before, sources

_K = 200.0
_CHOICES = ((1, 1), (512, 4), (512, 8), (512, 16), (512, 23), (512, 64), (64, 23))


def figures_with(scores: FloatArray, y: IntArray, first: int, every: int) -> Figures:
    """Return the figures if the first rows and one in `every` others are learned."""
    number = np.arange(len(y))
    chosen = (number < first) | (number % every == 0)
    scale = 1.0 / (CELL_WIDTH * smallest_temperature(_K))
    M = scores.shape[1]
    P, codes = np.empty_like(scores), np.empty((1, M), np.int16)
    smallest, active = smallest_temperature(_K), np.ones(M, np.bool_)
    calibration, best = new_calibration(), scores.argmax(axis=1)
    for i in range(len(y)):
        row = slice(i, i + 1)
        mix_rows(calibration.weights, scores[row], smallest, P[row])
        if chosen[i]:
            write_codes(scores[row], active, best[row], scale, codes)
            learn_all_codes(calibration, codes, y[row])
    return figures_of(P, y)


def main() -> None:
    """Print one line per choice of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--rows", type=int, default=20_000)
    given = parser.parse_args()
    found = []
    shares = []
    for _, X, y in sources(given.data, given.streams, given.rows):
        if len(y) >= 1000:
            scores = scores_before(X, y, int(y.max()) + 1)
            found.append([figures_with(scores, y, *choice) for choice in _CHOICES])
            used = [min(f + (len(y) - f) / every, len(y)) for f, every in _CHOICES]
            shares.append(np.array(used) / len(y))
    for c, (first, every) in enumerate(_CHOICES):
        ratios = np.array([row[c].log_loss / row[0].log_loss for row in found])
        error = np.mean([row[c].calibration for row in found])
        print(
            f"first {first:4}, then one in {every:2}: {np.mean(shares, axis=0)[c]:.3f} "
            f"of the rows; log-loss {np.exp(np.log(ratios).mean()):.3f}, at most "
            f"{ratios.max():.2f}; calibration error {error:.3f}"
        )


if __name__ == "__main__":
    main()
