"""Every format gives the same arrays, for any chunk size."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb.files import (
    FileError,
    LabelledArrays,
    LabelledChunk,
    LabelledFile,
    ReadOptions,
)
from rpnb.files.formats import lines as file_lines
from rpnb.files.formats.arrow_arrays import kind_of

N = 400
COLOURS = ["red", "green", "deep blue"]


def table(n: int = N) -> dict[str, list[Any]]:
    """Columns that confuse readers: late fractions, text, flags."""
    rng = np.random.default_rng(5)
    whole = rng.integers(-9, 9, n).astype(float)
    whole[n // 2] = 0.25  # an integer column until here
    return {
        "a": rng.standard_normal(n).tolist(),
        "late": whole.tolist(),
        "colour": [COLOURS[i] for i in rng.integers(0, 3, n)],
        "flag": (rng.random(n) < 0.5).tolist(),
        "label": [f"class {i}" for i in rng.integers(0, 3, n)],
    }


def expected(columns: dict[str, list[Any]]) -> tuple[Any, Any]:
    seen: list[str] = []
    for value in columns["colour"]:
        if value not in seen:
            seen.append(value)
    codes = [float(seen.index(value)) for value in columns["colour"]]
    flags = [float(value) for value in columns["flag"]]
    X = np.array([columns["a"], columns["late"], codes, flags]).T
    return X, np.array(columns["label"])


def as_csv(columns: dict[str, list[Any]], delimiter: str = ",") -> str:
    lines = [delimiter.join(columns)]
    for row in zip(*columns.values(), strict=True):
        cells = [str(v).lower() if isinstance(v, bool) else str(v) for v in row]
        lines.append(delimiter.join(c.removesuffix(".0") for c in cells))
    return "\n".join(lines) + "\n"


def as_arff(columns: dict[str, list[Any]]) -> str:
    head = [
        "% a comment",
        "@RELATION rows",
        "@attribute a real",
        "@attribute late NUMERIC",
        "@attribute colour {red, green, 'deep blue'}",
        "@attribute flag integer",
        "@attribute label {'class 0','class 1','class 2'}",
        "@DATA",
        "% another",
    ]
    for a, late, colour, flag, label in zip(*columns.values(), strict=True):
        head.append(f"{a!r}, {late!r},'{colour}' ,{int(flag)}, '{label}'")
        head.append("   % between rows")
    return "\n".join(head) + "\n"


def as_json_lines(columns: dict[str, list[Any]]) -> str:
    rows = zip(*columns.values(), strict=True)
    return "".join(
        json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows
    )


def write(kind: str, folder: Path, columns: dict[str, list[Any]]) -> str:
    path = folder / f"rows.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(pa.table(columns), path, row_group_size=150)
        return str(path)
    text = {
        "csv": as_csv,
        "csv.gz": as_csv,
        "tsv": lambda c: as_csv(c, "\t"),
        "jsonl": as_json_lines,
        "ndjson.gz": as_json_lines,
        "arff": as_arff,
    }[kind](columns)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if kind.endswith(".gz") else data)
    return str(path)


def read(
    path: Path | str, options: ReadOptions, rows: int = 10, shuffle: int | None = None
) -> list[LabelledChunk]:
    with LabelledFile(str(path), options) as file:
        return list(file.chunks(rows, shuffle))


def joined(chunks: list[LabelledChunk]) -> tuple[Any, Any]:
    X = np.concatenate([chunk.X for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks])


KINDS = ["csv", "csv.gz", "tsv", "parquet", "jsonl", "ndjson.gz", "arff"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [700, 1 << 22])
def test_each_format_gives_the_rows(
    kind: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = table()
    path = write(kind, tmp_path, columns)
    small = {"quote": b"", "size": block}
    monkeypatch.setattr(file_lines.whole_lines, "__kwdefaults__", small)
    monkeypatch.setattr(file_lines, "BLOCK", block)
    file = LabelledFile(path, ReadOptions(target="label"))
    chunks = list(file.chunks(64))
    file.close()
    assert [len(chunk.y) for chunk in chunks] == [64] * 6 + [16]
    assert_array_equal(
        np.concatenate([chunk.rows for chunk in chunks]), range(1, N + 1)
    )
    X, y = joined(chunks)
    assert_array_equal(X, expected(columns)[0])
    assert_array_equal(y, expected(columns)[1])
    assert file.share() in (None, 1.0)
    names = ["class 0", "class 1", "class 2"]
    assert file.declared == (names if kind == "arff" else None)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_threads_of_arrow_hold_nothing_of_python(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may let it go while the interpreter exits, which ends the process."""
    sources: list[Any] = []

    def reader(source: Any) -> Any:
        sources.append(source)
        return original(source)

    original = pa.BufferReader
    monkeypatch.setattr(pa, "BufferReader", reader)
    read(write(kind, tmp_path, table()), ReadOptions(target="label"))
    assert {type(source) for source in sources} == {pa.Buffer}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_shuffled_file_is_the_file_of_shuffled_rows(
    kind: str, tmp_path: Path
) -> None:
    columns = table()
    order = np.random.default_rng(7).permutation(N)
    moved = {name: [values[i] for i in order] for name, values in columns.items()}
    path = write(kind, tmp_path, columns)
    chunks = read(path, ReadOptions(target="label"), 50, shuffle=7)
    X, y = joined(chunks)
    assert_array_equal(X, expected(moved)[0])
    assert_array_equal(y, expected(moved)[1])
    assert_array_equal(np.concatenate([chunk.rows for chunk in chunks]), order + 1)


