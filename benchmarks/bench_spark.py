"""What a mini-batch costs on Spark beside one process, and what follows for clusters.

    python tools/extra_environment.py spark .venv/spark benchmarks/bench_spark.py

starts a cluster on this machine, a master and two workers of one core, and measures
warm mini-batches: seconds beside those of one process on the same rows, bytes of the
model that goes out and of the statistics that come back, and peak memory. From these it
computes rows per second for 2 to 1,000 workers, names the bottleneck, and draws them.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from rpnb import RPNBClassifier
from rpnb.estimators.mini_batches import (
    BLOCK_ROWS,
    begin_rows,
    learn_statistics,
    model_to_bytes,
    observe_rows,
)
from spark_cluster import Cluster, session

WORKERS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
# A network of 10 Gbit/s; that of this machine is its memory.
BANDWIDTH = 1.25e9


class Shape(NamedTuple):
    """The shape of a workload."""

    name: str
    p: int
    M: int
    K: int


SHAPES = (
    Shape("p=5, 2 classes", 5, 2, 200),
    Shape("p=16, 26 classes", 16, 26, 200),
    Shape("p=100, 10 classes", 100, 10, 200),
)


class Measured(NamedTuple):
    """What was measured of a shape and a size of mini-batch."""

    shape: Shape
    batch: int
    one: float
    """seconds of a warm mini-batch in one process"""
    spark: float
    """seconds of a warm mini-batch on two executors of one core"""
    prepare: float
    """seconds of sorting, numbering and packing, per mini-batch"""
    out: int
    back: int


def draw(shape: Shape, n: int) -> tuple[Any, Any]:
    """Draw rows of a shape: a mixture whose classes overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, shape.M, n)
    centres = rng.normal(size=(shape.M, shape.p)) * (2.5 / np.sqrt(shape.p))
    return rng.normal(size=(n, shape.p)) + centres[y], y


def model_of(shape: Shape, batch: int) -> RPNBClassifier:
    """Return a new model."""
    return RPNBClassifier(shape.K, batch_size=batch, temperature=None, random_state=0)


def one_process(shape: Shape, batch: int, X: Any, y: Any) -> list[float]:
    """Return the seconds of each mini-batch in one process."""
    model, seconds = model_of(shape, batch), []
    for start in range(0, y.shape[0], batch):
        rows = slice(start, start + batch)
        begin = time.perf_counter()
        model.partial_fit(X[rows], y[rows])
        seconds.append(time.perf_counter() - begin)
    return seconds


def measure(spark: Any, shape: Shape, batch: int, batches: int) -> Measured:
    """Learn the same mini-batches in one process and on the cluster."""
    import pyarrow as pa

    from rpnb.spark import learn

    X, y = draw(shape, batch * batches)
    one_process(shape, batch, X[: 2 * batch], y[: 2 * batch])
    one = float(np.median(one_process(shape, batch, X, y)[1:]))
    columns: dict[str, Any] = {f"x{i}": X[:, i] for i in range(shape.p)}
    table = pa.table({**columns, "label": y, "time": np.arange(y.shape[0])})
    frame = spark.createDataFrame(table).repartition(4).cache()
    frame.count()
    results: list[Any] = []
    for _ in range(2):  # the first time kernels are loaded and workers started
        model = model_of(shape, batch)
        begin = time.perf_counter()
        results = learn(model, frame, order="time")
        total = time.perf_counter() - begin
    frame.unpersist()
    # The first mini-batch includes packing the rows of all.
    warm = [each.seconds for each in results[1:]]
    prepare = (total - sum(warm)) / batches
    last = results[-1]
    return Measured(
        shape,
        batch,
        one,
        float(np.median(warm)),
        prepare,
        last.bytes_out,
        last.bytes_back,
    )


class Costs(NamedTuple):
    """The parts of a mini-batch's cost, from which others are computed."""

    row: float
    """seconds that an executor needs for a row"""
    merge: float
    """seconds that the driver needs for the statistics of a block"""
    job: float
    """seconds of a job whatever its size: scheduling, waiting, collecting"""
    model: int
    """bytes of the model"""
    block: int
    """bytes of the statistics of a block"""


def costs(measured: Measured) -> Costs:
    """Return the parts of the cost: rows and merging measured alone, the job's rest."""
    shape, batch = measured.shape, measured.batch
    X, y = draw(shape, 2 * batch)
    model = model_of(shape, batch)
    begin_rows(model, shape.p, y)
    blocks = observe_rows(model, X[:batch], y[:batch])
    learn_statistics(model, blocks)
    begin = time.perf_counter()
    blocks = observe_rows(model, X[batch:], y[batch:])
    row = (time.perf_counter() - begin) / batch
    begin = time.perf_counter()
    learn_statistics(model, blocks)
    merge = (time.perf_counter() - begin) / len(blocks)
    size = sum(array.nbytes for array in blocks[0].arrays.values()) + 8 * BLOCK_ROWS
    known = row * batch / 2 + merge * len(blocks)
    job = max(measured.spark - known, 0.05)
    return Costs(row, merge, job, len(model_to_bytes(model)), size)


