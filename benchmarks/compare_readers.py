"""Compare what could read files for `rpnb run`: pyarrow, polars, DuckDB.

Each reads the same CSV and Parquet file (8 numbers, 2 categories, a label) in chunks of
bounded memory and hands over arrays: numbers (rows, 8), codes of the categories and of
the labels. A process a measurement; times are medians, of the wall and of the
processor, memory is the peak over that of the process with the library imported. "in
order" says whether the rows came in the order of the file.

    python benchmarks/compare_readers.py --rows 3000000 --repeat 3

polars and DuckDB are needed for this comparison only.
"""

import argparse
import importlib.metadata
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tables import ROWS, write_tables

P = 8
NAMES = [f"x{j}" for j in range(P)]
CATEGORIES = ["c0", "c1"]
CHUNK = 65536


def make_files(folder: Path, rows: int, name: str = "rows") -> None:
    """Write the same rows as CSV and Parquet."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    words = np.array([f"word{i:03d}" for i in range(200)])

    def tables() -> Iterator[pa.Table]:
        for start in range(0, rows, ROWS):
            n = min(ROWS, rows - start)
            columns: dict[str, Any] = {x: rng.standard_normal(n) for x in NAMES}
            columns |= {c: words[rng.integers(0, 200, n)] for c in CATEGORIES}
            columns["y"] = words[rng.integers(0, 3, n)]
            # The row's number, exact in double precision, shows the order.
            columns["x0"] = np.arange(start, start + n, dtype=np.float64)
            yield pa.table(columns)

    write_tables(folder, name, tables())


def by_pyarrow(path: Path) -> Iterator[tuple[Any, list[Any]]]:
    """Read with pyarrow: one batch after the other.

    By DLPack, since `to_numpy` imports pandas where it is installed.
    """
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pa_parquet

    text = [*CATEGORIES, "y"]
    if path.suffix == ".csv":
        types = dict.fromkeys(text, pa.dictionary(pa.int32(), pa.string()))
        batches = pa_csv.open_csv(
            path,
            read_options=pa_csv.ReadOptions(block_size=4 << 20),
            convert_options=pa_csv.ConvertOptions(column_types=types),
        )
    else:
        # Without pre_buffer, or the bytes of the whole file stay in memory.
        file = pa_parquet.ParquetFile(
            path, read_dictionary=text, pre_buffer=False, buffer_size=1 << 18
        )
        batches = file.iter_batches(CHUNK)
    for batch in batches:
        X = np.empty((batch.num_rows, P))
        for j, name in enumerate(NAMES):
            X[:, j] = np.from_dlpack(batch.column(name))
        yield X, [np.from_dlpack(batch.column(name).indices) for name in text]


def by_blocks(path: Path) -> Iterator[tuple[Any, list[Any]]]:
    """Read with pyarrow too, but CSV in blocks of whole lines that are cut here."""
    if path.suffix != ".csv":
        yield from by_pyarrow(path)
        return
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    text = [*CATEGORIES, "y"]
    types = dict.fromkeys([*NAMES], pa.float64())
    types |= dict.fromkeys(text, pa.dictionary(pa.int32(), pa.string()))
    with path.open("rb") as file:
        names = file.readline().decode().strip().replace('"', "").split(",")
        rest = b""
        while more := file.read(4 << 20):
            block, line_end, rest = (rest + more).rpartition(b"\n")
            block += line_end
            table = pa_csv.read_csv(
                pa.BufferReader(block),
                read_options=pa_csv.ReadOptions(
                    column_names=names, block_size=len(block) + 1
                ),
                convert_options=pa_csv.ConvertOptions(column_types=types),
            )
            batch = table.to_batches()[0]
            X = np.empty((batch.num_rows, P))
            for j, name in enumerate(NAMES):
                X[:, j] = np.from_dlpack(batch.column(name))
            yield X, [np.from_dlpack(batch.column(name).indices) for name in text]


def by_polars(path: Path) -> Iterator[tuple[Any, list[Any]]]:
    """Read with polars: its streaming engine, one batch after the other."""
    import polars as pl

    text = [*CATEGORIES, "y"]
    scan = pl.scan_csv if path.suffix == ".csv" else pl.scan_parquet
    plan = scan(path).with_columns(pl.col(text).cast(pl.Categorical))
    for frame in plan.collect_batches(chunk_size=CHUNK, maintain_order=True):
        X = np.ascontiguousarray(frame.select(NAMES).to_numpy())
        yield X, [frame[name].to_physical().to_numpy() for name in text]


def by_duckdb(path: Path) -> Iterator[tuple[Any, list[Any]]]:
    """Read with DuckDB: a query fetched vector by vector, as Arrow batches."""
    import duckdb

    text = [*CATEGORIES, "y"]
    connection = duckdb.connect()
    connection.execute("SET preserve_insertion_order = true")
    query = connection.sql(f"SELECT * FROM '{path}'")  # noqa: S608 - our own path
    for batch in query.to_arrow_reader(CHUNK):
        X = np.empty((batch.num_rows, P))
        for j, name in enumerate(NAMES):
            X[:, j] = np.from_dlpack(batch.column(name))
        codes = [batch.column(name).dictionary_encode().indices for name in text]
        yield X, [np.from_dlpack(each) for each in codes]


READERS: dict[str, Callable[[Path], Iterator[tuple[Any, list[Any]]]]] = {
    "pyarrow": by_pyarrow,
    "pyarrow, blocks": by_blocks,
    "polars": by_polars,
    "duckdb": by_duckdb,
}


def _version(reader: str) -> str:
    return importlib.metadata.version(reader.partition(",")[0])


def _peak() -> float:
    """Return the most memory that this process has held, in megabytes (Linux)."""
    # Not getrusage: a child's figure there begins with its parent's.
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024


def measure(reader: str, path: Path) -> dict[str, Any]:
    """Read a file once and say how it went."""
    for _ in READERS[reader](path.with_name("few" + path.suffix)):
        pass  # whatever is to be imported has been
    before = _peak()
    start, worked = time.perf_counter(), time.process_time()
    rows, ordered, most = 0, True, 0
    for X, codes in READERS[reader](path):
        n = X.shape[0]
        assert all(len(each) == n for each in codes)
        ordered &= bool(np.array_equal(X[:, 0], np.arange(rows, rows + n)))
        rows, most = rows + n, max(most, n)
    seconds = time.perf_counter() - start
    return {
        "rows": rows,
        "seconds": seconds,
        "processor": time.process_time() - worked,
        "megabytes": _peak() - before,
        "in order": ordered,
        "largest chunk": most,
    }


def main() -> None:
    """Compare the readers that are installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.one[0], Path(arguments.one[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder), arguments.rows)
        make_files(Path(folder), 100, "few")
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for _ in range(arguments.repeat):  # interleaved: the machine's moods are shared
            for name in ("rows.csv", "rows.parquet"):
                for reader in READERS:
                    path = str(Path(folder, name))
                    command = [sys.executable, __file__, "--one", reader, path]
                    done = subprocess.run(  # noqa: S603 - our own words
                        command, capture_output=True, text=True, check=False
                    )
                    if done.returncode:
                        print(done.stderr)
                    else:
                        answer = json.loads(done.stdout)
                        found.setdefault((name, reader), []).append(answer)
        for name in ("rows.csv", "rows.parquet"):
            size = Path(folder, name).stat().st_size / 1e6
            print(f"\n{name}: {arguments.rows:,} rows, {size:.0f} MB")
            for reader in READERS:
                runs = found.get((name, reader))
                if runs is None:
                    continue
                wall, work = (
                    statistics.median(run[what] for run in runs)
                    for what in ("seconds", "processor")
                )
                print(
                    f"  {reader:15} {_version(reader):8}"
                    f" {wall:6.2f} s  {work:6.2f} s of processor"
                    f"  {max(r['megabytes'] for r in runs):7.0f} MB"
                    f"  in order: {'yes' if all(r['in order'] for r in runs) else 'NO'}"
                    f"  largest chunk: {max(r['largest chunk'] for r in runs):,} rows"
                )


if __name__ == "__main__":
    main()
