"""Wide data: fast transforms, sparse streams, memory, and speed by width.

Three measurements of processor time, in one thread:

transform   `predict_then_learn` of dense rows with projection="hadamard" and with
            "gaussian" of as many columns, by trained models, in turn, and the matrix
            product that a projection by a matrix cannot avoid.
memory      peak memory of a process that learns a sparse stream from beginning to end.
width       rows per second of sparse streams with more and more columns and as many
            non-zeros per row, in turn, for a fixed number of components and for
            q = ⌊2·log₂ p⌋.

Run: python benchmarks/bench_wide.py [transform] [memory] [width] [--repeat 5]
         [--svg docs/results/figures/wide.svg]
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from rpnb import RPNBClassifier
from rpnb.core.projection.matrices import Distribution
from rpnb.report.charts.drawing import (
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    ceiling,
    number,
    ticks,
)
from rpnb.report.charts.svg import standalone

NONZEROS = 60
WIDTHS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SERIES: dict[str, Any] = {"q = 20": 20, "q = ⌊2·log₂ p⌋": "auto"}


def sparse_stream(p: int, n: int) -> tuple[csr_array, np.ndarray]:
    """Return n rows of two classes; half of the non-zeros are in a class's own columns.

    Each class has a hundred separate columns; other non-zeros may be anywhere.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    own = 100 * y[:, None] + rng.integers(0, 100, (n, NONZEROS))
    anywhere = rng.integers(0, p, (n, NONZEROS))
    columns = np.where(rng.random((n, NONZEROS)) < 0.5, own, anywhere)
    values = rng.exponential(size=n * NONZEROS)
    starts = np.arange(n + 1) * NONZEROS
    X = csr_array((values, columns.ravel(), starts), shape=(n, p))
    X.sum_duplicates()
    return X, y


def peak_memory() -> float:
    """Return the peak memory of this process, in MiB."""
    # The figure of getrusage may include the parent process.
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not report the peak memory of a process")


def seconds(job: Callable[..., object], *arguments: object) -> float:
    """Return the processor time of a job in one thread."""
    start = time.process_time()
    job(*arguments)
    return time.process_time() - start


def transform(repeat: int) -> None:
    """Print the cost of a dense row with each projection, and of a matrix product."""
    p, n, F = 4096, 512, 4800
    print(f"transform: p = {p}, K = 200, q = 24, F = {F}, {n} dense rows per turn")
    print("µs per row, medians; the product is X R alone, in single precision")
    print("    M  gaussian  product  hadamard   gaussian/hadamard  product/hadamard")
    rng = np.random.default_rng(0)
    R = rng.normal(size=(p, F)).astype(np.float32)
    projections: tuple[Distribution, ...] = ("gaussian", "hadamard")
    for M in (2, 5):
        y = rng.integers(0, M, n)
        X = rng.normal(size=(n, p)) + (2.5 / np.sqrt(p)) * rng.normal(size=(M, p))[y]
        single = X.astype(np.float32)
        slow, fast = (
            RPNBClassifier(projection=projection, random_state=0).fit(X, y)
            for projection in projections
        )
        times = np.array(
            [
                [
                    seconds(slow.predict_then_learn, X, y),
                    seconds(np.matmul, single, R),
                    seconds(fast.predict_then_learn, X, y),
                ]
                for _ in range(repeat)
            ]
        )
        ratios = times[:, :2] / times[:, 2:]
        shown = [
            f"{np.median(ratio):.1f} ({ratio.min():.1f}-{ratio.max():.1f})"
            for ratio in ratios.T
        ]
        cost = np.median(times, axis=0) / n * 1e6
        print(
            f"{M:5} {cost[0]:9.1f} {cost[1]:8.1f} {cost[2]:9.1f}  "
            f"{shown[0]:>18}  {shown[1]:>16}",
            flush=True,
        )


def learn_and_report(projection: Distribution) -> None:
    """Learn the sparse stream in this process, and print its peak memory."""
    before = peak_memory()
    X, y = sparse_stream(40_000, 10_000)
    model = RPNBClassifier(projection=projection, random_state=0)
    start = time.process_time()
    with threadpool_limits(1):
        wrong = np.mean(model.predict_then_learn(X, y, classes=[0, 1]) != y)
    took = time.process_time() - start
    print(
        f"{projection:12} {peak_memory():9.0f} {before:9.0f} {y.shape[0] / took:9.0f} "
        f"{wrong:8.3f}"
    )


