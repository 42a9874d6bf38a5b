"""Cost of learning on Spark compared with one process: time, bytes and memory.

    python tools/extra_environment.py spark .venv/spark benchmarks/bench_spark.py \
        [--json costs.json]

On a cluster of one and of two workers of one core each, on this machine:

* wall and processor time of mini-batches of 50,000 rows, and of one process on the same
  rows, in turn with the cluster, since other work may share the machine;
* the parts of a mini-batch, from the differences of jobs that do more and more of it;
* bytes of the model that is sent and of the statistics that are returned;
* peak memory of the driver and of the executors, in Java and in Python.

`benchmarks/spark_throughput.py` models larger clusters from these figures.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from rpnb import RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.mini_batches import (
    BLOCK_ROWS,
    RowBlocks,
    begin_rows,
    learn_statistics,
    model_to_bytes,
    observe_rows,
)
from spark_cluster import Cluster, session

K = 100
BATCH = 50_000
TICKS = os.sysconf("SC_CLK_TCK")


class Shape(NamedTuple):
    """Of the rows that are learned."""

    p: int
    M: int
    batches: int
    """mini-batches of the stream"""


SHAPES = (Shape(20, 10, 6), Shape(200, 20, 3))


def draw_rows(shape: Shape, n: int, seed: int = 0) -> tuple[FloatArray, Any]:
    """Return rows of overlapping Gaussian classes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(shape.M, shape.p)) * (2.0 / np.sqrt(shape.p))
    y = rng.integers(0, shape.M, n)
    return rng.normal(size=(n, shape.p)) + centres[y], y


def classifier(batch: int = BATCH) -> RPNBClassifier:
    """Return the model that is learned."""
    return RPNBClassifier(K, batch_size=batch, temperature=None, random_state=0)


# The same rows for the cluster and for one process


def write_rows(path: str, shape: Shape) -> None:
    """Write the rows as Parquet files, one for each mini-batch."""
    import pyarrow as pa
    from pyarrow import parquet

    Path(path).mkdir()
    for number in range(shape.batches):
        X, y = draw_rows(shape, BATCH, number)
        columns = {f"x{i}": X[:, i] for i in range(shape.p)}
        times = number * BATCH + np.arange(BATCH)
        table = pa.table({**columns, "label": y, "time": times})
        parquet.write_table(table, f"{path}/{number:04d}.parquet")


def learn_alone(connection: Any, path: str, shape: Shape) -> None:
    """Learn the rows on request; send wall and processor time of mini-batches.

    Reading the file is timed separately.
    """
    from pyarrow import parquet

    while connection.recv():
        model, found = classifier(), []
        for number in range(shape.batches):
            start = time.perf_counter(), time.process_time()
            table = parquet.read_table(f"{path}/{number:04d}.parquet")
            X = np.column_stack([table[f"x{i}"].to_numpy() for i in range(shape.p)])
            y = table["label"].to_numpy()
            between = time.perf_counter(), time.process_time()
            model.partial_fit(X, y)
            end = time.perf_counter(), time.process_time()
            found.append(
                (
                    *(between[0] - start[0], between[1] - start[1]),
                    *(end[0] - between[0], end[1] - between[1]),
                )
            )
        connection.send(found[1:])


# Processes of the cluster


class Process(NamedTuple):
    """The process of this script, or one that it has started."""

    role: str
    seconds: float
    """of processor time"""
    peak: float
    """memory, in MB"""


def processes() -> list[Process]:
    """Return this process and all its descendants."""
    parents, found = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes()
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            status = (entry / "status").read_text()
        except OSError:
            continue
        pid = int(entry.name)
        parents[pid] = int(fields[1])
        seconds = (int(fields[11]) + int(fields[12])) / TICKS
        peak = [x.split()[1] for x in status.splitlines() if x.startswith("VmHWM")]
        megabytes = int(peak[0]) / 1024 if peak else 0.0
        found[pid] = Process(_role(pid, words), seconds, megabytes)
    mine = {os.getpid()}
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in mine} - mine
        mine |= more
        grown = bool(more)
    return [found[pid] for pid in mine]


def _role(pid: int, words: bytes) -> str:
    signs = {
        b"CoarseGrainedExecutorBackend": "executor, Java",
        b"pyspark.daemon": "executor, Python",
        b"SparkSubmit": "driver, Java",
        b"deploy.master": "master",
        b"deploy.worker": "worker",
    }
    found = [role for sign, role in signs.items() if sign in words]
    if pid == os.getpid():
        return "driver, Python"
    return found[0] if found else "other"


def cluster_seconds() -> float:
    """Return the processor time of the driver, executors, workers and master so far."""
    return sum(each.seconds for each in processes() if each.role != "other")


def driver_seconds() -> float:
    """Return the processor time of the driver so far, in Java and in Python."""
    return sum(each.seconds for each in processes() if each.role.startswith("driver"))


def peaks() -> dict[str, float]:
    """Return the peak memory of a process of each role, in MB."""
    found: dict[str, float] = {}
    for each in processes():
        found[each.role] = max(found.get(each.role, 0.0), each.peak)
    found.pop("other", None)
    return found


