"""Cost of `rpnb run` compared with the unavoidable: reading and learning.

A file of 10 million rows is generated (8 numbers, 3 classes far apart, so that mistakes
are few), as Parquet and as CSV. Four processes are measured in turn, several times:

* "reader": pyarrow alone, reading the file batch by batch;
* "learner": `predict_then_learn` alone, on arrays of the same rows in memory, in calls
  as large as those of the command; making the arrays is not counted;
* "run": the command, from the first import to the table;
* "start": the command on a file of 1000 rows, which is mostly imports.

Each process has a start, its imports, and a pass over the rows; the pass of the command
is "run" minus "start". The output has medians of wall time, with processor time in
brackets, and two ratios:

* whole processes, run / (reader + learner), each with its start: separate reading and
  learning needs the same imports;
* passes alone, (run − start) / (pass of the reader + pass of the learner).

On a busy machine, only processor time is meaningful.

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
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

P, M = 8, 3
# Rows per call, as in the command.
CHUNK = 32768
# Rows that are written at a time.
ROWS = 1 << 18


class Times(NamedTuple):
    """Wall time and processor time, in seconds."""

    wall: float
    processor: float


def rows(start: int, n: int) -> tuple[Any, Any]:
    """Return rows and labels of well-separated classes."""
    rng = np.random.default_rng([7, start])
    y = rng.integers(0, M, n)
    return rng.standard_normal((n, P)) + 6.0 * np.eye(P)[y], y


def write_tables(folder: Path, name: str, tables: Iterable[Any]) -> None:
    """Write tables with the same columns to one file, as Parquet and as CSV."""
    from pyarrow import csv, parquet

    writers: list[Any] = []
    for table in tables:
        if not writers:
            writers = [
                parquet.ParquetWriter(folder / f"{name}.parquet", table.schema),
                csv.CSVWriter(folder / f"{name}.csv", table.schema),
            ]
        for writer in writers:
            writer.write_table(table)
    for writer in writers:
        writer.close()


def make_files(folder: Path, n: int, name: str = "rows") -> None:
    """Write the rows as Parquet and as CSV."""
    import pyarrow as pa

    def tables() -> Iterator[pa.Table]:
        for start in range(0, n, ROWS):
            X, y = rows(start, min(ROWS, n - start))
            # Six digits, as in typical files; the reader's work depends on them.
            columns: dict[str, Any] = {f"x{j}": np.round(X[:, j], 6) for j in range(P)}
            yield pa.table(columns | {"y": y})

    write_tables(folder, name, tables())


def read_alone(path: Path) -> None:
    """Read a file with pyarrow, batch by batch, and do nothing with the rows."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 18) as file:
            for _ in file.iter_batches(1 << 16):
                pass
        return
    import pyarrow as pa
    from pyarrow import csv

    # Blocks of whole lines: faster than the streaming reader, and with less memory.
    types = {f"x{j}": pa.float64() for j in range(P)} | {"y": pa.int64()}
    parse = csv.ParseOptions(newlines_in_values=True)
    convert = csv.ConvertOptions(column_types=types)
    with path.open("rb") as file:
        file.readline()
        rest = b""
        while more := file.read(1 << 22):
            block, end, left = (rest + more).rpartition(b"\n")
            read = csv.ReadOptions(column_names=list(types), block_size=len(block) + 2)
            csv.read_csv(pa.BufferReader(block + end), read, parse, convert)
            rest = left


def learn_alone(n: int, K: int) -> tuple[Times, Times]:
    """Return when the learner is ready, and its time for arrays of n rows."""
    from rpnb import RPNBClassifier

    model = RPNBClassifier(K, random_state=0)
    ready = Times(time.perf_counter(), time.process_time())
    wall = worked = 0.0
    for start in range(0, n, ROWS):
        X, y = rows(start, min(ROWS, n - start))
        for begin in range(0, y.shape[0], CHUNK):
            part = slice(begin, begin + CHUNK)
            before, work = time.perf_counter(), time.process_time()
            model.predict_then_learn(X[part], y[part])
            wall += time.perf_counter() - before
            worked += time.process_time() - work
    return ready, Times(wall, worked)


