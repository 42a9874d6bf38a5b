"""Time per row and memory as the stream grows."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evidence.measuring import BLOCK, forked, import_seconds, resident
from evidence.packages import Rows
from evidence.sources import sources
from rpnb import PooledClassifier, RPNBClassifier

STREAMS = ("random_tree", "led")
#: Rows learned at the end of each measurement.
AT = (6000, 25_000, 140_000, 200_000)
#: The last of these rows, which are predicted and then learned to measure the time.
_TIMED = 5000


def print_costs(archives: Path, streams: Sequence[str] | None) -> None:
    """Print the time per row and the memory by number of rows, in Markdown."""
    print(f"`import sklearn` takes {import_seconds():.2f} s of processor time.\n")
    print("| stream | learner | |", " | ".join(f"{n:,} rows" for n in AT), "|")
    print("|---|---|---|" + "--:|" * len(AT))
    for source in sources(archives):
        if source.name not in (streams or STREAMS) or source.part != "field":
            continue
        rows = source.rows(0)
        for name, make in (("Pooled", PooledClassifier), ("RPNB", RPNBClassifier)):
            found = forked(_measure, make(random_state=0), rows)
            texts = (
                ("µs to learn a row", "{:.1f}"),
                ("µs to predict a row", "{:.1f}"),
                ("MB", "{:.1f}"),
            )
            for (unit, form), values in zip(
                texts, zip(*found, strict=True), strict=True
            ):
                cells = " | ".join(form.format(value) for value in values)
                print(f"| {source.name} | {name} | {unit} | {cells} |", flush=True)


def _measure(model: Any, rows: Rows) -> list[tuple[float, float, float]]:
    return list(_measured(model, *rows))


def _measured(model: Any, X: Any, y: Any) -> Iterator[tuple[float, float, float]]:
    """Yield µs to learn and to predict a row, and megabytes, at each of `AT`.

    The memory is that of the process minus its memory before the first row.
    """
    before, classes, done = resident(), np.unique(y), 0
    for stop in AT:
        for at in range(done, stop - _TIMED, BLOCK):
            block = slice(at, at + BLOCK)
            model.partial_fit(X[block], y[block], classes=classes)
        blocks = [slice(at, at + BLOCK) for at in range(stop - _TIMED, stop, BLOCK)]
        start = time.thread_time()
        for block in blocks:
            model.predict_proba(X[block])
        predicted = time.thread_time()
        for block in blocks:
            model.partial_fit(X[block], y[block])
        learned = time.thread_time()
        done = stop
        yield (
            1e6 * (learned - predicted) / _TIMED,
            1e6 * (predicted - start) / _TIMED,
            (resident() - before) / 1e6,
        )