@given(rows=st.integers(1, 90))
def test_arrays_are_chunked_like_files(rows: int) -> None:
    X = np.arange(160.0).reshape(80, 2)
    y = np.array(list("abca" * 20))
    source = LabelledArrays("arrays", X, y)
    chunks = list(source.chunks(rows))
    assert {len(chunk.y) for chunk in chunks[:-1]} <= {rows}
    assert_array_equal(joined(chunks)[0], X)
    assert_array_equal(joined(chunks)[1], y)
    assert_array_equal(
        np.concatenate([chunk.codes for chunk in chunks]), [0, 1, 2, 0] * 20
    )
    assert source.declared == ["a", "b", "c"]
    assert source.share() == 1.0


@given(
    lines=st.lists(
        st.one_of(st.text('ab,"', max_size=6), st.just('"x\ny"')), max_size=12
    ),
    size=st.integers(1, 20),
)
def test_blocks_are_whole_lines_and_all_there_is(lines: list[str], size: int) -> None:
    data = "\n".join(lines).encode()
    blocks = list(file_lines.whole_lines(io.BytesIO(data), quote=b'"', size=size))
    assert b"".join(blocks) == data
    for block in blocks[:-1]:
        assert block.endswith(b"\n")
        assert block.count(b'"') % 2 == 0


def test_available_lines_are_yielded_before_more_is_read() -> None:
    class Paused(io.BytesIO):
        def read(self, size: int | None = 0, /) -> bytes:
            raise AssertionError("a pipe that has paused would make the reader wait")

    blocks = file_lines.whole_lines(Paused(), b"1,a\n2,b\n3,")
    assert next(blocks) == b"1,a\n2,b\n"
    with pytest.raises(AssertionError, match="paused"):
        next(blocks)


