"""Time and memory of the pooled classifier: rows, members, start, single calls.

    python benchmarks/bench_pooled.py --data FOLDER --streams FOLDER [--names letter]

All rows of a dataset, or the first `--rows` in a fixed random order, are learned, test
then train, in one thread; the best of a few runs counts. Times are processor times.
`start` is the time of the first 1,000 rows, `one` the median time of `predict_one` and
`learn_one` for a row, `most` the longest single call of either after row 256, `MB` the
size of the model after all rows. Streams are NAME.npz in one of the folders. Below each
line is the time, in µs per row, of each member alone, learning all but the first 256
rows, and of the features that they read; the rest is the pool. The first line shows the
speed of the machine. Run it without a limit of processor time (`ulimit -t`): with one,
Linux updates the clock every 4 ms only.

    python benchmarks/bench_pooled.py --full

prints the times of single calls where boosted trees keep as many rows as they may: rows
76,000 to 140,000 of clusters of several shapes, one by one.

    python benchmarks/bench_pooled.py --kernels

prints the time of products and factorisations of matrices, for 528 columns of φ and 26
classes, and their multiply-adds per second relative to NumPy's matrix product in single
precision, in one thread, measured in the same run. Products for A are sums of integers,
which are at least twice as fast; scores are in single precision, the others in double,
which is half as fast.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from evidence.measuring import import_seconds
from pooled_accuracy import read_stream, read_table
from pooled_memory import size_of_model
from rpnb import PooledClassifier
from rpnb._core import algebra
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled import engine
from rpnb.core.pooled.model import MEMBERS, new_model

NAMES = ["letter", "penbased", "isolet", "skin_nonskin", "elec2"]
#: Rows after which the scale is fixed, and rows per call of a member.
FIRST_ROWS, BLOCK_ROWS = 256, 2048
#: Rows of `--full`, which end after the limit of 131,072 rows, and (p, M).
FULL_ROWS = 76_000, 140_000
FULL_SHAPES = ((16, 26), (32, 50), (617, 26))


def timed_run(X: FloatArray, y: IntArray, names: list[str]) -> tuple[float, float]:
    """Return the seconds for learning all rows, and the megabytes of the model."""
    M = int(y.max()) + 1
    model = new_model(names, X.shape[1], 512, 0, np.ones(M, np.bool_), 0)
    labels, nothing = np.empty(len(y), np.int64), np.zeros((0, 0))
    start = time.process_time()
    engine.run(model, X, y, np.ones(len(y)), labels, nothing)
    return time.process_time() - start, size_of_model(model) / 1e6


def parts(X: FloatArray, y: IntArray, names: list[str]) -> dict[str, float]:
    """Return the µs per row of each member alone, and of the features.

    The scale is that of the first 256 rows, which members have learned before.
    """
    M = int(y.max()) + 1
    model = new_model(names, X.shape[1], 512, 0, np.ones(M, np.bool_), 0)
    weight, labels = np.ones(len(y)), np.empty(len(y), np.int64)
    first = slice(FIRST_ROWS)
    engine.run(
        model, X[first], y[first], weight[first], labels[first], np.zeros((0, 0))
    )
    used = dict.fromkeys(["features", *model.names], 0.0)
    for begin in range(FIRST_ROWS, len(y), BLOCK_ROWS):
        block = slice(begin, begin + BLOCK_ROWS)
        start = time.process_time()
        rows = engine.prepare_rows(model, X[block])
        used["features"] += time.process_time() - start
        for name, module, state in zip(
            model.names, model.modules, model.states, strict=True
        ):
            scores = np.zeros((len(rows.raw), len(module.OUTPUTS), M))
            start = time.process_time()
            module.learn_rows(state, rows, y[block], weight[block], scores)
            used[name] += time.process_time() - start
    n = max(len(y) - FIRST_ROWS, 1)
    return {name: seconds / n * 1e6 for name, seconds in used.items()}


def one_row(X: FloatArray, y: IntArray) -> tuple[float, float]:
    """Return the median µs of predicting and learning a row, and the longest ms."""
    model = PooledClassifier(random_state=0)
    model.partial_fit(X[:256], y[:256], classes=np.unique(y))
    calls = timed_calls(model, zip(X[256:2500], y[256:2500], strict=True))
    return float(np.median(calls.sum(axis=1))) * 1e6, float(calls.max()) * 1e3


def timed_calls(
    model: PooledClassifier, rows: Iterable[tuple[FloatArray, Any]]
) -> FloatArray:
    """Return the seconds (n, 2) of predicting each row and of learning it."""
    found = []
    for x, label in rows:
        first = time.process_time()
        model.predict_one(x)
        second = time.process_time()
        model.learn_one(x, label)
        found.append((second - first, time.process_time() - second))
    return np.array(found)


def clusters(p: int, M: int) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield blocks of 1,000 rows of four overlapping clusters for each class."""
    rng = np.random.default_rng([p, M])
    centres, labels = rng.standard_normal((4 * M, p)), np.arange(4 * M) % M
    while True:
        k = rng.integers(0, 4 * M, 1000)
        yield centres[k] + 2.0 * rng.standard_normal((1000, p)), labels[k]


