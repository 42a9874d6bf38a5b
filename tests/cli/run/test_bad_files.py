"""Bad files: one line that names file, row and column, exit code 2, nothing written."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rpnb.cli import main

HEAD = b"a,b,kind\n"
ROWS = b"".join(f"{i / 7:.3f},{i % 5},{'pq'[i % 2]}\n".encode() for i in range(30_000))
FEW = ROWS[: ROWS.index(b"\n", 2000) + 1]


def truncated() -> bytes:
    noise = np.random.default_rng(0).integers(0, 1 << 30, (60_000, 2)).tolist()
    rows = b"".join(f"{a},{b},{'pq'[a % 2]}\n".encode() for a, b in noise)
    return gzip.compress(HEAD + rows)[:-1000]


def with_row(number: int, row: bytes) -> bytes:
    rows = ROWS.splitlines(keepends=True)
    rows[number - 1] = row + b"\n"
    return HEAD + b"".join(rows)


BAD: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "truncated gzip": ("rows.csv.gz", truncated, "the gzip file is truncated"),
    "damaged gzip": (
        "rows.csv.gz",
        lambda: b"\x1f\x8b" + b"x" * 100,
        "not a valid gzip file",
    ),
    "wrong number of columns": (
        "rows.csv",
        lambda: with_row(20_001, b"1,2"),
        "row 20001: 2 columns, expected 3",
    ),
    "NaN": (
        "rows.csv",
        lambda: with_row(20_002, b"NaN,2,p"),
        "row 20002, column a: the value is missing or NaN",
    ),
    "no number": (
        "rows.csv",
        lambda: with_row(20_003, b"1,two,p"),
        "row 20003, column b: 'two' is not a number",
    ),
    "missing label": (
        "rows.csv",
        lambda: with_row(20_004, b"1,2,"),
        "row 20004, column kind: the label is missing",
    ),
    "unknown target": (
        "rows.csv",
        lambda: (HEAD + ROWS).replace(b"kind", b"king"),
        "there is no column 'kind'; the columns are a, b, king; did you mean 'king'?",
    ),
    "10,000 labels": (
        "rows.csv",
        lambda: HEAD + b"".join(f"1,2,{i}\n".encode() for i in range(10_000)),
        "row 1001, column kind: more than 1000 different labels",
    ),
    "empty file": ("rows.csv", lambda: b"", "the file is empty"),
    "empty gzip": ("rows.csv.gz", lambda: gzip.compress(b""), "the file is empty"),
    "binary file": ("rows.csv", lambda: bytes(range(256)) * 9, "a binary file"),
    "no Parquet": ("rows.parquet", lambda: HEAD + ROWS, "rows.parquet: "),
    "empty Parquet": ("rows.parquet", lambda: b"", "the file is empty"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_named_and_nothing_is_written(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content, message = BAD[what]
    path = tmp_path / name
    path.write_bytes(content())
    words = ["run", str(path), "--target", "kind", "--model", "OGD", "--quiet"]
    for option in ("--predictions", "--save", "--report"):
        words += [option, str(tmp_path / option.strip("-"))]
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"rpnb run: {path}")
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("nowhere.csv", "nowhere.csv: there is no such file"),
        (".", "a folder, not a file"),
    ],
)
def test_a_missing_file_is_named(
    file: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", str(tmp_path / file), "--target", "y", "--format", "csv"]
    assert main(command) == 2
    assert message in capsys.readouterr().err


def test_neither_file_nor_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "lettre"]) == 2
    err = capsys.readouterr().err
    assert "lettre: no such file" in err
    assert "Letter" in err


def test_files_that_were_there_stay_as_they_were_where_a_run_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(with_row(20_003, b"1,two,p"))
    words = ["run", str(path), "--target", "kind", "--model", "OGD", "--quiet"]
    words += ["--chunk-rows", "1000"]
    outputs = [tmp_path / name for name in ("predictions", "save", "report")]
    for output in outputs:
        output.write_text("as it was")
        words += [f"--{output.name}", str(output)]
    assert main(words) == 2
    assert "row 20003, column b" in capsys.readouterr().err
    assert [output.read_text() for output in outputs] == ["as it was"] * 3
    assert sorted(tmp_path.iterdir()) == sorted([path, *outputs])
    # With sound rows all of them are replaced.
    path.write_bytes(HEAD + FEW)
    assert main(words) == 0
    assert all(b"as it was" not in output.read_bytes() for output in outputs)
    assert sorted(tmp_path.iterdir()) == sorted([path, *outputs])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("option", ["--predictions", "--save", "--report"])
def test_a_full_disk_is_one_line(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    # Predictions of all rows are written in several pieces.
    path.write_bytes(HEAD + (ROWS if option == "--predictions" else FEW))
    words = ["run", str(path), "--target", "kind", "--model", "OGD", "--quiet"]
    assert main([*words, option, "/dev/full"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "rpnb run: /dev/full cannot be written: No space left on device\n"


def test_the_file_that_is_read_is_never_written_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(HEAD + FEW)
    link, hard = tmp_path / "link.csv", tmp_path / "hard.csv"
    link.symlink_to(path)
    hard.hardlink_to(path)
    words = ["run", str(path), "--target", "kind", "--model", "OGD", "--quiet"]
    for name in (path, link, hard):
        for option in ("--predictions", "--save", "--report"):
            assert main([*words, option, str(name)]) == 2
            assert "is an input file" in capsys.readouterr().err
    assert path.read_bytes() == HEAD + FEW
    out = tmp_path / "out"
    again = tmp_path / "again"
    again.symlink_to(out)
    assert main([*words, "--predictions", str(out), "--save", str(again)]) == 2
    assert "used twice" in capsys.readouterr().err


def test_links_pipes_and_devices_are_written_through(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import threading

    from rpnb.baselines import OGD

    path = tmp_path / "rows.csv"
    path.write_bytes(HEAD + FEW)
    words = ["run", str(path), "--target", "kind", "--model", "OGD", "--quiet"]
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    assert main([*words, "--predictions", str(link), "--report", "/dev/null"]) == 0
    assert link.is_symlink()
    assert target.read_text().startswith("row,truth,prediction")
    nowhere = ["--predictions", "/dev/null", "--save", "/dev/null"]
    assert main([*words, *nowhere, "--report", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()
    pipe, received = tmp_path / "pipe", tmp_path / "model.rpnb"
    os.mkfifo(pipe)
    reader = threading.Thread(
        target=lambda: received.write_bytes(pipe.read_bytes()), daemon=True
    )
    reader.start()
    assert main([*words, "--save", str(pipe)]) == 0
    reader.join(20)
    assert pipe.is_fifo()
    assert OGD.load(received).n_samples_seen_ > 0