def test_a_quoted_cell_may_hold_delimiter_quotes_and_a_new_line(tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    text = 'x,word,y\n1,"a, ""b""\nc",u\n2,plain,v\n' * 1
    path.write_text(text + '3,"a, ""b""\nc",u\n')
    (chunk,) = read(path, ReadOptions(target="y"))
    assert_array_equal(chunk.X, [[1, 0], [2, 1], [3, 0]])


def test_columns_without_a_header_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv"
    path.write_text("1.5,7,x\n2.5,8,y\n")
    options = ReadOptions(target="3", header=False, drop=("2",))
    (chunk,) = read(path, options)
    assert_array_equal(chunk.X, [[1.5], [2.5]])
    assert chunk.y.tolist() == ["x", "y"]
    path.write_text("1.5,7,3\n2.5,8,4\n")
    with pytest.raises(FileError, match="no header, use --no-header"):
        LabelledFile(str(path), ReadOptions(target="3"))
    path.write_text("1.5,-7,x\n2.5,8,y\n")
    with LabelledFile(str(path), ReadOptions(target="-1")) as file:
        assert any("look like data" in note for note in file.notes)
    path.write_text("2019,2020,y\n2.5,8,y\n")  # years are names
    with LabelledFile(str(path), ReadOptions(target="-1")) as file:
        assert not any("look like data" in note for note in file.notes)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pa.array([3, 1, 3], pa.uint8()), [3, 1, 3]),
        (pa.array([3.0, 1.0, 3.0]), [3, 1, 3]),
        (pa.array([True, False, True]), [True, False, True]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a", "b"]),
        (pa.array([30, 10, 30]).dictionary_encode(), [30, 10, 30]),
        (pa.array(["b", "a", "b"], pa.large_string()), ["b", "a", "b"]),
    ],
    ids=["uint8", "floats", "booleans", "dictionary", "coded integers", "large text"],
)
def test_labels_are_whole_numbers_booleans_or_text(
    column: Any, labels: list[Any], tmp_path: Path
) -> None:
    path = str(tmp_path / "labels.parquet")
    pa.parquet.write_table(pa.table({"x": [1, 2, 3], "y": column}), path)
    (chunk,) = read(path, ReadOptions(target="y"))
    assert chunk.y.tolist() == labels
    assert chunk.codes.tolist() == [0, 1, 0]


SVM = "1 1:0.5 7:2 # one\n-1 2:1.5\n# none\n\n1 qid:3 3:-1e-3\n"


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        (ReadOptions(target=None), (3, 7)),
        (ReadOptions(target=None, features=9), (3, 9)),
        (ReadOptions(target=None, features=9, zero_based=True), (3, 9)),
    ],
)
def test_sparse_rows_are_those_of_scikit_learn(
    options: ReadOptions, shape: tuple[int, int], tmp_path: Path
) -> None:
    from sklearn.datasets import load_svmlight_file

    path = tmp_path / "rows.svm"
    path.write_text(SVM)
    chunks = read(path, options, 2)
    assert [chunk.X.format for chunk in chunks] == ["csr", "csr"]
    X = np.concatenate([chunk.X.toarray() for chunk in chunks])
    zero = bool(options.zero_based)
    expected_X, y = load_svmlight_file(str(path), n_features=shape[1], zero_based=zero)
    assert_array_equal(X, expected_X.toarray())
    assert X.shape == shape
    assert np.concatenate([chunk.y for chunk in chunks]).tolist() == y.tolist()


def test_feature_zero_makes_a_sparse_file_count_from_zero(tmp_path: Path) -> None:
    path = tmp_path / "rows.libsvm"
    path.write_text("1 0:5 2:6\n2 1:7\n")
    (chunk,) = read(path, ReadOptions(target=None))
    assert_array_equal(chunk.X.toarray(), [[5, 0, 6], [0, 7, 0]])