def full() -> None:
    """Print the times of single calls with as many rows as boosted trees keep."""
    first, last = (n // 1000 for n in FULL_ROWS)
    for p, M in FULL_SHAPES:
        model, calls = PooledClassifier(random_state=0), []
        for at, (X, y) in enumerate(islice(clusters(p, M), last)):
            if at < first:
                model.partial_fit(X, y, classes=np.arange(M))
            else:
                calls.append(timed_calls(model, zip(X, y, strict=True)))
        both = np.concatenate(calls)
        each = 1e3 * both.max(axis=1)
        print(
            f"{p} features, {M} classes: one {1e6 * np.median(both.sum(axis=1)):.0f} µs"
            f"  99.9 % of calls up to {np.quantile(each, 0.999):.2f} ms"
            f"  most {each.max():.2f} ms  {size_of_model(model._state) / 1e6:.1f} MB",
            flush=True,
        )


def least(work: Callable[[], Any], repeats: int = 30) -> float:
    """Return the fewest seconds of processor time, not counting the first call."""
    work()
    used = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        used.append(time.process_time() - start)
    return min(used)


def rate_of_products(side: int = 1024) -> float:
    """Return NumPy's multiply-adds per second, in single precision and one thread."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, side, side)).astype(np.float32)
    out = np.empty_like(A)
    with threadpool_limits(1, "blas"):
        return side**3 / least(lambda: np.matmul(A, B, out=out))


def kernels() -> None:
    """Print the time of single kernels, and their multiply-adds per second."""
    E, M, C, group = 528, 26, 32, 128
    rng = np.random.default_rng(0)
    rate = rate_of_products()
    print(f"NumPy's product, single precision, one thread: {rate / 1e9:.1f} G/s")
    phi = np.maximum(rng.standard_normal((group, E)), 0.0).astype(np.float32)
    phi = np.round(128 * phi) / np.float32(128)
    packed = np.zeros((E // 16, group, 16), np.float32)
    for r in range(group):
        algebra.pack_row(phi[r], packed, r)
    # The identity, as the lower triangle of 16 × 16 blocks.
    A = np.zeros(128 * (E // 16) * (E // 16 + 1))
    for H in range(E // 16):
        first = 128 * H * (H + 3)
        A[first : first + 256 : 17] = 1.0
    algebra.add_exact_products(A, packed, 0, group)
    work, sums = A.copy(), A.copy()
    means = rng.standard_normal((E // 16, M, 16))
    right, out = rng.standard_normal((E, C)), np.empty((group, C), np.float32)
    V, start = rng.standard_normal((E, C)).astype(np.float32), np.zeros(C, np.float32)

    def factor() -> None:
        work[:] = A
        algebra.cholesky(work, E)

    parts: list[tuple[str, Callable[[], Any], float]] = [
        ("products of 128 rows for A",
         lambda: algebra.add_exact_products(sums, packed, 0, group), group * A.size),
        ("scores of 128 rows",
         lambda: algebra.multiply_rows(phi, V, start, out), group * E * C),
        ("Cholesky's factor", factor, E**3 / 6),
        ("solution for all classes", lambda: algebra.solve(work, right), E * E * C),
        ("class means out of A",
         lambda: algebra.subtract_outer(sums, means, means), M * A.size),
    ]  # fmt: skip
    for name, kernel, operations in parts:
        seconds = least(kernel)
        share = operations / seconds / rate
        print(f"{name:28s} {seconds * 1e6:7.0f} µs  {share:4.0%} of that rate")


def main() -> None:
    """Print one line for each dataset."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path, nargs="*", default=[])
    parser.add_argument("--names", nargs="*", default=NAMES)
    parser.add_argument("--without", nargs="*", default=[], help="members to leave out")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, help="the first ones only")
    parser.add_argument("--kernels", action="store_true", help="single kernels only")
    parser.add_argument("--full", action="store_true", help="long streams only")
    options = parser.parse_args()
    if options.full:
        full()
        return
    if options.kernels:
        kernels()
        return
    names = [name for name in MEMBERS if name not in options.without]
    print(f"import sklearn: {import_seconds():.2f} s of processor time")
    for name in options.names:
        table = options.data / f"{name}.csv.gz" if options.data else None
        if table is not None and table.exists():
            X, y = read_table(table)
            seed = 0 if options.rows is None else 31337
            order = np.random.default_rng(seed).permutation(len(y))
            X, y = X[order], y[order]
        else:
            found = [folder / f"{name}.npz" for folder in options.streams]
            X, y = read_stream(next(path for path in found if path.exists()))
        X, y = X[: options.rows], y[: options.rows]
        runs = [timed_run(X, y, names) for _ in range(options.repeats)]
        whole, megabytes = min(runs)
        start = min(timed_run(X[:1000], y[:1000], names)[0] for _ in range(3))
        single, longest = one_row(X, y)
        print(
            f"{name:14s} {whole / len(y) * 1e6:6.1f} µs  start {start:.3f} s  "
            f"one {single:.0f} µs  most {longest:.1f} ms  {megabytes:.1f} MB"
        )
        each = parts(X, y, names)
        print("   " + "  ".join(f"{part} {us:.2f}" for part, us in each.items()))


if __name__ == "__main__":
    main()