def alone(what: str, path: Path, n: int, K: int, began: float) -> dict[str, float]:
    """Do one job in this process; return the times of its start and of its pass."""
    if what == "learner":
        ready, spent = learn_alone(n, K)
    else:
        read_alone(path.with_stem("few"))  # everything is imported by now
        ready = Times(time.perf_counter(), time.process_time())
        read_alone(path)
        spent = Times(
            time.perf_counter() - ready.wall, time.process_time() - ready.processor
        )
    return {
        "start_wall": ready.wall - began,
        "start_processor": ready.processor,
        "pass_wall": spent.wall,
        "pass_processor": spent.processor,
    }


def apart(what: str, path: Path, n: int, K: int) -> dict[str, float]:
    """Measure the reader or the learner in its own process."""
    command = [sys.executable, __file__, "--rows", str(n), "--n-estimators", str(K)]
    command += ["--one", what, str(path), str(time.perf_counter())]
    done = subprocess.run(  # noqa: S603 - our own words
        command, capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def command(path: Path, K: int) -> tuple[Times, dict[str, Any]]:
    """Run the command; return its times and its output."""
    code = "import rpnb.cli as c; raise SystemExit(c.main())"
    words = ["run", str(path), "--target", "y", "--json", "--quiet"]
    words += ["--model", "RPNB", "--n-estimators", str(K)]
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
    )
    used = np.array(os.times()[2:4]) - np.array(before[2:4])
    return Times(time.perf_counter() - start, float(used.sum())), json.loads(
        done.stdout
    )


def measure(path: Path, n: int, K: int, repeat: int) -> None:
    """Measure a file, and print the figures."""
    found: dict[str, list[float]] = {}
    peak, ours = 0.0, {}

    def note(what: str, times: dict[str, float]) -> None:
        for kind, seconds in times.items():
            found.setdefault(f"{what}_{kind}", []).append(seconds)

    command(path.with_stem("few"), K)  # which leaves bytecode behind
    for _ in range(repeat):
        for what in ("reader", "learner"):
            note(what, apart(what, path, n, K))
        start, _ = command(path.with_stem("few"), K)
        run, answer = command(path, K)
        note("run", {"start_wall": start.wall, "start_processor": start.processor})
        note("run", {"pass_wall": run.wall - start.wall})
        note("run", {"pass_processor": run.processor - start.processor})
        peak = max(peak, answer["peak_megabytes"])
        ours = answer["learners"][0]
    t = {key: statistics.median(values) for key, values in found.items()}
    print(f"{path.name}: {n:,} rows, {path.stat().st_size / 1e6:.0f} MB, K = {K}")
    for what in ("reader", "learner", "run"):
        print(
            f"  {what:8} start {t[f'{what}_start_wall']:5.1f} s "
            f"({t[f'{what}_start_processor']:.1f} s)  "
            f"pass {t[f'{what}_pass_wall']:5.1f} s "
            f"({t[f'{what}_pass_processor']:.1f} s)"
        )
    for kind in ("wall", "processor"):
        starts, passes = (
            {what: t[f"{what}_{part}_{kind}"] for what in ("reader", "learner", "run")}
            for part in ("start", "pass")
        )
        whole = {what: starts[what] + passes[what] for what in starts}
        print(
            f"  by {'the clock' if kind == 'wall' else 'the processor'}: "
            f"whole processes {whole['run'] / (whole['reader'] + whole['learner']):.2f}"
            ", passes alone "
            f"{passes['run'] / (passes['reader'] + passes['learner']):.2f}"
        )
    print(f"  at most {peak:.0f} MB; {ours['mistakes']:,} mistakes", flush=True)


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--n-estimators", type=int, default=200)
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    n, K = arguments.rows, arguments.n_estimators
    if arguments.one:
        what, path, began = arguments.one
        print(json.dumps(alone(what, Path(path), n, K, float(began))))
        return
    with tempfile.TemporaryDirectory() as folder:
        # Bytecode is kept, as for an installed package.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "bytecode"))
        make_files(Path(folder), n)
        make_files(Path(folder), 1000, "few")
        for name in ("rows.parquet", "rows.csv"):
            measure(Path(folder, name), n, K, arguments.repeat)


if __name__ == "__main__":
    main()
