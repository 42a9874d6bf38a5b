"""Realistic files: delimiters, encodings, compression, index columns."""

import bz2
import gzip
import io
import json
import lzma
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from rpnb.files import FileError, LabelledFile, ReadOptions
from rpnb.files.formats.byte_sources import ByteSource
from rpnb.files.formats.dialect import sniff_delimiter

ROWS = [(1.5, "a", 1), (2.5, "é", 2), (-3.0, "a", 1)] * 20
HEAD = ("x", "word", "y")
FEATURES = [[1.5, 0], [2.5, 1], [-3, 0]] * 20


def text(delimiter: str = ",", end: str = "\n") -> str:
    lines = [delimiter.join(map(str, cells)) for cells in (HEAD, *ROWS)]
    return end.join(lines) + end


def read(path: Path, **options: Any) -> tuple[Any, Any, LabelledFile]:
    """Features, labels, and the file: closed, but with notes on how it was read."""
    given: dict[str, Any] = {"target": "y", **options}
    with LabelledFile(str(path), ReadOptions(**given)) as file:
        chunks = list(file.chunks(7))
    X = np.concatenate([chunk.X for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks]), file


ENCODED: dict[str, tuple[bytes, str]] = {
    "utf-8": (text().encode(), ""),
    "mark": (text().encode("utf-8-sig"), ""),
    "utf-16": (text().encode("utf-16"), ""),
    "utf-16-be": (b"\xfe\xff" + text().encode("utf-16-be"), ""),
    "no mark": (text().encode("utf-16-le"), "UTF-16-LE"),
    "utf-32": (text().encode("utf-32"), ""),
    "cp1252": (text().encode("cp1252"), "cp1252"),
    "latin-1": (text().replace("y\n", "y\x81\n", 1).encode("latin-1"), "latin-1"),
    "old Mac": (text(end="\r").encode(), ""),
    "old Mac, utf-16": (text(end="\r").encode("utf-16"), ""),
    "Windows": (text(end="\r\n").encode(), ""),
    "empty lines": (("\r\n\r\n" + text(end="\r\n")).encode(), ""),
    "Excel": (("sep=;\r\n" + text(";")).encode(), ""),
    "semicolons": (text(";").encode(), "';'"),
    "tabs": (text("\t").encode(), "tabs"),
    "pipes": (text("|").encode(), "'|'"),
    "spaces": (text(" ").encode(), "single spaces"),
}


@pytest.mark.parametrize("what", ENCODED)
def test_encodings_line_ends_and_delimiters_are_recognised(
    what: str, tmp_path: Path
) -> None:
    data, said = ENCODED[what]
    path = tmp_path / "rows.csv"
    path.write_bytes(data)
    X, y, file = read(path, target="3")
    assert_array_equal(X, FEATURES)
    assert_array_equal(y, [row[2] for row in ROWS])
    assert (said in " ".join(file.notes)) if said else file.notes == []


@pytest.mark.parametrize(
    ("ending", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
    ],
)
def test_compressed_files_are_read_and_damaged_ones_named(
    ending: str, compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"rows.csv.{ending}"
    whole = compress(text().encode())
    path.write_bytes(whole + (b"" if ending == "zst" else compress(b"7,b,1\n")))
    X, _, _ = read(path)  # of two parts, as `cat` makes them
    assert_array_equal(X[:60], FEATURES)
    for damaged in (whole[:-9], whole[:8] + b"????????" + whole[16:]):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=r"truncated|not a valid"):
            read(path)


@pytest.mark.parametrize("ending", ["txt", "data", "dat", "txt.gz", "zip"])
def test_files_with_other_endings_are_recognised_by_what_they_contain(
    ending: str, tmp_path: Path
) -> None:
    lines = [json.dumps(dict(zip(HEAD, row, strict=True))) for row in ROWS]
    for number, whole in enumerate((text("|"), "\n".join(lines) + "\n")):
        path = tmp_path / f"rows{number}.{ending}"
        if ending == "zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("iris.data", whole)
        else:
            data = whole.encode()
            path.write_bytes(gzip.compress(data) if ending == "txt.gz" else data)
        assert_array_equal(read(path)[0], FEATURES)