# Whole mini-batches


def least_and_median(values: Iterable[float]) -> str:
    """Return both, in words."""
    listed = list(values)
    return f"{min(listed):.3f} ({median(listed):.3f})"


def compare(
    spark: Any, path: str, shape: Shape, rounds: int, connection: Any
) -> dict[str, Any]:
    """Time mini-batches on the cluster and in one process, in turn."""
    from rpnb.spark import learn

    frame = spark.read.parquet(path)
    features = [f"x{i}" for i in range(shape.p)]
    alone: list[Any] = []
    whole: list[Any] = []
    steps: list[float] = []
    for number in range(rounds + 1):
        connection.send(True)
        single = connection.recv()
        begin, used = time.perf_counter(), cluster_seconds()
        results = learn(classifier(), frame, features=features, order="time")
        took = time.perf_counter() - begin, cluster_seconds() - used
        if number == 0:
            continue  # warm now
        alone += single
        whole.append([each / shape.batches for each in took])
        steps += [each.seconds for each in results[1:]]
    last = results[-1]
    return {
        "alone_read": [(each[0], each[1]) for each in alone],
        "alone": [(each[2], each[3]) for each in alone],
        "whole": whole,
        "steps": steps,
        "bytes_out": last.bytes_out,
        "bytes_back": last.bytes_back,
    }


