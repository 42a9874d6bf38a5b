"""Small Parquet files that would take gigabytes."""

import subprocess
import sys
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

_RUN = """
import resource, sys
import pyarrow.parquet
from rpnb.cli import main
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
words = ["run", sys.argv[1], "--target", "kind", "--quiet", "--model", "GaussianNB"]
code = main([*words, "--json"])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(f"{code} {(after - before) // 1024}", file=sys.stderr)
"""


def run(path: Path) -> tuple[int, int, str]:
    """Return the exit code, the memory in MB, and what was printed besides."""
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", _RUN, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    *printed, last = done.stderr.splitlines()
    code, memory = last.split()
    return int(code), int(memory), "\n".join(printed)


def write(path: Path, text: str, rows: int) -> None:
    """Write a table with a text that all rows share, stored once."""
    codes = pa.array([0] * rows, pa.int32())
    texts = pa.DictionaryArray.from_arrays(codes, pa.array([text]))
    columns = {"t": texts, "a": [float(i % 7) for i in range(rows)]}
    columns["kind"] = ["p", "q"] * (rows // 2)
    parquet.write_table(pa.table(columns), path, compression="zstd", store_schema=False)


@pytest.mark.skipif(sys.platform != "linux", reason="needs memory in kilobytes")
def test_long_texts_of_many_rows_are_not_copied_for_each(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, "x" * 1_500_000, 1000)
    assert path.stat().st_size < 10_000
    code, memory, _ = run(path)
    assert code == 0
    assert memory < 400


@pytest.mark.skipif(sys.platform != "linux", reason="needs memory in kilobytes")
def test_a_text_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, "x" * 280_000_000, 2)
    assert path.stat().st_size < 100_000
    code, memory, printed = run(path)
    assert code == 2
    assert "bytes would unpack to 280" in printed
    assert memory < 200
