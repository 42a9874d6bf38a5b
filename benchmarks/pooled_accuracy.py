"""Error of the pooled classifier, test then train, compared with its design.

    python benchmarks/pooled_accuracy.py --data FOLDER --streams FOLDER

`--data` holds NAME.csv.gz, a header and the label last; of each, the first rows of a
few permutations are learned. `--streams` holds NAME.npz with X and y, in their own
order, and may hold peers.csv (stream, learner, error). Each line has the error, that of
the design, the calibration error of the probabilities predicted before a row is
learned, µs of processor time per row, and with `--members` the errors of the members
alone.
"""

import argparse
import csv
import gzip
import time
from pathlib import Path

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.engine import run
from rpnb.core.pooled.model import MEMBERS, PooledModel, new_model

# Errors of the design: the first 8,000 rows, mean of three permutations; streams whole.
DESIGN = {
    "breast_cancer": 0.032, "breast_tissue": 0.387, "chess_krvk": 0.526,
    "conn_bench_vowel": 0.142, "contraceptive": 0.472, "ecoli": 0.165,
    "hayes_roth": 0.246, "ionosphere": 0.082, "iris": 0.064, "isolet": 0.079,
    "led7digit": 0.309, "letter": 0.148, "madelon": 0.444, "marketing": 0.673,
    "monk_2": 0.032, "multiple_features": 0.032, "musk1": 0.158, "musk2": 0.042,
    "nursery": 0.041, "optdigits": 0.027, "optical": 0.031, "penbased": 0.016,
    "satimage": 0.109, "skin_nonskin": 0.0041, "soybean": 0.171, "tae": 0.503,
    "tic_tac_toe": 0.071, "twonorm": 0.025, "vertebral": 0.175,
    "waveform_w_noise": 0.155, "waveform_wo_noise": 0.146, "zoo": 0.112,
    "agrawal_drift": 0.105, "chessboard": 0.031, "elec2": 0.059, "hyperplane": 0.094,
    "led_drift": 0.273, "rbf_drift": 0.140, "sea_abrupt": 0.118, "weather": 0.190,
}  # fmt: skip
_BINS = 15


def read_table(path: Path) -> tuple[FloatArray, IntArray]:
    """Return rows and class numbers of a CSV file whose last column is the label."""
    with gzip.open(path, "rt") as file:
        lines = list(csv.reader(file))[1:]
    X = np.array([line[:-1] for line in lines], np.float64)
    labels = np.array([line[-1] for line in lines])
    return X, np.unique(labels, return_inverse=True)[1]


def read_stream(path: Path) -> tuple[FloatArray, IntArray]:
    """Return rows and class numbers of a stream."""
    arrays = np.load(path)
    return (
        np.ascontiguousarray(arrays["X"], np.float64),
        np.unique(arrays["y"], return_inverse=True)[1],
    )


def calibration_error(
    log_posteriors: FloatArray, labels: IntArray, y: IntArray
) -> float:
    """Return the expected calibration error of the predicted class, 15 equal bins."""
    confidence = np.exp(log_posteriors.max(axis=1))
    bins = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    gap = np.bincount(bins, confidence - (labels == y), _BINS)
    return float(np.abs(gap).sum() / len(y))


def measure(
    X: FloatArray, y: IntArray, names: list[str], seed: int, D: int
) -> tuple[float, float, float, PooledModel]:
    """Return error, calibration error, µs per row, and the model."""
    M = int(y.max()) + 1
    model = new_model(names, X.shape[1], D, 0, np.ones(M, np.bool_), seed)
    labels, logs = np.empty(len(y), np.int64), np.empty((len(y), M))
    start = time.process_time()
    run(model, X, y, np.ones(len(y)), labels, logs)
    used = time.process_time() - start
    error = float(np.mean(labels != y))
    return error, calibration_error(logs, labels, y), used / len(y) * 1e6, model


def peers_of(folder: Path, stream: str) -> str:
    """Return the errors of other learners on a stream, if they are known."""
    path = folder / "peers.csv"
    if not path.exists():
        return ""
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["stream"] == stream]
    return "  ".join(f"{row['learner']} {float(row['error']):.3f}" for row in rows)


def main() -> None:
    """Print one line for each dataset and stream."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--names", nargs="*", help="only these datasets and streams")
    parser.add_argument("--without", nargs="*", default=[], help="members to leave out")
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--permutations", type=int, default=3)
    parser.add_argument("--projections", type=int, default=512)
    parser.add_argument("--members", action="store_true", help="their errors as well")
    options = parser.parse_args()
    names = [name for name in MEMBERS if name not in options.without]
    ratios, calibration, worse = [], [], []
    jobs = []
    if options.data:
        jobs += [(path, True) for path in sorted(options.data.glob("*.csv.gz"))]
    if options.streams:
        jobs += [(path, False) for path in sorted(options.streams.glob("*.npz"))]
    for path, shuffled in jobs:
        name = path.name.split(".")[0]
        if options.names and name not in options.names:
            continue
        X, y = (read_table if shuffled else read_stream)(path)
        results = []
        for seed in range(options.permutations if shuffled else 1):
            rows = np.arange(len(y))
            if shuffled:
                rows = np.random.default_rng(seed).permutation(len(y))[: options.rows]
            results.append(measure(X[rows], y[rows], names, seed, options.projections))
        error, gap, used = np.mean([result[:3] for result in results], axis=0)
        design = DESIGN.get(name, np.nan)
        ratios.append(np.log(error / design))
        calibration.append(gap)
        if error > design:
            worse.append(name)
        line = f"{name:20s} {error:.4f} {design:.4f} {error / design:5.2f} "
        line += f"ece {gap:.3f} {used:6.1f} µs"
        if options.members:
            pool = results[-1][3].pool
            each = (pool.mistakes / pool.weight).round(3)
            outputs = [*results[-1][3].outputs, "pool"]
            line += f" {dict(zip(outputs, each.tolist(), strict=True))}"
        if not shuffled:
            line += "  " + peers_of(options.streams, name)
        print(line, flush=True)
    known = [ratio for ratio in ratios if np.isfinite(ratio)]
    print(
        f"geometric mean of error / design: {np.exp(np.mean(known)):.4f}; worse on "
        f"{len(worse)} of {len(known)}: {', '.join(worse)}; mean calibration error "
        f"{np.mean(calibration):.4f}"
    )


if __name__ == "__main__":
    main()
