"""What `rpnb run` costs beside what it cannot avoid: reading, and learning.

A file of 10 million rows is generated (p = 8 numbers, 3 classes far apart, so that
mistakes are few), as Parquet and as CSV. Four things are measured, each in a process of
its own, interleaved and repeated:

* "reader": pyarrow alone, reading the file batch by batch;
* "learner": `predict_then_learn` alone, over arrays of the same rows in memory;
* "start": the command on a file of 1000 rows, which is importing and little else;
* "run": the command, from the first import to the table.

Printed are medians of wall time, with that of the processor in brackets; the ratio of
"run" to the sum of reader and learner, with the start and without it; and the peak of
memory of "run". On a busy machine only the processor's time means much.

    python benchmarks/bench_run.py --rows 10000000 --repeat 3
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tables import ROWS, write_tables

P, M = 8, 3
# Rows of a call, as many as the command hands over.
CHUNK = 16384


def rows(start: int, n: int) -> tuple[Any, Any]:
    """Return rows that belong together: classes far apart."""
    rng = np.random.default_rng([7, start])
    y = rng.integers(0, M, n)
    return rng.standard_normal((n, P)) + 6.0 * np.eye(P)[y], y


def make_files(folder: Path, n: int, name: str = "rows") -> None:
    """Write the rows as Parquet and as CSV."""
    import pyarrow as pa

    def tables() -> Iterator[pa.Table]:
        for start in range(0, n, ROWS):
            X, y = rows(start, min(ROWS, n - start))
            # Six digits, as files have; the reader's work depends on them.
            columns: dict[str, Any] = {f"x{j}": np.round(X[:, j], 6) for j in range(P)}
            yield pa.table(columns | {"y": y})

    write_tables(folder, name, tables())


def read_alone(path: Path) -> None:
    """Read a file with pyarrow as the command does, and do nothing with the rows."""
    from rpnb.files.opening import _TABLES
    from rpnb.files.records import Options

    kind = path.suffix.removeprefix(".")
    source = _TABLES[kind](str(path), Options(target="y"))
    for _ in source.batches():
        pass
    source.close()


def learn_alone(n: int, K: int) -> dict[str, Any]:
    """Return the seconds that the learner takes for arrays of n rows."""
    from rpnb import RPNBClassifier

    warm = RPNBClassifier(K, random_state=0)
    warm.predict_then_learn(*rows(0, 64))
    warm.predict_then_learn(*rows(64, 64))
    model = RPNBClassifier(K, random_state=0)
    seconds = worked = 0.0
    for start in range(0, n, 1 << 18):
        X, y = rows(start, min(1 << 18, n - start))
        for begin in range(0, y.shape[0], CHUNK):
            part = slice(begin, begin + CHUNK)
            before, work = time.perf_counter(), time.process_time()
            model.predict_then_learn(X[part], y[part])
            seconds += time.perf_counter() - before
            worked += time.process_time() - work
    return {"seconds": seconds, "processor": worked}


def run_alone(path: Path, K: int) -> dict[str, Any]:
    """Run the command and return what it prints."""
    command = "import rpnb.cli as c; raise SystemExit(c.main())"
    words = [
        "run",
        str(path),
        "--target",
        "y",
        "--json",
        "--quiet",
        "--n-estimators",
        str(K),
    ]
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", command, *words],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def timed(what: str, path: Path, n: int, K: int) -> dict[str, Any]:
    """Measure one thing in a process of its own."""
    command = [sys.executable, __file__, "--one", what, str(path), "--rows", str(n)]
    command += ["--n-estimators", str(K)]
    done = subprocess.run(  # noqa: S603 - our own words
        command, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def one(what: str, path: Path, n: int, K: int) -> dict[str, Any]:
    """Do what is to be measured."""
    if what == "learner":
        return learn_alone(n, K)
    if what == "reader":
        read_alone(path.with_stem("few"))  # whatever is to be imported has been
    if what == "start":
        path = path.with_stem("few")
    start, before = time.perf_counter(), os.times()
    found = {}
    if what == "reader":
        read_alone(path)
    else:
        found = run_alone(path, K)
    used = np.array(os.times()[:4]) - np.array(before[:4])
    found |= {"seconds": time.perf_counter() - start, "processor": float(used.sum())}
    return found


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--n-estimators", type=int, default=200)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    K = arguments.n_estimators
    if arguments.one:
        what, path = arguments.one
        print(json.dumps(one(what, Path(path), arguments.rows, K)))
        return
    with tempfile.TemporaryDirectory() as folder:
        # Bytecode is kept, as that of an installed package is.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "bytecode"))
        make_files(Path(folder), arguments.rows)
        make_files(Path(folder), 1000, "few")
        for name in ("rows.parquet", "rows.csv"):
            path = Path(folder, name)
            timed("start", path, arguments.rows, K)  # which leaves bytecode behind
            found: dict[str, list[dict[str, Any]]] = {}
            for _ in range(arguments.repeat):
                for what in ("reader", "learner", "start", "run"):
                    answer = timed(what, path, arguments.rows, K)
                    found.setdefault(what, []).append(answer)
            wall, work = (
                {
                    what: statistics.median(answer[kind] for answer in answers)
                    for what, answers in found.items()
                }
                for kind in ("seconds", "processor")
            )
            peak = max(answer["peak_megabytes"] for answer in found["run"])
            ours = found["run"][0]["learners"][0]
            size = path.stat().st_size / 1e6
            print(f"{name}: {arguments.rows:,} rows, {size:.0f} MB, K = {K}")
            for what in found:
                print(f"  {what:8} {wall[what]:7.1f} s ({work[what]:.1f} s)")
            for kind, by in ((wall, "clock"), (work, "processor")):
                apart = kind["reader"] + kind["learner"]
                print(
                    f"  by the {by}, run / (reader + learner): "
                    f"{kind['run'] / apart:.2f}; without the start: "
                    f"{(kind['run'] - kind['start']) / apart:.2f}"
                )
            print(
                f"  at most {peak:.0f} MB; {ours['mistakes']:,} mistakes",
                flush=True,
            )


if __name__ == "__main__":
    main()