def memory() -> None:
    """Print the peak memory of processes that learn a sparse stream."""
    print(f"memory: 40,000 columns, 10,000 rows, {NONZEROS} non-zeros per row, K = 200")
    print("projection   peak, MiB  imported    rows/s    error", flush=True)
    for projection in ("very_sparse", "gaussian"):
        command = [sys.executable, __file__, "--process", projection]
        subprocess.run(command, check=True)  # noqa: S603


def width(repeat: int, svg: Path | None) -> None:
    """Print and draw rows per second by the number of columns."""
    n = 2_000
    print(f"width: very_sparse, {n} rows, {NONZEROS} non-zeros per row, K = 200")
    print("begin: drawing the projections; rows/s: median (range), drawing not counted")
    print("        p", *(f"{name:>38}" for name in SERIES))
    rates: dict[str, list[float]] = {name: [] for name in SERIES}
    streams = {p: sparse_stream(p, n) for p in WIDTHS}
    models: dict[tuple[int, str], RPNBClassifier] = {}
    begin: dict[tuple[int, str], float] = {}
    times: dict[tuple[int, str], list[float]] = {}
    for p, (X, y) in streams.items():
        for name, q in SERIES.items():
            model: Any = RPNBClassifier(
                projection="very_sparse", n_components=q, random_state=0
            )
            begin[p, name] = seconds(model.fit, X[:1], y[:1])
            model.partial_fit(X, y)
            models[p, name] = model
            times[p, name] = []
    for _ in range(repeat):
        for (p, name), model in models.items():
            X, y = streams[p]
            times[p, name].append(n / seconds(model.predict_then_learn, X, y))
    for p in WIDTHS:
        cells = []
        for name in SERIES:
            found = times[p, name]
            rates[name].append(float(np.median(found)))
            cells.append(
                f"begin {begin[p, name]:5.2f} s {rates[name][-1]:8.0f} "
                f"({min(found):6.0f}-{max(found):6.0f})"
            )
        print(f"{p:9}", *(f"{cell:>38}" for cell in cells))
    if svg is not None:
        svg.write_text(standalone(chart(rates)), encoding="utf-8")


def chart(rates: dict[str, list[float]]) -> Drawing:
    """Draw rows per second by the number of columns."""
    x = Scale(3.0, 6.0, 56.0, 420.0)
    y = Scale(0.0, ceiling(max(map(max, rates.values())), 4), 190.0, 24.0)
    marks = [*_axes(x, y)]
    for (name, values), role, shape in zip(
        rates.items(), ("s0", "s1"), ("circle", "square"), strict=True
    ):
        points = tuple(
            (x(log10(p)), y(rate)) for p, rate in zip(WIDTHS, values, strict=True)
        )
        marks.append(Line(points, role, 2.0))
        marks.extend(Dot(*point, shape, role) for point in points)  # type: ignore[arg-type]
        marks.append(Label(points[-1][0] + 8.0, points[-1][1] + 4.0, name, role))
    title = "Rows per second over the number of columns, 60 non-zeros per row"
    return Drawing(540.0, 230.0, title, tuple(marks))


def _axes(x: Scale, y: Scale) -> Iterator[Mark]:
    for value in ticks(y.low, y.high, 4):
        yield Line(((x.start, y(value)), (x.end, y(value))), "grid")
        text = number(value)
        yield Label(x.start - 6.0, y(value) + 4.0, text, "muted", "end")
    for power in range(3, 7):
        yield Line(((x(power), y.start), (x(power), y.start + 4.0)), "muted")
        yield Label(x(power), y.start + 17.0, f"{10**power:,}", "muted", "middle")
    yield Line(((x.start, y.start), (x.end, y.start)), "muted")
    yield Label((x.start + x.end) / 2, y.start + 34.0, "columns", "muted", "middle")
    yield Label(0.0, 11.0, "rows per second", "muted")


def main() -> None:
    """Run the requested measurements, and print them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "parts", nargs="*", help="transform, memory, width; all if none"
    )
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--svg", type=Path, help="file for the chart of `width`")
    parser.add_argument("--process", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.process:
        learn_and_report(arguments.process)
        return
    parts = arguments.parts or ["transform", "memory", "width"]
    with threadpool_limits(1):
        if "transform" in parts:
            transform(arguments.repeat)
        if "memory" in parts:
            memory()
        if "width" in parts:
            width(arguments.repeat, arguments.svg)


if __name__ == "__main__":
    main()
