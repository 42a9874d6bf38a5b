"""Processor time of the pooled classifier: a row, its parts, the start, single rows.

    python benchmarks/bench_pooled.py --data FOLDER --streams FOLDER [--names letter]

All rows of a dataset are learnt, test then train, in one thread, from a warm cache; the
best of a few runs counts. `start` is the time of the first 1,000 rows, `one` the median
time of `predict_one` and `learn_one` of a row, `most` the longest single call of either
after row 256.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pooled_accuracy import read_stream, read_table
from rpnb import PooledClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled import engine, pool

NAMES = ["letter", "penbased", "isolet", "skin_nonskin", "elec2"]


def timed_run(X: FloatArray, y: IntArray, names: list[str]) -> float:
    """Return the seconds that learning all rows takes."""
    M = int(y.max()) + 1
    model = engine.new_model(names, X.shape[1], 512, 0, np.ones(M, np.bool_), 0)
    labels, nothing = np.empty(len(y), np.int64), np.zeros((0, 0))
    start = time.process_time()
    engine.run(model, X, y, np.ones(len(y)), labels, nothing)
    return time.process_time() - start


def parts(X: FloatArray, y: IntArray, names: list[str]) -> dict[str, float]:
    """Return the µs a row that each part takes, by timing their calls."""
    used: dict[str, float] = defaultdict(float)

    def watch(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.process_time()
            try:
                return function(*arguments)
            finally:
                used[name] += time.process_time() - start

        return call

    saved = []
    places: list[tuple[Any, str, str]] = [
        (module, "learn_rows", name) for name, module in engine.MEMBERS.items()
    ]
    places += [(engine, "_prepare", "features"), (pool, "pool_rows", "pool")]
    for holder, attribute, name in places:
        function = getattr(holder, attribute)
        saved.append((holder, attribute, function))
        setattr(holder, attribute, watch(name, function))
    try:
        timed_run(X, y, names)
    finally:
        for holder, attribute, function in saved:
            setattr(holder, attribute, function)
    return {name: seconds / len(y) * 1e6 for name, seconds in used.items()}


def one_row(X: FloatArray, y: IntArray) -> tuple[float, float]:
    """Return the median µs of predicting and learning a row, and the longest ms."""
    model = PooledClassifier(random_state=0)
    model.partial_fit(X[:256], y[:256], classes=np.unique(y))
    model.predict_one(X[0])  # compile
    both, longest = [], 0.0
    for x, label in zip(X[256:2500], y[256:2500], strict=True):
        first = time.process_time()
        model.predict_one(x)
        second = time.process_time()
        model.learn_one(x, label)
        third = time.process_time()
        both.append(third - first)
        longest = max(longest, second - first, third - second)
    return float(np.median(both)) * 1e6, longest * 1e3


def main() -> None:
    """Print one line for each dataset."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--names", nargs="*", default=NAMES)
    parser.add_argument("--without", nargs="*", default=[], help="members to leave out")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    names = [name for name in engine.MEMBERS if name not in options.without]
    for name in options.names:
        table = options.data / f"{name}.csv.gz" if options.data else None
        if table is not None and table.exists():
            X, y = read_table(table)
            order = np.random.default_rng(0).permutation(len(y))
            X, y = X[order], y[order]
        else:
            X, y = read_stream(options.streams / f"{name}.npz")
        timed_run(X[:3000], y[:3000], names)  # compile
        whole = min(timed_run(X, y, names) for _ in range(options.repeats))
        start = min(timed_run(X[:1000], y[:1000], names) for _ in range(3))
        single, longest = one_row(X, y)
        print(
            f"{name:14s} {whole / len(y) * 1e6:6.1f} µs  start {start:.3f} s  "
            f"one {single:.0f} µs  most {longest:.1f} ms"
        )
        each = parts(X, y, names)
        print("   " + "  ".join(f"{part} {us:.2f}" for part, us in each.items()))


if __name__ == "__main__":
    main()