REFUSED: list[tuple[str, str, ReadOptions, str]] = [
    ("r.svm", "1 1:x\n", ReadOptions(target=None), "row 1: not a row of SVMlight"),
    (
        "r.svm",
        "1 1:2\n2 0:1\n",
        ReadOptions(target=None, features=3),
        "row 2: feature 0",
    ),
    ("r.svm", "1 4:2\n", ReadOptions(target=None, features=3), "row 1: feature 4, but"),
    ("r.svm", "1 1:inf\n", ReadOptions(target=None), "row 1: a feature is"),
    ("r.svm", "1 1:1e150\n2 1:1.1e150", ReadOptions(target=None), "row 2: a feature"),
    ("r.svm", "1 1:2 3:1\n2 1:4\n1 2:inf\n", ReadOptions(target=None), "row 3: a feat"),
    ("r.svm", "1.5 1:2\n", ReadOptions(target=None), "1.5 is not a label"),
    ("r.svm", "1 1:2\n", ReadOptions(target="y"), "omit --target"),
    ("r.arff", "@relation x\n", ReadOptions(target="y"), "not an ARFF file"),
    (
        "r.arff",
        "@attribute x real\n@attribute y {a,b}\n@data\n1,a\n2,c\n",
        ReadOptions(target="y"),
        "row 2, column y: 'c' is not one of the values",
    ),
    (
        "r.arff",
        "@attribute x date\n@attribute y {a,b}\n@data\n",
        ReadOptions(target="y"),
        "column x: contains dates or times",
    ),
    (
        "r.arff",
        "@attribute x real\n@attribute y {a,b}\n@data\n{0 1}\n",
        ReadOptions(target="y"),
        "row 1: sparse ARFF",
    ),
    (
        "r.jsonl",
        '{"x":1,"y":2}\n{"x":1\n',
        ReadOptions(target="y"),
        "row 2: not a JSON",
    ),
    (
        "r.jsonl",
        '{"x":[1],"y":2}\n',
        ReadOptions(target="y"),
        "column x: contains lists",
    ),
    (
        "r.csv",
        "x:y\n1:2\n",
        ReadOptions(target="y"),
        "if ':' separates the columns, use --delimiter :",
    ),
    (
        "r.csv",
        "xay\n1a2\n",
        ReadOptions(target="y"),
        "by another sign, set it with --delimiter",
    ),
    ("r.csv", "<!DOCTYPE html>\n<p>1\n", ReadOptions(target="y"), "a web page"),
    ("r.csv", "x,y\n'1,5',a\n", ReadOptions(target="y"), "in double quotation marks"),
    (
        "r.csv",
        "x,y\n-inf,a\n",
        ReadOptions(target="y"),
        "such as --na=-inf --missing mean",
    ),
    ("r.csv", "x,y\n1,2\n", ReadOptions(target=None), "Name it with --target"),
    (
        "r.csv",
        "x,y\n1,2\n",
        ReadOptions(target="y", drop=("x",)),
        "no column besides the target",
    ),
    ("r.csv", "x,y\n", ReadOptions(target="y"), "there are no rows"),
    (
        "r.csv",
        "x,y\n2020-01-31,1\n",
        ReadOptions(target="y"),
        "column x: contains dates",
    ),
    (
        "r.csv",
        "x,y\n1,2\n1,2.5\n",
        ReadOptions(target="y"),
        "row 2, column y: 2.5 is no",
    ),
    (
        "r.csv",
        "x,y\n1,0.5\n",
        ReadOptions(target="y"),
        "row 1, column y: 0.5 is not a label",
    ),
    (
        "r.csv",
        "x,y\n1,a\n1e200,a\n",
        ReadOptions(target="y"),
        "row 2, column x: 1e+200",
    ),
    (
        "r.csv",
        "x,y\n1,a\n2,\n",
        ReadOptions(target="y"),
        "row 2, column y: the label is",
    ),
    (
        "r.csv",
        "x,y\nu,a\n,a\n",
        ReadOptions(target="y"),
        "row 2, column x: the value is",
    ),
    (
        "r.jsonl",
        '{"x":1,"y":2}\n{"x":' + "[" * 10_000 + "]" * 10_000 + ',"y":2}\n',
        ReadOptions(target="y"),
        "row 2: values are nested deeper than 100",
    ),
    (
        "r.jsonl",
        '{"x":1,"y":2}\n{"z":' + '{"a":\n' * 150 + "1" + "}" * 150 + ',"y":2}\n',
        ReadOptions(target="y"),
        "values are nested deeper than 100",
    ),
    (
        "r.jsonl",
        '{"x":1,"y":2}\n{"x":"u","y":2}\n',
        ReadOptions(target="y"),
        "row 2, column x: string, but number in rows before",
    ),
    (
        "r.csv",
        "x,w,y\n1,a,b\n2," + "q" * 140_000 + ",c\n3\n",
        ReadOptions(target="y"),
        "row 3: 1 column, expected 3",
    ),
    ("r.csv", "x,y\n1_000,a\n", ReadOptions(target="y"), "--thousands _"),
    ("r.csv", 'x,"w,y\n1,a,b\n', ReadOptions(target="y"), "unmatched"),
    (
        "r.svm",
        "1 1:2\n2 1000000000:1\n",
        ReadOptions(target=None),
        "row 2: feature 1000000000 exceeds the limit of 10,000,000",
    ),
    (
        "r.svm",
        "1 1:2\n2 99999999999999999999:1\n",
        ReadOptions(target=None),
        "row 2: feature 99999999999999999999 is beyond",
    ),
    ("r.svm", "1 1:2\n2 3:1 2:1\n", ReadOptions(target=None), "row 2: features must"),
    (
        "r.arff",
        "@attribute x real\n@attribute y {a,b}\n@data\n1,a\n2,'b\n",
        ReadOptions(target="y"),
        "row 2: an unmatched quotation mark",
    ),
    ("r.bin", "x,y\nu,a\x00\n", ReadOptions(target="y"), "cannot tell the format"),
    ("r.csv", "x,y\n1,0.5\n", ReadOptions(target="y"), "predicts classes, not"),
    ("r.csv", "y\np\nq\n", ReadOptions(target="y"), "and at least one feature"),
]


