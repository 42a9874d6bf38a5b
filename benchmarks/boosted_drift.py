"""Errors and cuts of boosted trees alone, on streams with and without drift.

    python benchmarks/boosted_drift.py [--streams DIR] [--seeds N]

Each line has means over seeds: the error of predictions before each row is learned,
that of the last quarter, how often the window of rows was cut, and how many rows are
kept at the end. The first two streams do not drift; those that do are two of
`evidence/drawn.py` and NAME.npz in DIR.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from evidence.drawn import checks_change, products_change
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.member import MemberRows, Shape
from rpnb.core.pooled.members import boosted_trees as boosted

#: Rows of a call.
BLOCK = 256
Rows = tuple[FloatArray, IntArray]


def floor_sum(rng: np.random.Generator, n: int) -> Rows:
    """Return the parity of the sum of three features, each cut into four parts."""
    X = rng.uniform(size=(n, 10))
    return X, np.floor(4 * X[:, :3]).sum(axis=1).astype(np.int64) % 2


def noisy_xor(rng: np.random.Generator, n: int) -> Rows:
    """Return the parity of the signs of three features, with 5 % noise."""
    X = rng.normal(size=(n, 10))
    y = (X[:, :3] > 0).sum(axis=1) % 2
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


GENERATED: dict[str, tuple[Callable[[np.random.Generator, int], Rows], int]] = {
    "floor_sum": (floor_sum, 105_000),
    "noisy_xor": (noisy_xor, 105_000),
    "checks_change": (checks_change, 75_000),
    "products_change": (products_change, 75_000),
}


def streams(folder: Path | None, seeds: int) -> Iterator[tuple[str, list[Rows]]]:
    """Yield the name of each stream, and its rows for each seed."""
    for name, (draw, n) in GENERATED.items():
        yield name, [draw(np.random.default_rng(seed), n) for seed in range(seeds)]
    for path in sorted(folder.glob("*.npz")) if folder else []:
        with np.load(path) as file:
            X, y = file["X"].astype(float), np.unique(file["y"], return_inverse=True)[1]
        yield path.stem, [(X, y)] * seeds


def measure(X: FloatArray, y: IntArray, seed: int) -> tuple[float, float, int, int]:
    """Return the error, that of the last quarter, the cuts, and the rows kept."""
    (n, p), M = X.shape, int(y.max()) + 1
    shape = Shape(p=p, d=min(p, 32), E=0, dimension=0, D=0, dense=0, window=0)
    state = boosted.begin(shape, np.zeros(M, np.bool_), seed)
    wrong = np.empty(n, np.bool_)
    cuts = kept = 0
    for start in range(0, n, BLOCK):
        part = slice(start, min(start + BLOCK, n))
        rows = len(y[part])
        nothing = np.zeros((rows, 0), np.float32)
        scores = np.zeros((rows, 1, M))
        boosted.learn_rows(
            state,
            MemberRows(np.ascontiguousarray(X[part]), nothing, nothing, nothing),
            y[part],
            np.ones(rows),
            scores,
        )
        wrong[part] = scores[:, 0].argmax(axis=1) != y[part]
        cuts += state.n_rows < 0.9 * kept
        kept = state.n_rows
    return float(wrong.mean()), float(wrong[-n // 4 :].mean()), cuts, kept


def main() -> None:
    """Print one line for each stream."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=Path, help="folder of NAME.npz")
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    print("| stream | error | last quarter | cuts | rows kept |")
    print("|---|--:|--:|--:|--:|")
    for name, drawn in streams(options.streams, options.seeds):
        runs = [measure(X, y, seed) for seed, (X, y) in enumerate(drawn)]
        errors, last, cuts, kept = (
            np.array(column) for column in zip(*runs, strict=True)
        )
        print(
            f"| {name} | {errors.mean():.4f} | {last.mean():.4f} "
            f"| {cuts.mean():.1f} | {kept.mean():,.0f} |"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
