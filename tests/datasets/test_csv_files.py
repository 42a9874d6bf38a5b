"""Data files: read if they are those of the catalogue, else refused by name."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rpnb.datasets import DataFileError, load
from rpnb.datasets.catalogue import Entry, describe, entries
from rpnb.datasets.csv_files import file_of, read_rows
from rpnb.datasets.dataset import Rows, count_labels, fingerprint

ENTRY = describe("Tic_Tac_Toe")  # small, and in the package


def text_of(rows: Rows) -> str:
    X, y = rows
    header = ",".join([f"x{j + 1}" for j in range(X.shape[1])] + ["label"])
    lines = [
        ",".join([f"{value:g}" for value in x] + [label])
        for x, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    return "\n".join([header, *lines]) + "\n"


BOARDS = load("Tic_Tac_Toe")
GOOD = text_of((BOARDS.X, BOARDS.y))


def write(folder: Path, text: str, entry: Entry = ENTRY) -> Path:
    path = file_of(entry, folder)
    path.write_bytes(gzip.compress(text.encode()))
    return path


def refusal(folder: Path, text: str) -> str:
    path = write(folder, text)
    with pytest.raises(DataFileError) as caught:
        read_rows(path, ENTRY)
    assert str(caught.value).startswith(str(path))
    return str(caught.value).removeprefix(str(path))


def test_the_right_file_is_read_whatever_its_compression(tmp_path: Path) -> None:
    path = file_of(ENTRY, tmp_path)
    for level in (1, 9):
        path.write_bytes(gzip.compress(GOOD.encode(), level))
        X, y = read_rows(path, ENTRY)
        assert_array_equal(X, BOARDS.X)
        assert_array_equal(y, BOARDS.y)
        assert X.dtype == np.float64
        assert X.flags.c_contiguous
        assert y.dtype.kind == "U"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("x4,x5,x6", "x4,x6", ", header: must name the columns x1..x9,label; 'x5' is"),
        (",label", ",class", ", header: must name the columns x1..x9,label; 'label' i"),
        ("x1,x2", "x2,x1", ", header: must name the columns x1..x9,label in this ord"),
    ],
)
def test_a_wrong_header_is_named(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert refusal(tmp_path, GOOD.replace(old, new, 1)).startswith(message)


@pytest.mark.parametrize("cell", ["x", "", "nan", "inf", "0x1", "1 2"])
def test_a_cell_that_is_no_number_is_named(tmp_path: Path, cell: str) -> None:
    lines = GOOD.splitlines()
    cells = lines[17].split(",")
    cells[4] = cell
    lines[17] = ",".join(cells)
    message = refusal(tmp_path, "\n".join(lines))
    assert message == f", row 17, column x5: must be a finite number, got {cell!r}"


def test_a_row_with_too_few_columns_is_named(tmp_path: Path) -> None:
    lines = GOOD.splitlines()
    lines[3] = lines[3].replace("0,", "", 1)
    message = refusal(tmp_path, "\n".join(lines))
    assert message == ", row 3: must have 9 features and a label, got 9 columns"


def test_an_unknown_label_is_named(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD.replace("negative", "lost", 1))
    expected = ", row 627, column label: must be one of negative, positive, got 'lost'"
    assert message == expected


def test_other_shapes_and_class_counts_are_named(tmp_path: Path) -> None:
    one_short = GOOD[: GOOD.rstrip("\n").rindex("\n") + 1]
    assert refusal(tmp_path, one_short) == ": must have 958 rows, got 957"
    message = refusal(tmp_path, GOOD.replace("positive", "negative", 1))
    assert message == ", column label: must hold 'negative' 332 times, got 333"
    assert "must name the columns" in refusal(tmp_path, "")


def test_a_changed_value_is_found_by_the_checksum(tmp_path: Path) -> None:
    lines = GOOD.splitlines()
    lines[1] = "2" + lines[1][1:]
    message = refusal(tmp_path, "\n".join(lines) + "\n")
    assert f"must be {ENTRY.sha256}, got " in message
    assert message.endswith("some value differs from the catalogue's")


def test_rows_in_another_order_are_refused_with_a_hint(tmp_path: Path) -> None:
    header, *lines = GOOD.splitlines()
    message = refusal(tmp_path, "\n".join([header, *reversed(lines)]) + "\n")
    assert message.endswith("but in another order or notation")


def test_text_outside_ascii_is_named(tmp_path: Path) -> None:
    message = refusal(tmp_path, GOOD.replace("positive", "pösitive", 1))
    assert message.endswith("must be plain ASCII text")


def test_a_damaged_gzip_file_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataFileError, match="cut short"):
        read_rows(path, ENTRY)
    path.write_bytes(GOOD.encode())
    with pytest.raises(DataFileError, match="not a valid gzip file"):
        read_rows(path, ENTRY)
    path.write_bytes(whole[:40] + bytes(40) + whole[80:])
    with pytest.raises(DataFileError, match="not a valid gzip file"):
        read_rows(path, ENTRY)
    path.unlink()
    with pytest.raises(DataFileError, match="cannot be read"):
        read_rows(path, ENTRY)


@pytest.mark.parametrize("slug", [s for s, e in entries().items() if e.sha256])
def test_every_file_is_what_the_catalogue_says(slug: str, data_folder: Path) -> None:
    entry = entries()[slug]
    dataset = load(slug, source="file", data=data_folder)
    assert dataset.X.shape == (entry.n, entry.p)
    assert dataset.X.flags.c_contiguous
    assert count_labels(dataset.y) == dict(sorted(entry.class_counts.items()))
    assert fingerprint(dataset.X, dataset.y) == entry.rows
    kind = "package" if entry.included == "file" else "file"
    assert dataset.description.obtained == kind