@pytest.mark.parametrize(("name", "text", "options", "message"), REFUSED)
def test_unreadable_files_are_refused_with_the_place(
    name: str, text: str, options: ReadOptions, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        read(path, options)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_free_text_is_refused_where_it_has_too_many_values(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    rows = "".join(f"1,note {i % 6},a\n" for i in range(20))
    path.write_text("x,note,y\n" + rows)
    options: Callable[[int], ReadOptions] = lambda most: ReadOptions(  # noqa: E731
        target="y", max_categories=most
    )
    assert len(read(path, options(6), 4)) == 5
    with pytest.raises(FileError, match="row 6, column note: more than 5 different"):
        read(path, options(5), 4)


@pytest.mark.parametrize(
    ("name", "head", "row", "bad", "options", "message"),
    [
        ("r.csv", "x,y\n", "1.5,a\n", "1.5\n", ReadOptions(target="y"), "1 column,"),
        ("r.csv", "x,y\n", "1.5,a\n", "u,a\n", ReadOptions(target="y"), "'u' is no"),
        ("r.csv", "x,y\n", "1.5,a\n", "nan,a\n", ReadOptions(target="y"), "missing or"),
        (
            *("r.jsonl", "", '{"x": 1, "y": 2}\n', '{"x": "u", "y": 2}\n'),
            *(ReadOptions(target="y"), "'u' is not a number"),
        ),
        ("r.svm", "", "1 1:2\n", "1 1;2\n", ReadOptions(target=None), "not a row"),
        (
            *("r.arff", "@attribute x real\n@attribute y {a}\n@data\n"),
            *("1, a\n", "1, b\n", ReadOptions(target="y"), "'b' is not one"),
        ),
    ],
)
def test_a_fault_far_into_a_file_has_its_row(
    name: str,
    head: str,
    row: str,
    bad: str,
    options: ReadOptions,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = {"quote": b"", "size": 100}
    monkeypatch.setattr(file_lines.whole_lines, "__kwdefaults__", small)
    monkeypatch.setattr(file_lines, "BLOCK", 100)
    path = tmp_path / name
    path.write_text(head + 299 * row + bad + 50 * row)
    with pytest.raises(FileError) as caught:
        read(path, options)
    assert message in str(caught.value)
    assert f"{path}, row 300" in str(caught.value)


@pytest.mark.parametrize("odd", ["null", " null ", "[1]", '"u"', '{"x":1,"y":2} null'])
@pytest.mark.parametrize("before", [0, 2, 50_000])
def test_a_line_that_is_not_a_json_object_is_named(
    tmp_path: Path, odd: str, before: int
) -> None:
    path = tmp_path / "rows.jsonl"
    row = '{"x":1,"y":2}\n'
    path.write_text(f"{row * before}{odd}\n{row}")
    with pytest.raises(FileError, match=rf"row {before + 1}: not a JSON object"):
        read(path, ReadOptions(target="y"))


def test_blank_lines_and_spaces_of_json_lines_are_not_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('\n  {"x":1,"y":2}\n\t\n\r\n{"x":3,"y":2} \r{"x":4,"y":2}')
    (chunk,) = read(path, ReadOptions(target="y"))
    assert_array_equal(chunk.X, [[1.0], [3.0], [4.0]])


def test_brackets_in_texts_are_not_nested(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    deep = json.dumps({"x": "[" * 500 + '"{', "y": 1})
    path.write_text(f"{deep}\n{deep}\n")
    (chunk,) = read(path, ReadOptions(target="y"))
    assert chunk.X.tolist() == [[0.0], [0.0]]


def test_damaged_codes_of_a_parquet_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    words = [f"w{i % 40}" for i in range(3000)]
    labels = ["u", "v"] * 1500
    pa.parquet.write_table(pa.table({"w": words, "y": labels}), path)
    sound = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = []
    for _ in range(60):
        damaged = bytearray(sound)
        for at in rng.integers(4, 800, 3):
            damaged[at] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            read(path, ReadOptions(target="y"), 1000)
        except FileError as error:
            refused.append(str(error))
    assert len(refused) > 5
    assert all(each.startswith(str(path)) and "\n" not in each for each in refused)


def test_100_000_columns_are_planned_in_time_that_grows_with_their_number(
    tmp_path: Path,
) -> None:
    from time import process_time

    from rpnb.files.encoding.planning import plan_columns

    def seconds(p: int) -> float:
        schema = pa.schema([(f"c{j}", pa.float64()) for j in range(p)])
        start = process_time()
        plan_columns("file", schema, ReadOptions(target="c0", drop=("c1",)))
        return process_time() - start

    seconds(100)
    few = min(seconds(5_000) for _ in range(3))
    assert seconds(50_000) < 40 * few  # quadratic: 100 times


def test_an_empty_last_line_of_json_lines_is_not_a_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1, "y": "u"}\n{"a": 2, "y": "v"}\n\n')
    (chunk,) = read(path, ReadOptions(target="y"))
    assert_array_equal(chunk.X, [[1.0], [2.0]])


def test_damaged_text_is_noticed_after_the_rows_that_are_examined_first(
    tmp_path: Path,
) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    good = [b"u"] * 9000
    texts = pa.array([*good, b"\xff"]).view(pa.string())
    table = pa.table({"a": texts, "y": [*["p", "q"] * 4500, "p"]})
    parquet.write_table(table, tmp_path / "r.parquet", use_dictionary=False)
    with pytest.raises(FileError, match=r"r.parquet, after row 0: .*UTF8"):
        read(tmp_path / "r.parquet", ReadOptions(target="y"))
    feather.write_feather(table, tmp_path / "r.feather", chunksize=3000)
    with pytest.raises(FileError, match=r"r.feather, after row 9000: .*UTF8"):
        read(tmp_path / "r.feather", ReadOptions(target="y"))


def test_a_dictionary_holds_categories_if_its_values_are_texts_or_codes() -> None:
    import pyarrow as pa

    for values, kind in (
        (pa.string(), "category"),
        (pa.int8(), "category"),
        (pa.float64(), "number"),
    ):
        field = pa.field("c", pa.dictionary(pa.int32(), values))
        assert kind_of("f", field) == kind
    with pytest.raises(FileError, match="column c: contains dates"):
        kind_of("f", pa.field("c", pa.dictionary(pa.int32(), pa.date32())))