def parts(spark: Any, path: str, shape: Shape, repeats: int) -> dict[str, list[float]]:
    """Time the parts of learning: jobs that do more and more of a mini-batch."""
    from rpnb.spark import blocks, frame_columns, ordering, worker

    context = spark.sparkContext
    run = context.runJob
    features = tuple(f"x{i}" for i in range(shape.p))
    chosen = frame_columns.FrameColumns(features, "columns", "label", ("time",))
    model = classifier()
    found: dict[str, list[float]] = {}

    def timed(name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        begin = time.perf_counter()
        result = work(*arguments)
        found.setdefault(name, []).append(time.perf_counter() - begin)
        return result

    frame = spark.read.parquet(path)
    for _ in range(repeats):
        # The time that Spark itself takes to bring the rows to Python, which does
        # nothing.
        begin = time.perf_counter()
        frame.mapInArrow(_drop, "rows long").collect()
        found.setdefault("rows to Python", []).append(
            (time.perf_counter() - begin) / shape.batches
        )
        begin = time.perf_counter()
        order = ordering.ordered_rows(
            frame, chosen, shape.p, bad_rows="refuse", aside=None, allow_nan=False
        )
        with order as rows:
            found.setdefault("order", []).append(
                (time.perf_counter() - begin) / shape.batches
            )
            if not model.__sklearn_is_fitted__():
                begin_rows(model, shape.p, rows.labels, None, features)
            tasks = max(context.defaultParallelism, 1)
            layout = blocks.layout_for(BATCH, rows.rows, tasks)
            segment = next(blocks.segments(rows, model.classes_, layout))
            begin = time.perf_counter()
            run(segment.rdd, _count, segment.partitions(0))
            took = time.perf_counter() - begin
            nothing = context.parallelize(range(tasks), tasks)
            many = context.parallelize(range(64), 64)
            first = layout.blocks_per_batch
            numbers = range(first, 2 * first)
            where = segment.partitions(1)
            timed("empty", run, nothing, _count)
            before = driver_seconds()
            timed("empty 64", run, many, _count)
            found.setdefault("dispatch", []).append((driver_seconds() - before) / 64)
            timed("read", run, segment.rdd, _count, where)
            # The first job on the segment shares the rows out, and reads some of them.
            found.setdefault("share out", []).append(
                (took - found["read"][-1]) / shape.batches
            )
            content = timed("serialise", model_to_bytes, model)
            shared = timed("broadcast", context.broadcast, content)
            version = f"parts.{len(found['order'])}"
            copy = _copier("parts", version, shared, numbers)
            timed("copy", run, segment.rdd, copy, where)
            observe = worker.observer("parts", version, shared, numbers)
            counted = _counter(observe)
            timed("observe", run, segment.rdd, counted, where)
            seen = timed("return", run, segment.rdd, observe, where)
            statistics = [
                each.statistics._replace(
                    y=each.statistics.y.astype(np.int64),
                    labels=each.statistics.labels.astype(np.int64),
                )
                for each in sorted(seen, key=lambda each: each.block)
            ]
            timed("learn", learn_statistics, model, statistics)
            shared.destroy()
    return found


def _count(rows: Iterable[Any]) -> list[int]:
    return [sum(1 for _ in rows)]


def _drop(batches: Iterable[Any]) -> Iterable[Any]:
    import pyarrow as pa

    yield pa.RecordBatch.from_pydict({"rows": [sum(each.num_rows for each in batches)]})


def _copier(key: str, version: str, model: Any, numbers: range) -> Any:
    from rpnb.spark import blocks, worker

    def copy(pairs: Iterable[Any]) -> list[int]:
        parts = blocks.join_fragments(pairs, numbers)
        worker.copy_of_model(key, version, lambda: bytes(model.value))
        return [len(parts)]

    return copy


def _counter(observe: Any) -> Any:
    def count(rows: Iterable[Any]) -> list[int]:
        return [len(observe(rows))]

    return count


# Bytes


def moved(shape: Shape, batch: int) -> tuple[int, int, int]:
    """Return F, and the bytes out and back of a mini-batch after the first."""
    X, y = draw_rows(shape, 2 * batch)
    model = classifier(batch)
    model.partial_fit(X[:batch], y[:batch], classes=np.arange(shape.M))
    blocks = observe_rows(model, RowBlocks(X[batch:], y[batch:]))
    short = [
        each._replace(y=each.y.astype(np.int32), labels=each.labels.astype(np.int32))
        for each in blocks
    ]
    F = model._state.moments.mean.shape[1]
    return F, len(model_to_bytes(model)), len(pickle.dumps(short))


def print_bytes() -> list[dict[str, int]]:
    """Print the bytes of mini-batches of several sizes and models."""
    print("| B | p | M | F | M·F | model out | statistics back | per 2,048 rows |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    table = []
    sizes = (4_096, 16_384, 65_536)
    cases = [(Shape(20, 10, 1), size) for size in sizes]
    cases += [(Shape(p, M, 1), 16_384) for p, M in ((20, 2), (200, 10), (200, 40))]
    for shape, batch in cases:
        F, out, back = moved(shape, batch)
        blocks = -(-batch // BLOCK_ROWS)
        print(
            f"| {batch:,} | {shape.p} | {shape.M} | {F:,} | {shape.M * F:,} | "
            f"{out:,} | {back:,} | {back // blocks:,} |",
            flush=True,
        )
        table.append(
            {"B": batch, "p": shape.p, "M": shape.M, "F": F, "out": out, "back": back}
        )
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", type=Path, help="where to keep all figures")
    options = parser.parse_args()
    kept: dict[str, Any] = {"K": K, "B": BATCH, "cases": []}
    kept["bytes"] = print_bytes()
    context = multiprocessing.get_context("spawn")
    with TemporaryDirectory() as scratch:
        paths = {}
        for number, shape in enumerate(SHAPES):
            paths[shape] = f"{scratch}/rows{number}"
            writer = context.Process(target=write_rows, args=(paths[shape], shape))
            writer.start()
            writer.join()
        for workers in (2, 1):
            folder = Path(scratch, f"cluster{workers}")
            with Cluster(folder, workers, "2g") as cluster:
                memory = {"spark.executor.memory": "1500m"}
                spark = session(cluster.url, memory)
                for shape in SHAPES:
                    mine, its = context.Pipe()
                    one = context.Process(
                        target=learn_alone, args=(its, paths[shape], shape)
                    )
                    one.start()
                    case = compare(spark, paths[shape], shape, options.rounds, mine)
                    case["parts"] = parts(spark, paths[shape], shape, options.rounds)
                    mine.send(False)
                    one.join()
                    case |= {"workers": workers, **shape._asdict(), "peaks": peaks()}
                    kept["cases"].append(case)
                    print_case(case)
                    if options.json:
                        options.json.write_text(json.dumps(kept, indent=1) + "\n")
                spark.stop()


def print_case(case: dict[str, Any]) -> None:
    """Print the measurements on one cluster with one kind of rows."""
    print(
        f"\n{case['workers']} workers, p = {case['p']}, M = {case['M']}, K = {K}, "
        f"mini-batches of {BATCH:,} rows: least (median) seconds each\n"
    )
    print("| | wall | processor |\n|---|--:|--:|")
    pairs = {
        "one process, learning": case["alone"],
        "one process, reading the file": case["alone_read"],
        "Spark, reading, ordering and learning": case["whole"],
    }
    for name, values in pairs.items():
        wall, used = zip(*values, strict=True)
        print(f"| {name} | {least_and_median(wall)} | {least_and_median(used)} |")
    print(f"| Spark, learning rows in order | {least_and_median(case['steps'])} | |")
    found = {name: median(values) for name, values in case["parts"].items()}
    steps = {
        "read and order the rows": found["order"],
        "of this, rows to Python by Spark alone": found["rows to Python"],
        "share them out by blocks": found["share out"],
        "a job of no work (scheduler)": found["empty"],
        "a task of a larger job, of the driver's processor": found["dispatch"],
        "blocks to Python": found["read"] - found["empty"],
        "model to bytes": found["serialise"],
        "broadcast": found["broadcast"],
        "broadcast to Python, joining fragments": found["copy"] - found["read"],
        "observing": found["observe"] - found["copy"],
        "statistics back": found["return"] - found["observe"],
        "learning them": found["learn"],
    }
    print("\n| part | median seconds |\n|---|--:|")
    for name, value in steps.items():
        print(f"| {name} | {value:.3f} |")
    print(
        f"\nmodel out {case['bytes_out']:,} bytes, statistics back "
        f"{case['bytes_back']:,} bytes; peak memory in MB: "
        + ", ".join(f"{role} {mb:.0f}" for role, mb in sorted(case["peaks"].items())),
        flush=True,
    )


if __name__ == "__main__":
    main()
