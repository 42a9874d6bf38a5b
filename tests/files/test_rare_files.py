"""Rare files: other encodings, damaged places, unusual types."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from numpy.testing import assert_array_equal

from rpnb.files import FileError, LabelledFile, ReadOptions
from rpnb.files.formats import lines
from rpnb.files.formats.byte_sources import BLOCK
from rpnb.files.formats.delimited import Delimited
from rpnb.files.formats.dialect import delimiter_named, read_header
from rpnb.files.formats.encodings import check_encoding
from rpnb.files.labelled_file import format_of

Y = ReadOptions(target="y")
NONE = ReadOptions(target=None)
ACCENTS = "".join(f"{i},été,a\n" for i in range(9)).encode()
LONG = b"1,2,a\n" * (BLOCK // 6 + 2)


def read(path: Path, options: ReadOptions) -> tuple[Any, Any]:
    with LabelledFile(str(path), options) as file:
        chunks = list(file.chunks(1_000_000))
    assert len(chunks) == 1
    return chunks[0].X, chunks[0].y


REFUSED: list[tuple[str, bytes, ReadOptions, str]] = [
    (
        "r.csv",
        b"x,\xff,y\n" + ACCENTS,
        Y,
        ": the first line is not UTF-8 text; set --en",
    ),
    ("r.csv", b"\x00\x01\x02\x00\x07" * 9, Y, ": a binary file, not a table of text"),
    ("r.csv", b"\x01\x02\xff\x07" * 9, Y, ": a binary file, not a table of text"),
    ("r.csv", b"x,w,y\n" + LONG + b"1,\x00,b\n", Y, "damaged or not text"),
    ("r.csv", b"", Y, ": the file is empty"),
    ("r.csv", b"\xef\xbb\xbf", Y, ": the file is empty"),
    (
        "r.csv",
        b"x,y\n1,a\n",
        ReadOptions(target="y", drop=("y",)),
        "target 'y' cannot be dropped",
    ),
    (
        "r.csv",
        b"x,y\n1,\xe9\n",
        ReadOptions(target="y", encoding="ascii"),
        "byte 0xe9 is invalid",
    ),
    ("r.arff", b"@attribute x real\n@attribute\n@data\n1\n", Y, ": cannot be parsed"),
    ("r.arff", b"@attribute x blob\n@data\n1\n", Y, "column x: unknown type 'blob'"),
    ("r.arff", b"@relation r\n@data\n1\n", Y, ": not an ARFF file: no @attribute"),
    (
        *("r.jsonl", b'{"x":"\xc3\xa9\xc3\xa9","y":2}\n{"x":"\xe9","y":2}\n', Y),
        "row 2: not UTF-8 text; set the encoding with --encoding, such as cp1252",
    ),
    ("r.svm", b"1\n2\n", NONE, ": there are no features"),
    ("r.svm", b"1 1:2\nx 1:3\n", NONE, "row 2: not a row of SVMlight: 'x 1:3'"),
    ("r.svm", b"# of rows\n\n1 1:2\n1 1:q\n", NONE, "row 2: not a row of SVMlight"),
    ("r.svm", b"1 1:2 1:3\n", NONE, "row 1: features must be in ascending order"),
    ("r.parquet", b"", Y, ": the file is empty"),
    ("r.feather", b"", Y, ": the file is empty"),
]


@pytest.mark.parametrize(("name", "content", "options", "message"), REFUSED)
def test_unreadable_files_are_refused_with_the_place(
    name: str, content: bytes, options: ReadOptions, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        read(path, options)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_zero_byte_far_into_a_file_has_its_row(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b"x,w,y\n" + LONG + b"1,2,a\n1,\x00,b\n")
    row = LONG.count(b"\n") + 2
    with pytest.raises(FileError, match=f"row {row}: a zero byte"):
        read(path, Y)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_wide_characters_and_old_ends_of_lines_are_recognised(
    encoding: str, end: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(end.join(["x,y", "1,a", "2,b", ""]).encode(encoding))
    X, y = read(path, Y)
    assert X.tolist() == [[1.0], [2.0]]
    assert y.tolist() == ["a", "b"]


def test_old_ends_of_lines_are_those_of_the_whole_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST", 1 << 16)  # a line, not a block
    path = tmp_path / "r.csv"
    path.write_bytes(b"x,w,y\r" + LONG.replace(b"\n", b"\r") * 2)
    with LabelledFile(str(path), Y) as file:
        rows = sum(len(chunk.y) for chunk in file.chunks(1_000_000))
    assert rows == 2 * LONG.count(b"\n")


def test_separators_of_thousands_may_come_late(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(b"x,w,y\n" + LONG + b"1_000,2,a\n")
    X, _ = read(path, ReadOptions(target="y", thousands="_"))
    assert X[-1].tolist() == [1000.0, 2.0]


def test_headers() -> None:
    def header(head: bytes, named: bool = True) -> Any:
        found = read_header("f", head, ",", named)
        return found.names, found.rest

    assert header(b"a, b ,c\r\n1,2,3\n") == (["a", "b", "c"], b"1,2,3\n")
    assert header(b'"a\nb",c\n1,2\n') == (["a\nb", "c"], b"1,2\n")
    assert header(b"1,2\n3,4\n", named=False) == (["1", "2"], b"1,2\n3,4\n")
    assert header(b"a,1\n") == (["a", "1"], b"")
    names, _ = header(b",a,\n")
    assert names[1] == "a"
    assert len({*names}) == 3
    with pytest.raises(FileError, match="f, header: column 1 has no name"):
        header(f",{names[0]}\n".encode())
    for head, message in (
        (b"a,\xff\n", "not UTF-8 text"),
        (b'"a,b\n', "unmatched"),
        (b"a\n1\n", "the first line has a single column with the delimiter ','"),
        (b"1,2.5\n", "the first line contains numbers, not column names"),
    ):
        with pytest.raises(FileError, match=message):
            header(head)


def test_blocks_have_at_least_64_lines_of_a_wide_file(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    sizes = []
    for width in (10, BLOCK // 64, BLOCK // 64 + 1, (1 << 25) // 64 + 9):
        name = "x" * (width - 3)
        path.write_text(f"{name},y\n1,a\n")
        assert path.read_bytes().index(b"\n") + 1 == width
        with closing(Delimited(str(path), Y)) as file:
            sizes.append(file._block.get("size"))
    assert sizes == [None, None, BLOCK + 64, 1 << 25]


LINES = {
    "csv": ("x,w,y\n", "1,2,a\n"),
    "jsonl": ("", '{"x": 1, "y": "a"}\n'),
    "arff": ("@attribute x real\n@attribute y {a,b}\n@data\n", "1,a\n"),
    "svm": ("", "1 1:2 2:3\n"),
}


@pytest.mark.parametrize("kind", LINES)
def test_of_a_large_file_one_block_is_read_at_first(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"r.{kind}"
    head, line = LINES[kind]
    path.write_text(head + line * (BLOCK // len(line) + 9))
    options = ReadOptions(target=None, features=2) if kind == "svm" else Y
    with LabelledFile(str(path), options) as file:
        reader: Any = file._reader
        assert BLOCK - len(head) <= len(reader._first) <= BLOCK
    # Where a line is longer, as many as it takes.
    path.write_text(f"{'x' * BLOCK},y\n1,a\n" if kind == "csv" else head + line)
    with LabelledFile(str(path), options) as file:
        assert sum(chunk.X.shape[0] for chunk in file.chunks(9)) == 1


def test_names_of_signs_encodings_and_formats() -> None:
    assert delimiter_named("TAB") == "\t"
    for bad in ("ab", "", '"', "\n", "é", "\x00"):
        with pytest.raises(ValueError, match=r"one ASCII character or .*comma, pipe"):
            delimiter_named(bad)
    assert check_encoding("LATIN1") == "iso8859-1"
    for bad in ("nothing", "base64", "a\x00"):
        with pytest.raises(ValueError, match="unknown text encoding"):
            check_encoding(bad)
    assert format_of("-", "csv") == "csv"
    assert format_of("A.ARFF.GZ") == "arff"


def test_texts_of_arff_are_categories_and_blanks_around_marks_are_none(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.arff"
    path.write_text(
        "% a comment\n@relation r\n@attribute 'a word' string\n"
        "@attribute c {u, 'v w', \"x\"}\n@attribute y {p,q}\n@data\n"
        "one,u,p\n% another\n'two', 'v w' ,q\n one ,x,p\n"
    )
    X, y = read(path, Y)
    assert X.tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]]
    assert y.tolist() == ["p", "q", "p"]
    path.write_text(path.read_text() + "one, ? ,q\n")
    with pytest.raises(FileError, match="row 4, column c: the value is missing"):
        read(path, Y)


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_labels_of_other_types(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"r.{kind}"
    feature = pa.array([1.0, 2.0, 3.0])

    def write(labels: Any) -> None:
        table = pa.table({"x": feature, "y": labels})
        if kind == "parquet":
            pyarrow.parquet.write_table(table, path)
        else:
            pyarrow.feather.write_feather(table, path)

    write(pa.array([3, 5, 3]).cast(pa.decimal128(19)))
    assert read(path, Y)[1].tolist() == [3, 5, 3]
    write(pa.array([7, 5, 7]).dictionary_encode())
    assert read(path, Y)[1].tolist() == [7, 5, 7]
    write(pa.array([200, 2**63, 2], pa.uint64()))
    with pytest.raises(
        FileError, match="row 2, column y: a label beyond signed 64-bit"
    ):
        read(path, Y)


@pytest.mark.parametrize("first", [True, False])
def test_damaged_text_of_the_first_rows_is_named(first: bool, tmp_path: Path) -> None:
    texts = [b"\xff\xfe", *[b"u"] * 50] if first else [*[b"u"] * 50, b"\xff\xfe"]
    table = pa.table({"a": pa.array(texts).view(pa.string()), "y": ["p"] * 51})
    for plain in (True, False):
        path = tmp_path / "r.parquet"
        pyarrow.parquet.write_table(table, path, use_dictionary=not plain)
        with pytest.raises(FileError) as caught:
            read(path, Y)
        assert str(caught.value).startswith(f"{path}: ")
        assert "UTF8" in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "feather", "arff"])
def test_one_hot_columns_have_a_place_for_each_value_of_the_file(
    kind: str, tmp_path: Path
) -> None:
    """Values are those that the header declares, or those of a first pass."""
    path = tmp_path / f"r.{kind}"
    table = pa.table({"word": [*"uvwu"], "x": [1, 2, 3, 4], "y": [*"abab"]})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path)
    elif kind == "jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    else:
        declared = "@attribute word {u,v,w}\n@attribute x real\n@attribute y {a,b}\n"
        head = "word,x,y\n" if kind == "csv" else f"{declared}@data\n"
        path.write_text(head + "u,1,a\nv,2,b\nw,3,a\nu,4,b\n")
    X, _ = read(path, ReadOptions(target="y", categorical="one-hot"))
    words = np.array([0, 1, 2, 0])
    assert_array_equal(X, np.column_stack([np.eye(3)[words], np.arange(1.0, 5.0)]))


def test_a_sparse_file_continues_the_labels_of_an_earlier_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "r.svm"
    path.write_text("7 1:1\n3 2:1\n")
    options = ReadOptions(target=None, features=2)
    with LabelledFile(str(path), options) as file:
        (chunk,) = file.chunks(9)
        state = file.encoder.to_json(chunk.position)
    path.write_text("3 1:1\n5 1:1\n7 2:1\n")
    with LabelledFile(str(path), options, state=state) as file:
        (chunk,) = file.chunks(9)
    assert chunk.y.tolist() == [3, 5, 7]
    assert chunk.codes.tolist() == [1, 2, 0]
    more = ReadOptions(target=None, features=3)
    with pytest.raises(FileError, match="saved with 2 sparse features, the file has 3"):
        LabelledFile(str(path), more, state=state)
