"""A model of the rows per second of larger clusters, built from measured parts.

    python benchmarks/spark_throughput.py costs.json [--figure spark-throughput.svg]

`benchmarks/bench_spark.py --json costs.json` measures the parts of a mini-batch of B
rows on two workers. The model for W workers of one core adds up

* the scheduler: a job of no work, and for each task the driver's processor time;
* the model out: bytes made and broadcast by the driver, sent in log2(W + 1) rounds;
* the workers: reading, ordering, sharing out and observing of blocks of 2,048 rows,
  ⌈blocks / W⌉ one after the other;
* the driver: statistics of every block received and learned, one after the other.

Transfers over the network, which a single machine does not have, are counted at the
given rate. The model is checked on one worker, which was not used to build it.
"""

import argparse
import json
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

BLOCK = 2048
WORKERS = (1, 2, 4, 10, 30, 100, 300, 1000)
SIZES = (50_000, 500_000, 5_000_000)
PARTS = ("scheduler", "model out", "workers", "driver")


class Costs(NamedTuple):
    """Seconds of the parts."""

    job: float
    task: float
    model: float
    row: float
    """of one core of a worker"""
    block: float
    """of the driver"""
    model_bytes: float
    block_bytes: float


def costs(case: dict[str, Any], B: int) -> Costs:
    """Return the costs of the parts, from what was measured on some workers."""
    found = {name: median(values) for name, values in case["parts"].items()}
    blocks = -(-B // BLOCK)
    on_workers = found["order"] + found["share out"] + found["observe"] - found["empty"]
    return Costs(
        found["empty"],
        found["dispatch"],
        found["serialise"] + found["broadcast"],
        max(0.0, on_workers) * case["workers"] / B,
        (max(0.0, found["return"] - found["observe"]) + found["learn"]) / blocks,
        case["bytes_out"],
        case["bytes_back"] / blocks,
    )


def seconds(c: Costs, W: int, B: int, rate: float | None) -> tuple[float, ...]:
    """Return the time of each of `PARTS`; a rate of None is no network."""
    blocks = -(-B // BLOCK)
    tasks = min(W, blocks)
    sent = 0.0 if rate is None else 1.0 / rate
    return (
        c.job + c.task * tasks,
        c.model + np.log2(W + 1.0) * c.model_bytes * sent,
        min(B, -(-blocks // tasks) * BLOCK) * c.row,
        blocks * (c.block + c.block_bytes * sent),
    )


def name_of(case: dict[str, Any]) -> str:
    """Return the shape of the rows of a case in words."""
    return f"p = {case['p']}, M = {case['M']}"


def main() -> None:
    """Print the check and the model's figures; draw them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("costs", type=Path)
    parser.add_argument("--gigabits", type=float, default=10.0, help="of the network")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    kept = json.loads(options.costs.read_text())
    B = kept["B"]
    rate = options.gigabits * 1e9 / 8
    print("| rows | workers | model's seconds | measured, median | least |")
    print("|---|--:|--:|--:|--:|")
    models = {}
    for case in (each for each in kept["cases"] if each["workers"] == 2):
        models[name_of(case)] = costs(case, B)
    for case in sorted(kept["cases"], key=lambda each: (each["p"], each["workers"])):
        predicted = sum(seconds(models[name_of(case)], case["workers"], B, None))
        wall = [each[0] for each in case["whole"]]
        print(
            f"| {name_of(case)} | {case['workers']} | {predicted:.2f} | "
            f"{median(wall):.2f} | {min(wall):.2f} |"
        )
    print(f"\nrows per second at {options.gigabits:g} Gbit/s, and the largest part\n")
    print("| rows | B | " + " | ".join(f"{W:,}" for W in WORKERS) + " |")
    print("|---|--:|" + "--:|" * len(WORKERS))
    for name, model in models.items():
        for size in SIZES:
            cells = []
            for W in WORKERS:
                parts = seconds(model, W, size, rate)
                largest = PARTS[int(np.argmax(parts))]
                cells.append(f"{size / sum(parts):,.0f} {largest}")
            print(f"| {name} | {size:,} | " + " | ".join(cells) + " |")
    for name, model in models.items():
        limit = BLOCK / (model.block + model.block_bytes / rate)
        print(f"\n{name}: the driver takes up to {limit:,.0f} rows per second")
    if options.figure:
        draw(kept, models, rate, options.figure)


def draw(
    kept: dict[str, Any], models: dict[str, Costs], rate: float, path: Path
) -> None:
    """Draw rows per second against workers, and what the time goes to."""
    from matplotlib import pyplot

    figure, rows = pyplot.subplots(
        len(models), 2, figsize=(9.6, 3.7 * len(models)), layout="constrained"
    )
    W = np.unique(np.geomspace(1, 1000, 60).astype(int))
    colours = ("#8c8c8c", "#dd8452", "#4c72b0", "#c44e52")
    for (name, model), (left, right) in zip(
        models.items(), np.atleast_2d(rows), strict=True
    ):
        limit = BLOCK / (model.block + model.block_bytes / rate)
        for size, style in zip(SIZES, (":", "--", "-"), strict=True):
            speed = [size / sum(seconds(model, int(w), size, rate)) for w in W]
            left.plot(W, speed, style, color=colours[2], label=f"B = {size:,}")
        cases = [each for each in kept["cases"] if name_of(each) == name]
        measured = [kept["B"] / median(x[0] for x in each["whole"]) for each in cases]
        alone = kept["B"] / median(
            x[0] + y[0]
            for each in cases
            for x, y in zip(each["alone"], each["alone_read"], strict=True)
        )
        workers = [each["workers"] for each in cases]
        left.plot(
            workers, measured, "o", color="black", label=f"measured, {kept['B']:,}"
        )
        left.axhline(alone, color="0.5", linewidth=1, label="one process, measured")
        left.axhline(limit, color=colours[3], linewidth=1, label="driver's limit")
        left.set(xscale="log", yscale="log", xlabel="workers of one core")
        left.set_ylabel("rows per second")
        left.set_title(f"{name}, K = {kept['K']}", loc="left")
        # Room for the names above the curves.
        left.set_ylim(top=40.0 * max(limit, alone))
        left.legend(frameon=False, fontsize=8, ncols=2, loc="upper left")
        shares = np.array([seconds(model, int(w), SIZES[1], rate) for w in W])
        shares /= shares.sum(axis=1, keepdims=True)
        right.stackplot(W, shares.T, labels=PARTS, colors=colours, alpha=0.85)
        right.set(xscale="log", xlim=(1, 1000), ylim=(0, 1))
        right.set(xlabel="workers of one core", ylabel="share of the time")
        right.set_title(f"what it goes to, B = {SIZES[1]:,}", loc="left")
        right.legend(fontsize=8, loc="lower left")
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
    # The same numbers give the same bytes.
    with pyplot.rc_context({"svg.hashsalt": "throughput"}):
        date = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=date)
    print(f"\nwrote {path}")


if __name__ == "__main__":
    main()
