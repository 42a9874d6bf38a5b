"""The pooled classifier at its limits: many classes, one feature, many or odd ones.

    python benchmarks/pooled_limits.py
    python benchmarks/pooled_limits.py --sizes

Rows are generated, and learned test then train. Each line has the numbers of rows,
features and classes, the error, µs of processor time per row, the longest call of 50
rows after row 256 in ms, the size of the model in MB, and the error and time of RPNB if
it supports the rows. `--sizes` prints the
size in MB for numbers of features, classes and projections instead.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from pooled_memory import size_of_model
from rpnb import PooledClassifier, RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.protocol import initialise

Rows = tuple[Any, IntArray]
_PART = 50
_WARM = 1000


def blobs(n: int, p: int, M: int, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Return rows of M Gaussian classes that overlap a little."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(M, p)) * 1.5
    y = rng.integers(0, M, n)
    return centres[y] + rng.normal(size=(n, p)), y


def words(n: int, p: int, M: int, per_row: int) -> Rows:
    """Return counts of words: each class has its own 200 words among p."""
    rng = np.random.default_rng(1)
    own = rng.integers(0, p, (M, 200))
    y = rng.integers(0, M, n)
    typical = own[y[:, None], rng.integers(0, 200, (n, per_row))]
    columns = np.where(
        rng.random((n, per_row)) < 0.3, typical, rng.integers(0, p, (n, per_row))
    )
    rows = np.repeat(np.arange(n), per_row)
    table = csr_array((np.ones(n * per_row), (rows, columns.ravel())), shape=(n, p))
    table.sum_duplicates()
    return table, y


def one_feature(n: int) -> Rows:
    """Return one feature, where two classes alternate in five intervals."""
    x = np.random.default_rng(2).uniform(0.0, 5.0, n)
    return x[:, None], np.floor(x).astype(np.int64) % 2


def odd_columns(n: int, kind: str) -> Rows:
    """Return ten good columns, and twenty that are constant, duplicates or huge."""
    X, y = blobs(n, 10, 5)
    rng = np.random.default_rng(3)
    more = {
        "none": np.zeros((n, 0)),
        "constant": np.full((n, 20), 7.0),
        "duplicated": X[:, rng.integers(0, 10, 20)],
        "huge": rng.normal(size=(n, 20)) * 1e100,
        "heavy tails": rng.standard_cauchy((n, 20)),
        "huge good ones": X[:, rng.integers(0, 10, 20)] * 1e100,
    }[kind]
    return np.hstack([X, more]), y


@dataclass(frozen=True, slots=True)
class Case:
    """Rows with a name, and how many projections are drawn."""

    name: str
    rows: Callable[[], Rows]
    rpnb: bool = True


CASES = (
    Case("1,000 classes", lambda: blobs(20_000, 20, 1000)),
    Case("100 classes", lambda: blobs(20_000, 20, 100)),
    Case("10 classes", lambda: blobs(20_000, 20, 10)),
    Case("1 feature", lambda: one_feature(20_000)),
    Case("100,000 sparse features", lambda: words(5000, 100_000, 10, 50), rpnb=False),
    Case("4,096 features", lambda: blobs(2000, 4096, 5)),
    *(
        Case(f"columns: {kind}", partial(odd_columns, 10_000, kind))
        for kind in (
            "none", "constant", "duplicated", "huge", "heavy tails", "huge good ones"
        )
    ),
)  # fmt: skip


SHAPES = (
    (1, 2, 512), (10, 2, 512), (10, 100, 512), (10, 1000, 512), (100, 2, 512),
    (1000, 2, 512), (1000, 100, 512), (4096, 2, 512), (100_000, 2, 512), (10, 2, 256),
    (10, 2, 1024),
)  # fmt: skip


def measure(model: Any, X: Any, y: IntArray) -> tuple[float, float, float]:
    """Return error, µs per row, and the longest call after row 256 in ms."""
    wrong, longest = 0, 0.0
    start = time.process_time()
    for begin in range(0, len(y), _PART):
        part = slice(begin, begin + _PART)
        called = time.process_time()
        labels = model.predict_then_learn(X[part], y[part], classes=np.unique(y))
        if begin > 256:
            longest = max(longest, time.process_time() - called)
        wrong += int(np.sum(labels != y[part]))
    used = time.process_time() - start
    return wrong / len(y), used / len(y) * 1e6, longest * 1e3


def print_sizes() -> None:
    """Print the size of a model for p features, M classes and D projections."""
    print("| p | M | D | MB | with a delay of 100 |")
    print("|---|---|---|---|---|")
    for p, M, D in SHAPES:
        cells = []
        for delay in (0, 100):
            model = PooledClassifier(n_projections=D, delay=delay, random_state=0)
            initialise(model, p, np.arange(M))
            cells.append(f"{size_of_model(model._state) / 1e6:.1f}")
        print(f"| {p:,} | {M:,} | {D:,} | {cells[0]} | {cells[1]} |")


def main() -> None:
    """Print one line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", nargs="*", help="only these")
    parser.add_argument("--sizes", action="store_true", help="sizes of models only")
    options = parser.parse_args()
    if options.sizes:
        print_sizes()
        return
    print("| rows | n | p | M | error | µs per row | longest | MB | RPNB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in CASES:
        if options.names and case.name not in options.names:
            continue
        X, y = case.rows()
        classes = np.unique(y)
        warm = PooledClassifier(random_state=0)
        warm.predict_then_learn(X[:_WARM], y[:_WARM], classes=classes)
        model = PooledClassifier(random_state=0)
        error, used, longest = measure(model, X, y)
        size = size_of_model(model._state) / 1e6
        line = f"| {case.name} | {len(y):,} | {X.shape[1]:,} | {len(classes):,} | "
        line += f"{error:.3f} | {used:.0f} | {longest:.1f} ms | {size:.1f} | "
        if case.rpnb:
            other = RPNBClassifier(random_state=0)
            other.predict_then_learn(X[:_WARM], y[:_WARM], classes=classes)
            rpnb_error, rpnb_used, _ = measure(RPNBClassifier(random_state=0), X, y)
            line += f"{rpnb_error:.3f}, {rpnb_used:.0f} µs |"
        else:
            line += "— |"
        print(line, flush=True)


if __name__ == "__main__":
    main()