def seconds_of(costs: Costs, batch: int, workers: int) -> dict[str, float]:
    """Return the seconds of a mini-batch, by part, on so many workers of one core."""
    blocks = -(-batch // BLOCK_ROWS)
    largest = -(-blocks // workers) * BLOCK_ROWS
    rounds = np.log2(workers + 1)  # executors hand the model on to each other
    return {
        "rows": costs.row * min(largest, batch),
        "driver": costs.merge * blocks + costs.block * blocks / BANDWIDTH,
        "job": costs.job + costs.model / BANDWIDTH * rounds,
    }


def throughput(costs: Costs, batch: int) -> list[tuple[int, float, str]]:
    """Return workers, rows per second and the largest part of the cost."""
    found = []
    for workers in WORKERS:
        parts = seconds_of(costs, batch, workers)
        slowest = max(parts, key=lambda part: parts[part])
        found.append((workers, batch / sum(parts.values()), slowest))
    return found


def peak_memory(processes: dict[str, int]) -> dict[str, float]:
    """Return the largest memory of processes so far, in MB."""
    found = {}
    for name, pid in processes.items():
        status = Path(f"/proc/{pid}/status").read_text()
        found[name] = float(status.split("VmHWM:")[1].split()[0]) / 1024
    return found


def descendants(pid: int) -> list[int]:
    """Return all processes that a process has started, and those that they have."""
    children = []
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        if stat and int(stat.rsplit(")", 1)[1].split()[1]) == pid:
            children.append(int(entry.name))
    return [each for child in children for each in (child, *descendants(child))]


def memory_of(cluster: Cluster) -> dict[str, float]:
    """Return the peak memory of the driver and of the largest executor, in MB."""
    import os

    driver = [os.getpid(), *descendants(os.getpid())]
    named = {f"{pid}": pid for pid in driver}
    cluster_pids = {
        pid
        for process in (*cluster.workers, cluster.master)
        if process is not None
        for pid in (process.pid, *descendants(process.pid))
    }
    own = {name: pid for name, pid in named.items() if pid not in cluster_pids}
    memory = peak_memory(own)
    found = {
        "driver, Python": memory.pop(f"{os.getpid()}"),
        "driver, Java": max(memory.values(), default=0.0),
    }
    java, python = 0.0, 0.0
    for executor in cluster.executors():
        java = max(java, peak_memory({"java": executor})["java"])
        for pid in descendants(executor):
            python = max(python, peak_memory({"python": pid})["python"])
    return {**found, "executor, Java": java, "executor, Python": python}


def figure(path: Path, lines: dict[str, list[tuple[int, float, str]]]) -> None:
    """Draw rows per second against workers; the marker is the bottleneck."""
    from matplotlib import pyplot

    markers = {"rows": "o", "driver": "s", "job": "^"}
    with pyplot.rc_context({"svg.hashsalt": "spark"}):
        chart, axes = pyplot.subplots(figsize=(7.0, 4.2))
        for name, points in lines.items():
            workers = [point[0] for point in points]
            rates = [point[1] for point in points]
            (line,) = axes.plot(workers, rates, linewidth=1.2, label=name)
            for worker, rate, slowest in points:
                axes.plot(worker, rate, markers[slowest], color=line.get_color(), ms=5)
        for slowest, marker in markers.items():
            text = {"rows": "rows", "driver": "merging", "job": "scheduling"}[slowest]
            axes.plot([], [], marker, color="grey", label=f"bottleneck: {text}")
        axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="rows per second")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        chart.tight_layout()
        chart.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure, compute and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, help="where to draw it: .svg")
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000])
    arguments = parser.parse_args()
    found = []
    with (
        TemporaryDirectory() as scratch,
        Cluster(Path(scratch), memory="2g") as cluster,
    ):
        settings = {"spark.executor.memory": "1500m", "spark.driver.memory": "1g"}
        spark = session(cluster.url, settings)
        print("| rows | of a mini-batch | one process, s | Spark, s | ratio |", end="")
        print(" preparing, s | model out, MB | statistics back, MB |")
        print("|---|---|---|---|---|---|---|---|")
        for shape in SHAPES:
            for batch in arguments.sizes:
                each = measure(spark, shape, batch, arguments.batches)
                found.append(each)
                print(
                    f"| {shape.name} | {batch:,} | {each.one:.3f} | {each.spark:.3f} "
                    f"| {each.spark / each.one:.1f} | {each.prepare:.2f} "
                    f"| {each.out / 1e6:.2f} | {each.back / 1e6:.2f} |",
                    flush=True,
                )
        memory = memory_of(cluster)
        spark.stop()
    print("\npeak memory, MB: ", end="")
    print(", ".join(f"{name} {value:.0f}" for name, value in memory.items()))
    lines = {}
    for each in found:
        if each.batch != max(arguments.sizes):
            continue
        parts = costs(each)
        print(
            f"\n{each.shape.name}: {parts.row * 1e6:.1f} µs a row, "
            f"{parts.merge * 1e3:.2f} ms a block at the driver, "
            f"{parts.job:.2f} s a job, {parts.block / 1e6:.2f} MB a block"
        )
        for batch in (each.batch, 1_000_000, 10_000_000):
            points = throughput(parts, batch)
            lines[f"{each.shape.name}, B = {batch:,}"] = points
            rates = ", ".join(f"{w}: {r:,.0f} ({s})" for w, r, s in points)
            print(f"  B = {batch:,}, rows/s by workers: {rates}")
        # The job's cost is fitted to the largest size: the others check the model.
        for other in found:
            if other.shape == each.shape and other.batch != each.batch:
                predicted = sum(seconds_of(parts, other.batch, 2).values())
                print(
                    f"  check: B = {other.batch:,}, 2 workers: {other.spark:.2f} s "
                    f"measured, {predicted:.2f} s by the model"
                )
    if arguments.figure:
        chosen = {name: line for name, line in lines.items() if "26 classes" in name}
        figure(arguments.figure, chosen or lines)


if __name__ == "__main__":
    main()
