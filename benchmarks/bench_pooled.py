"""Processor time of the pooled classifier: a row, its parts, the start, single rows.

    python benchmarks/bench_pooled.py --data FOLDER --streams FOLDER [--names letter]

All rows of a dataset are learnt, test then train, in one thread, from a warm cache; the
best of a few runs counts; with `--rows` only the first ones, of a dataset in the order
of `python -m pooled_evidence`'s part same_run. `start` is the time of the first 1,000
rows, `one` the median time of `predict_one` and `learn_one` of a row, `most` the
longest single call of either after row 256.

    python benchmarks/bench_pooled.py --kernels

prints the time of single kernels, for 528 columns of φ and 26 classes, beside the most
multiply-adds that a core does in registers, measured in the same run, in single
precision: products are sums of integers, of which a core does twice as many or more,
scores are in single precision, the others in double, of which it does half as many.
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
from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray
from rpnb.core.kernels.compiling.compiled import compiled
from rpnb.core.kernels.vectors import load_singles, multiply_add, store_singles
from rpnb.core.pooled import engine, pool
from rpnb.core.pooled.algebra import blocks, outer_products
from rpnb.core.pooled.algebra.row_products import multiply_rows
from rpnb.core.pooled.model import MEMBERS, new_model

NAMES = ["letter", "penbased", "isolet", "skin_nonskin", "elec2"]


def timed_run(X: FloatArray, y: IntArray, names: list[str]) -> float:
    """Return the seconds that learning all rows takes."""
    M = int(y.max()) + 1
    model = new_model(names, X.shape[1], 512, 0, np.ones(M, np.bool_), 0)
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
        (module, "learn_rows", name) for name, module in MEMBERS.items()
    ]
    places += [(engine, "prepare_rows", "features"), (pool, "pool_rows", "pool")]
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


@compiled
def _multiply_adds(buffer: SingleArray, n: int) -> None:
    """Do 12·8·n multiply-adds in registers."""
    x = load_singles(buffer, 0)
    y = load_singles(buffer, 8)
    a = x
    b = x
    c = x
    d = x
    e = x
    f = x
    g = x
    h = x
    i = x
    j = x
    k = x
    m = x
    for _ in range(n):
        a = multiply_add(x, y, a)
        b = multiply_add(x, y, b)
        c = multiply_add(x, y, c)
        d = multiply_add(x, y, d)
        e = multiply_add(x, y, e)
        f = multiply_add(x, y, f)
        g = multiply_add(x, y, g)
        h = multiply_add(x, y, h)
        i = multiply_add(x, y, i)
        j = multiply_add(x, y, j)
        k = multiply_add(x, y, k)
        m = multiply_add(x, y, m)
    store_singles(buffer, 0, a + b + c + d + e + f + g + h + i + j + k + m)


def least(work: Callable[[], Any], repeats: int = 30) -> float:
    """Return the least seconds of processor time, the first call aside."""
    work()
    used = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        used.append(time.process_time() - start)
    return min(used)


def kernels() -> None:
    """Print the time of single kernels, and how many multiply-adds they do."""
    E, M, C, group, rounds = 528, 26, 32, 128, 20_000
    rng = np.random.default_rng(0)
    buffer = np.zeros(16, np.float32)
    rate = 96 * rounds / least(lambda: _multiply_adds(buffer, rounds))
    print(f"most multiply-adds in registers, single precision: {rate / 1e9:.1f} G/s")
    phi = np.maximum(rng.standard_normal((group, E)), 0.0).astype(np.float32)
    phi = np.round(128 * phi) / np.float32(128)
    kept = np.zeros(E * group, np.float32)
    for r in range(group):
        outer_products.pack_row(phi[r], kept, r, group)
    A = blocks.blank_matrix(E)
    for f in range(E):
        A[blocks.place(f, f)] = 1.0
    outer_products.add_exact_products(A, kept, group, 0, group)
    entries, work, sums = A.size, A.copy(), A.copy()
    flat = rng.standard_normal(E * M)
    right, out = rng.standard_normal((E, C)), np.empty((group, C), np.float32)
    V, start = rng.standard_normal((E, C)).astype(np.float32), np.zeros(C, np.float32)

    def factor() -> None:
        work[:] = A
        blocks.cholesky(work, E)

    def add() -> None:
        outer_products.add_exact_products(sums, kept, group, 0, group)

    def scores() -> None:
        multiply_rows(phi, V, start, out)

    parts: list[tuple[str, Callable[[], Any], float]] = [
        ("products of 128 rows for A", add, group * entries),
        ("scores of 128 rows", scores, group * E * C),
        ("Cholesky's factor", factor, E**3 / 6),
        ("solution for all classes", lambda: blocks.solve(work, E, right), E * E * C),
        ("class means out of A", lambda: blocks.subtract_outer(sums, flat, flat, M),
         M * entries),
    ]  # fmt: skip
    for name, kernel, operations in parts:
        seconds = least(kernel)
        share = operations / seconds / rate
        print(f"{name:28s} {seconds * 1e6:7.0f} µs  {share:4.0%} of that rate")


def main() -> None:
    """Print one line for each dataset."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--names", nargs="*", default=NAMES)
    parser.add_argument("--without", nargs="*", default=[], help="members to leave out")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, help="the first ones only")
    parser.add_argument("--kernels", action="store_true", help="single kernels only")
    options = parser.parse_args()
    if options.kernels:
        kernels()
        return
    names = [name for name in MEMBERS if name not in options.without]
    for name in options.names:
        table = options.data / f"{name}.csv.gz" if options.data else None
        if table is not None and table.exists():
            X, y = read_table(table)
            seed = 0 if options.rows is None else 31337
            order = np.random.default_rng(seed).permutation(len(y))
            X, y = X[order], y[order]
        else:
            X, y = read_stream(options.streams / f"{name}.npz")
        X, y = X[: options.rows], y[: options.rows]
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