def test_a_given_encoding_is_used(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(text().encode("cp437"))
    assert_array_equal(read(path, encoding="cp437")[0], FEATURES)
    path.write_bytes(text().encode() + b"1,\xff,1\n")
    with pytest.raises(FileError, match=r"row 61, column word: not UTF-8.*--encoding"):
        read(path, encoding="utf-8")


def test_bytes_of_another_encoding_far_into_a_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(text().encode() + b"1,\xe9,1\n")  # most of it is UTF-8
    with pytest.raises(FileError, match="row 61, column word: not UTF-8 text"):
        read(path)
    path.write_bytes(text().encode() + b"1,\x00,1\n")
    with pytest.raises(FileError, match="a binary file"):
        read(path)


@pytest.mark.parametrize(
    ("head", "target", "delimiter"),
    [
        (b"a,b,y\n1,2,3\n", "y", ","),
        (b"a;b;y\n1,5;2,5;3\n", "y", ";"),
        (b"a;b;y\n1,5;2;3\n", None, ";"),
        (b"name, first;age;y\nSmith, J;3;u\n", "y", ";"),
        (b'"a,b"\ty\n"1,2"\t3\n', "y", "\t"),
        (b"a,b\n1,2,3\n", "y", ","),  # neither fits: an error will name the row
    ],
)
def test_the_delimiter_splits_all_lines_into_equal_numbers_of_columns(
    head: bytes, target: str | None, delimiter: str
) -> None:
    assert sniff_delimiter(head, target) == delimiter


# Index columns


def test_converted_bytes_end_as_others_do(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(b"abcdef")
    for conversion in (None, bytes.upper, lambda data: b"" if data else b"end"):
        source = ByteSource(str(path))
        if conversion is not None:
            source.convert(conversion)
        found = [source.read(4) for _ in range(5)]
        source.close()
        expected = (conversion or bytes)(b"abcdef") or b"end"
        assert b"".join(found) == expected
        assert found[-2:] == [b"", b""]


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_the_index_of_a_pandas_frame_is_left_out(
    kind: str, shuffled: bool, tmp_path: Path
) -> None:
    frame = pandas.DataFrame(ROWS, columns=list(HEAD))
    if shuffled:
        frame = frame.sample(frac=1, random_state=0)
    path = tmp_path / f"rows.{kind}"
    getattr(frame, f"to_{kind}")(path)
    X, y, file = read(path)
    assert X.shape == (60, 2)
    assert_array_equal(X[:, 0], frame["x"])
    assert_array_equal(y, frame["y"])
    assert file.plan is not None
    # A plain index is no column in Parquet and Feather.
    assert len(file.plan.dropped) == (kind == "csv" or shuffled)
    assert all("index" in why for why in file.plan.dropped.values())


def test_an_index_is_the_target_if_it_is_named_so(tmp_path: Path) -> None:
    frame = pandas.DataFrame(ROWS, columns=list(HEAD)).set_index("y")
    frame.to_parquet(tmp_path / "rows.parquet")
    X, y, _ = read(tmp_path / "rows.parquet")
    assert X.shape == (60, 2)
    assert_array_equal(y, frame.index)


def test_columns_without_a_name_are_left_out_or_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,y,\n1,u,\n2,v,\n")  # a comma at the end of each line
    X, _, file = read(path)
    assert_array_equal(X, [[1], [2]])
    assert file.plan is not None
    assert file.plan.dropped == {"Unnamed: 2": "empty, without a name"}
    path.write_text('"","a","y"\n"Mazda RX4",1,"u"\n"Datsun 710",2,"v"\n')  # R
    assert_array_equal(read(path)[0], [[1], [2]])
    path.write_text(",a,y\n3,1,u\n3,2,v\n")
    with pytest.raises(FileError, match="header: column 1 has no name"):
        read(path)


def test_a_column_that_counts_the_rows_is_pointed_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,a,y\n" + "".join(f"{i},{i % 7},u\n" for i in range(1, 31)))
    X, _, file = read(path)
    assert X.shape == (30, 2)
    assert file.notes == [
        "column id counts the rows; if it is not a feature, use --drop id"
    ]


# Columns by number, and text that is no category


def test_columns_by_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b,2\n1,5,u\n2,6,v\n")
    for target in ("3", "-1", "2"):  # a name comes before a number
        assert read(path, target=target)[1].tolist() == ["u", "v"]
    assert_array_equal(read(path, target="-1", drop=("1",))[0], [[5], [6]])
    with pytest.raises(FileError, match="there is no column '4'"):
        read(path, target="4")


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_free_text_and_dates_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{kind}"

    def write(values: list[str]) -> None:
        frame = pandas.DataFrame({"a": 1, "note": values, "y": "u"})
        if kind == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            getattr(frame, f"to_{kind}")(path, index=False)

    write([f"note {i}" for i in range(50)])
    with pytest.raises(FileError, match="column note: 50 different values"):
        read(path)
    assert read(path, as_category=("note",))[0].shape == (50, 2)
    assert read(path, drop=("note",))[0].shape == (50, 1)
    write([f"note {i % 25}" for i in range(50)])
    assert read(path)[0][:, 1].max() == 24
    write([f"{1 + i % 3}.02.2020" for i in range(50)])
    with pytest.raises(FileError, match="column note: contains dates or times"):
        read(path)


def test_a_quotation_mark_without_its_partner_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('x,y\n1,u\n2,"v\n')
    with pytest.raises(FileError, match="row 2: an unmatched quotation mark"):
        read(path)
    path.write_text('x,w,y\n1,5" disk,u\n2,3" disk,v\n3,1" disk,v\n')
    assert_array_equal(read(path)[0], [[1, 0], [2, 1], [3, 2]])  # no such mark


def test_numbers_with_one_unit_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "units.csv"
    cells = [f"{i % 9}.5 kg,{i % 7 - 3}°C,{'ab'[i % 2]}" for i in range(60)]
    cells[3] = "4.25,-1 °C,b"
    path.write_text("\n".join(["mass,heat,y", *cells]) + "\n")
    X, _, file = read(path)
    expected = [[i % 9 + 0.5, i % 7 - 3.0] for i in range(60)]
    expected[3] = [4.25, -1.0]
    assert_array_equal(X, expected)
    assert "column mass is read as numbers in kg" in file.notes
    assert "column heat is read as numbers in °C" in file.notes
    # Beyond the rows that are examined first.
    path.write_text("mass,y\n" + "1 kg,a\n" * 900_000 + "7 stone,a\n")
    wrong = "row 900001, column mass: '7 stone' is not a number"
    with (
        LabelledFile(str(path), ReadOptions(target="y")) as file,
        pytest.raises(FileError, match=wrong),
    ):
        list(file.chunks(1 << 20))


def test_several_units_are_refused_and_codes_with_letters_are_categories(
    tmp_path: Path,
) -> None:
    path = tmp_path / "units.csv"
    rows = [f"{i % 9} {('kg', 'g')[i % 2]},{'ab'[i % 2]}" for i in range(60)]
    path.write_text("\n".join(["mass,y", *rows]) + "\n")
    with pytest.raises(
        FileError, match=r"column mass: numbers with different units \("
    ):
        read(path)
    rows = [f"{('1st', '2nd', '3rd')[i % 3]},{'ab'[i % 2]}" for i in range(60)]
    path.write_text("\n".join(["place,y", *rows]) + "\n")
    X, _, _ = read(path)
    assert_array_equal(X[:, 0], np.arange(60) % 3)


def test_blanks_at_the_ends_of_labels_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "blanks.csv"
    path.write_text("x,y\n" + "1,a\n2,a \n3, b\n4,b\n" * 5)
    _, y, file = read(path)
    assert y.tolist() == ["a", "a", "b", "b"] * 5
    assert "spaces around labels in column y are removed" in file.notes
    path.write_text("x,y\n" + "1,a\n2,  \n" * 5)
    with pytest.raises(FileError, match="row 2, column y: the label is missing"):
        read(path)
    _, y, _ = read(path, unlabelled="predict")
    assert y[::2].tolist() == ["a"] * 5


def test_lines_before_the_header_and_comments_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    lines = text().splitlines()
    lines[5:5] = ["# in between, 'quoted \"", "  # indented"]
    path.write_text("\n".join(["a report", "# by hand", *lines, "# the end"]) + "\n")
    X, y, _ = read(path, skip_rows=1, comment="#")
    assert_array_equal(X, FEATURES)
    assert y.tolist() == [1, 2, 1] * 20
    path.write_text("a report\n")
    with pytest.raises(FileError, match="fewer lines than --skip-rows 3"):
        read(path, skip_rows=3)


@pytest.mark.parametrize(
    ("before", "options", "fixes"),
    [
        ("made by hand\n", {}, [("--skip-rows", "1")]),
        ("made by hand\n\nin 2026\n\n", {}, [("--skip-rows", "4")]),
        ("x\nmade by hand\n", {"skip_rows": 1}, [("--skip-rows", "2")]),
        ("# made by hand\n\n# in 2026\n", {}, [("--comment", "#")]),
    ],
)
def test_all_problems_of_a_file_with_a_preamble_are_reported_together(
    before: str, options: dict[str, Any], fixes: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(before + "a;b;y\n1,5;-;u\n2,5;3,5;v\n3,5;none;u\n")
    with pytest.raises(FileError, match="has 2 problems") as caught:
        LabelledFile(str(path), ReadOptions(target="y", **options))
    wanted = [*fixes, ("--decimal", ",")]
    assert list(caught.value.fixes) == wanted


def test_a_point_with_decimal_commas_is_ambiguous(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a;b;y\n1,5;3;u\n2,5;1.200;v\n")
    with pytest.raises(FileError, match=r"--decimal b=\. .* or --thousands b=\."):
        LabelledFile(str(path), ReadOptions(target="y", decimal=","))
    X, _, _ = read(path, decimal=",", decimal_of={"b": "."})
    assert X[1].tolist() == [2.5, 1.2]
    X, _, _ = read(path, decimal=",", thousands_of={"b": "."})
    assert X[1].tolist() == [2.5, 1200.0]


def test_comments_far_into_a_file_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("x,y\n" + ("1,a\n# no row\n" * 400_000))
    with LabelledFile(str(path), ReadOptions(target="y", comment="#")) as file:
        rows = sum(len(chunk.y) for chunk in file.chunks(1 << 20))
    assert rows == 400_000


def test_a_zip_file_holds_one_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", "")
        archive.writestr("folder/rows.csv", text())
        archive.writestr("__MACOSX/folder/._rows.csv", b"\x00")
    X, _, _ = read(path)
    assert_array_equal(X, FEATURES)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.csv", text())
    with pytest.raises(FileError, match=r"a zip file with 2 files \(folder/rows.csv, "):
        read(path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileError, match=r"rows\.zip: "):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rows.parquet", b"PAR1")
    with pytest.raises(FileError, match="parquet in a zip file; unpack it"):
        read(path)


def test_nested_objects_are_flattened_and_arrays_are_read(tmp_path: Path) -> None:
    rows = [
        {"a": {"b": i, "c": {"d": "uv"[i % 2]}}, "x": i / 2, "y": "pq"[i % 2]}
        for i in range(50)
    ]
    rows[7]["a"] = {"b": 2.5, "c": {"d": "u"}}
    expected = [[i, i % 2, i / 2] for i in range(50)]
    expected[7][:2] = [2.5, 0]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    array = tmp_path / "rows.json"
    array.write_text(json.dumps(rows, indent=1))
    for path in (lines, array):
        X, y, file = read(path)
        assert_array_equal(X, expected)
        assert y.tolist() == ["p", "q"] * 25
        assert list(file.plan.kinds) == ["a.b", "a.c.d", "x"]  # type: ignore[union-attr]
    array.write_text("[1, 2")
    with pytest.raises(FileError, match=r"rows\.json: not a JSON array"):
        read(array)
    array.write_text('[{"x": 1, "y": "a"}, 3]')
    with pytest.raises(FileError, match="row 2: not a JSON object, but 3"):
        read(array)
    lines.write_text('{"a": {"b": 1}, "y": "p"}\n' * 200_000 + '{"a": {"b": "x"}}\n')
    with (
        LabelledFile(str(lines), ReadOptions(target="y")) as file,
        pytest.raises(FileError, match=r"row 200001, column a\.b: 'x' is not"),
    ):
        list(file.chunks(1 << 20))


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, lzma.compress],
    ids=["plain", "gzip", "bzip2", "xz"],
)
def test_the_format_of_the_standard_input_is_recognised(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = {
        "csv": text(";").encode(),
        "jsonl": b'{"x": 1, "y": 2}\n' * 9,
        "arff": b"@relation r\n@attribute x real\n@attribute y {a,b}\n@data\n1,a\n",
        "svmlight": b"+1 1:0.5 7:2\n-1 3:1\n",
    }
    for kind, content in forms.items():
        raw = io.BytesIO(pack(content))
        for buffer in (raw, io.BufferedReader(io.BytesIO(raw.getvalue()))):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(buffer))
            target = None if kind == "svmlight" else "y"
            features = 8 if kind == "svmlight" else None
            options = ReadOptions(target=target, features=features)
            with LabelledFile("-", options) as file:
                assert file.format == kind
                assert sum(len(chunk.y) for chunk in file.chunks(9)) > 0


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> None:
    """Write the parts of a workbook that a reader needs."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"

    def cell(value: Any) -> str:
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        return "<c/>" if value is None else f"<c><v>{value}</v></c>"

    listed = relations = types = ""
    with zipfile.ZipFile(path, "w") as archive:
        for i, (name, rows) in enumerate(sheets.items(), 1):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            archive.writestr(
                f"xl/worksheets/sheet{i}.xml",
                f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
            )
            listed += f'<sheet name="{name}" sheetId="{i}" r:id="rId{i}"/>'
            relations += (
                f'<Relationship Id="rId{i}" Type="{office}/worksheet" '
                f'Target="worksheets/sheet{i}.xml"/>'
            )
            types += (
                f'<Override PartName="/xl/worksheets/sheet{i}.xml" '
                f'ContentType="{kinds}.worksheet+xml"/>'
            )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets>'
            "</workbook>",
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{relations}'
            "</Relationships>",
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/>'
            "</Relationships>",
        )
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Override '
            f'PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>{types}'
            "</Types>",
        )


def test_the_first_sheet_of_a_workbook_is_read(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    path = tmp_path / "rows.xlsx"
    workbook(path, {"data": [list(HEAD), *map(list, ROWS)], "notes": [["a"]]})
    X, y, file = read(path)
    assert_array_equal(X, FEATURES)
    assert y.tolist() == [1, 2, 1] * 20
    assert "the first of 2 sheets is read, data" in file.notes
    renamed = path.replace(tmp_path / "rows.xls")
    assert_array_equal(read(renamed)[0], FEATURES)
    workbook(path, {"notes": [["a"], ["b"]], "data": [list(HEAD), *map(list, ROWS)]})
    with pytest.raises(
        FileError, match=r"the sheet notes has a single column; .* 2 sh"
    ):
        read(path)
    workbook(path, {"sums": [["a", "b"], [1, 2]], "data": [list(HEAD), ["1"] * 4]})
    with pytest.raises(
        FileError, match=r"no column .* \(the first of 2 sheets is read"
    ):
        read(path)
    path.write_bytes(b"no workbook")
    with pytest.raises(FileError, match=r"rows\.xlsx: not an Excel file that can be"):
        read(path)


def test_excel_without_its_package_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    (tmp_path / "rows.xlsx").write_bytes(b"")
    with pytest.raises(FileError, match=r"pip install 'rpnb\[excel\]'"):
        read(tmp_path / "rows.xlsx")
