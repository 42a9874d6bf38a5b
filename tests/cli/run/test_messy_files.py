"""Realistic messy files: all problems in one message, with a command that works."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from rpnb.cli import main


def messy(path: Path) -> None:
    """Write a file with a problem in nearly every column."""
    lines = ["size;price;note;when;half;gap;word;label"]
    for i in range(120):
        cells = [
            f"{i % 9},{i % 10}",
            f"{1 + i % 7},{100 + i:03d}.50",
            f"note no. {i}",
            f"2020-01-{1 + i % 28:02d}",
            str(i % 5) if i % 40 else "x",
            str(i % 4) if i % 6 else "-",
            "uv"[i % 2],
            "pq"[i % 9 > 4] if i % 50 else "",
        ]
        lines.append(";".join(cells))
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("model", ["Pooled", "PA"])
def test_one_message_has_all_problems_and_a_command_that_works(
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    messy(tmp_path / "mess.csv")
    words = ["run", "mess.csv", "--target", "label", "--json", "--model", model]
    assert main(words) == 2
    said = capsys.readouterr().err.splitlines()
    # The pool takes missing values, text and dates as they are.
    more = ["note", "when"] if model == "PA" else []
    count = 7 if model == "PA" else 4
    assert said[0] == f"rpnb run: mess.csv has {count} problems:"
    for column in ("size", "price", *more, "half", "label"):
        assert any(f"column {column}: " in line for line in said[1:-1]), column
    assert any("--missing mean" in line for line in said) == (model == "PA")
    program, *fixed = shlex.split(said[-1].removeprefix("Try: "))
    assert program == "rpnb"
    assert main(fixed) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["numbers"] == ["size", "price", "half", "gap"]
    categories = ["word"] if model == "PA" else ["note", "word"]
    assert list(found["columns"]["categories"]) == categories
    assert found["columns"]["dates"] == ([] if model == "PA" else ["when"])
    assert list(found["columns"]["dropped"]) == more
    assert (found["rows"], found["unlabelled"]) == (117, 3)
    assert "'-' means a missing value" in " ".join(found["notes"])


@pytest.mark.parametrize("model", ["Pooled", "PA"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["missing"], "--na missing"),
        (["not measured"], "--na 'not measured'"),
        (["missing", "unknown"], "--na missing unknown"),
        (["missing", "-"], "--na missing"),
    ],
)
def test_a_word_among_numbers_may_be_a_missing_value(
    words: list[str],
    option: str,
    decimal: str,
    model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "gone.csv"
    cells = [f"{i % 9}{decimal}{i}" for i in range(1, 100)]
    cells[4::20] = (words * 5)[:5]
    rows = [f"{cell};{'pq'[i % 9 > 4]}\n" for i, cell in enumerate(cells)]
    path.write_text("size;y\n" + "".join(rows))
    given = ["run", str(path), "--target", "y", "--json", "--quiet", "--model", model]
    assert main(given) == 2
    said = capsys.readouterr().err.splitlines()
    (line,) = [line for line in said if f"{words[0]!r} is not" in line]
    assert "row 5, column size: " in line
    assert f"use {option};" in line
    assert line.endswith("use --as-category size")
    if len(said) == 1:
        fixed = [*given, *shlex.split(option)]
    else:
        _, *fixed = shlex.split(said[-1].removeprefix("Try: "))
    assert main(fixed) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["numbers"] == ["size"]


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("gone", ["missing", "-", ""])
def test_numbers_with_units_are_no_categories(
    gone: str, decimal: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kg.csv"
    rows = [
        f"{gone if i % 9 == 4 else f'{70 + i}{decimal}{i % 5} kg'};{'pq'[i % 2]}\n"
        for i in range(60)
    ]
    path.write_text("weight;y\n" + "".join(rows))
    given = ["run", str(path), "--target", "y", "--json", "--quiet"]
    found = main(given)
    said = capsys.readouterr()
    if decimal == "," or gone == "missing":
        assert found == 2
        more = ["--decimal", ","] if decimal == "," else []
        assert " ".join(more) in said.err
        if gone == "missing":
            assert "--na missing" in said.err
            more += ["--na", "missing"]
        assert main([*given, *more]) == 0
        said = capsys.readouterr()
    columns = json.loads(said.out)
    assert columns["columns"]["numbers"] == ["weight"]
    assert any("numbers in kg" in note for note in columns["notes"])


def proposed(said: str, given: list[str]) -> list[str]:
    """Return the command that a message proposes: pasted, or the first option."""
    *_, last = said.splitlines()
    if last.startswith("Try: "):
        return shlex.split(last.removeprefix("Try: "))[1:]
    return [*given, *shlex.split(last.split(": use ")[1].split("; ")[0])]


@pytest.mark.parametrize(
    ("header", "row", "option"),
    [
        # A comma that can only be a decimal separator is one in all columns.
        ("size;unit price;y", "{i},5;1,{j};{y}", "use --decimal ,;"),
        (
            "size;unit price;weight;y",
            "{i},5;1,{j};0.{j};{y}",
            "use --decimal size=, --decimal 'unit price=,';",
        ),
        (
            "size;unit price;y",
            "1.{j},50;{i}.25;{y}",
            "use --decimal size=, --thousands size=.;",
        ),
        ("size;unit price;y", "{i};1.{j},50;{y}", "use --decimal , --thousands .;"),
        (
            "size;unit price;weight;y",
            "{i},5 kg;{i}.5 kg;7,25;{y}",
            "use --decimal size=, --decimal weight=,;",
        ),
    ],
)
def test_columns_in_one_notation_are_one_problem(
    header: str,
    row: str,
    option: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [row.format(i=i % 9, j=100 + i, y="pq"[i % 2]) for i in range(60)]
    Path("signs.csv").write_text("\n".join([header, *rows]) + "\n")
    given = ["run", "signs.csv", "--target", "y", "--json", "--quiet"]
    assert main(given) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert option in said
    assert main(proposed(said, given)) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert columns["numbers"] == header.removesuffix(";y").split(";")


def test_a_word_in_a_column_with_points_keeps_its_points(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{i},5;{'missing' if i % 9 == 4 else f'{i}.25'};{'pq'[i % 2]}\n"
        for i in range(60)
    ]
    Path("signs.csv").write_text("size;weight;y\n" + "".join(rows))
    given = ["run", "signs.csv", "--target", "y", "--json", "--quiet"]
    assert main(given) == 2
    assert main(proposed(capsys.readouterr().err, given)) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert columns["numbers"] == ["size", "weight"]


@pytest.mark.parametrize(
    ("before", "target", "fixed"),
    [
        ("Report of 2024;;\nprinted by hand\n\n", "y", "--skip-rows 3"),
        ("a,b\n1,2\n", "y", "--skip-rows 2"),
        # It is unclear which of the lines names the columns.
        ("a,b\n1,2\n", "3", None),
        # The name of a column is missing.
        ("x,z,w,y\n", "y", None),
    ],
)
def test_lines_before_a_table_may_have_columns_too(
    before: str,
    target: str,
    fixed: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "report.csv"
    names = "" if before.startswith("x") else "k,x,z,w,y\n"
    rows = [f"{i}.5,{i % 7},{i % 5},{i % 3},{'pq'[i % 2]}\n" for i in range(60)]
    path.write_text(before + names + "".join(rows))
    given = ["run", str(path), "--target", target, "--quiet", "--json"]
    assert main(given) == 2
    said = capsys.readouterr().err
    if fixed is None:
        assert "--skip-rows" not in said
        return
    assert fixed in said
    assert main([*given, *fixed.split()]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["numbers"] == ["k", "x", "z", "w"]


@pytest.mark.parametrize("native", [True, False])
def test_dates_that_are_not_read_are_answered_with_the_form_that_is(
    native: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dates.csv"
    rows = [f"{1 + i % 28:02d}.01.2024,{i % 7},{'pq'[i % 2]}\n" for i in range(60)]
    path.write_text("sent at,x,y\n" + "".join(rows))
    given = ["run", str(path), "--target", "y", "--quiet"]
    assert main([*given, *([] if native else ["--model", "PA"])]) == 2
    said = capsys.readouterr().err
    assert ("2024-05-31" in said) == native
    assert said.endswith("--drop 'sent at'\n")
    assert main([*given, "--drop", "sent at"]) == 0


def test_infinity_may_be_named_as_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "inf.csv"
    rows = [f"{'inf' if i == 30 else i % 7},{'pq'[i % 2]}\n" for i in range(60)]
    path.write_text("x,y\n" + "".join(rows))
    given = ["run", str(path), "--target", "y", "--quiet"]
    assert main(given) == 2
    assert "row 31, column x: infinity" in (said := capsys.readouterr().err)
    assert said.endswith("such as --na inf\n")
    assert main([*given, "--na", "inf"]) == 0


def test_few_numbers_with_a_unit_beside_a_word_are_categories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rooms.csv"
    cells = ["2 rooms", "3 rooms", "studio", "4 rooms"]
    rows = [f"{cells[i % 4]},{'pq'[i % 3 == 1]}\n" for i in range(60)]
    path.write_text("flat,y\n" + "".join(rows))
    assert main(["run", str(path), "--target", "y", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["categories"] == {"flat": 4}


def test_a_word_among_few_numbers_with_a_known_unit_may_be_a_missing_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nine.csv"
    cells = ["missing" if i == 4 else f"{70 + i}.5 kg" for i in range(9)]
    rows = [f"{cell},{'pq'[i % 2]}\n" for i, cell in enumerate(cells)]
    path.write_text("weight,y\n" + "".join(rows))
    given = ["run", str(path), "--target", "y", "--json", "--quiet"]
    assert main(given) == 2
    said = capsys.readouterr().err
    assert "row 5, column weight: 'missing' is not a number" in said
    assert "use --na missing; if they are categories" in said
    assert main([*given, "--na", "missing"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["numbers"] == ["weight"]


def test_many_words_among_numbers_are_categories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "codes.csv"
    cells = [*"1234567", "low", "mid", "high", "top"] * 9
    rows = [f"{cell},{'pq'[i % 2]}\n" for i, cell in enumerate(cells)]
    path.write_text("code,y\n" + "".join(rows))
    assert main(["run", str(path), "--target", "y"]) == 2
    said = capsys.readouterr().err
    assert "--na" not in said
    assert "--as-category code" in said


def test_a_single_problem_stays_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.csv"
    path.write_text("a,note,y\n" + "".join(f"1,word {i},p\n" for i in range(99)))
    assert main(["run", str(path), "--target", "y", "--model", "PA"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_notations_differ_by_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.csv"
    rows = [f'"{i % 9},5","1,{100 + i}.5",{"pq"[i % 2]}\n' for i in range(60)]
    path.write_text("size,price,y\n" + "".join(rows))
    words = ["run", str(path), "--target", "y", "--quiet", "--json", "--model", "PA"]
    assert main([*words, "--decimal", "size=,", "--thousands", "2=comma"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["numbers"] == [
        "size",
        "price",
    ]
    assert main([*words, "--decimal", "length=,"]) == 2
    assert "there is no column 'length'" in capsys.readouterr().err
    assert main([*words, "--decimal", "size=,", "--thousands", ","]) == 2
    assert "must be different characters" in capsys.readouterr().err


def test_more_texts_stand_for_missing_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "na.csv"
    texts = ["n/a", "#N/A", "-999", "gone"]
    rows = [
        f"{texts[i % 4] if i % 5 == 0 else i % 7},{'pq'[i % 2]}\n" for i in range(80)
    ]
    path.write_text("x,y\n" + "".join(rows))
    words = ["run", str(path), "--target", "y", "--quiet", "--json", "--na", "-999"]
    assert main([*words, "gone"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["numbers"] == ["x"]
    words[words.index("--json") :] = ["--model", "PA", "--na", "gone", "-999"]
    assert main(words) == 2
    assert "row 1, column x: the value is missing" in capsys.readouterr().err


def test_none_is_a_label_and_a_category_like_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.csv"
    path.write_text("x,w,y\n" + "1,none,none\n2,some,some\nnone,-,some\n" * 30)
    words = ["run", str(path), "--target", "y", "--quiet", "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"] == ["none", "some"]
    assert found["columns"] == {
        "numbers": ["x"],
        "categories": {"w": 3},
        "texts": [],
        "dates": [],
        "dropped": {},
    }


def test_names_that_occur_twice_are_numbered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("x,x,y,x\n" + "1,2,p,3\n4,5,q,6\n" * 30)
    words = ["run", str(path), "--target", "y", "--model", "PA", "--json"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["columns"]["numbers"] == ["x", "x.2", "x.3"]
    assert "repeated column names are numbered: x.2, x.3" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["."], ".: a folder, not a file; name one of its files: rows.csv"),
        (["folder"], "folder: a folder, not a file; no file in it has a known format"),
        (["irsi"], "irsi: no such file; did you mean the dataset Iris?"),
        (["irsi", "--target", "y"], "did you mean the dataset Iris?"),
        (["iris", "--target", "y"], "for the dataset of this name omit --target"),
        (["row.csv", "--target", "y"], "no such file; did you mean rows.csv?"),
        (["qqqqqqqq"], "qqqqqqqq: there is no such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_missing_file_is_answered_with_similar_names(
    words: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("x,y\n1,a\n")
    (tmp_path / "folder").mkdir()
    assert main(["run", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def table(path: Path, cells: Sequence[str], column: str = "size") -> None:
    """Write 120 rows, with these cells in turn in a column, beside a useful one."""
    lines = [
        f"{cells[i % len(cells)]},{i % 10},{'uvw'[i % 3]},{'pq'[i % 10 > 4]}"
        for i in range(120)
    ]
    head = f"{column},x,word,label"
    path.write_text("\n".join([head, *lines, ""]))


@pytest.mark.parametrize("word", ["*", "#DIV/0!", "#N/A!", "---", "(blank)", "<none>"])
def test_signs_among_numbers_may_be_missing_values(
    word: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    table(tmp_path / "t.csv", ["1.5", "2", "3.25", word, "4", "5.5"])
    words = ["run", str(tmp_path / "t.csv"), "--target", "label", "--json"]
    assert main(words) == 2
    said = capsys.readouterr().err
    option = shlex.split(said.split("a missing value, use ")[1].split(";")[0])
    assert main([*words, *option]) == 0
    assert "size" in json.loads(capsys.readouterr().out)["columns"]["numbers"]


def test_a_proposed_option_may_name_a_column_with_a_minus(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "t.csv", [f"{1 + i}.2.2020" for i in range(28)], "-when")
    lines = (tmp_path / "t.csv").read_text().replace(",0,", ",oops,").splitlines()
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    assert main(["run", "t.csv", "--target", "label", "--json"]) == 2
    suggested = capsys.readouterr().err.split("Try: rpnb ")[1]
    assert "--drop=-when" in suggested
    assert main(shlex.split(suggested)) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["numbers"] == ["x"]


@pytest.mark.parametrize("blank", ['""', "  ", '" "', "-", " NA "])
@pytest.mark.parametrize("late", [False, True])
def test_blank_cells_are_missing_values(
    blank: str, late: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    plain = "".join(f"{i % 7}.5,uv,{'pq'[i % 7 > 3]}\n" for i in range(400))
    some = f'{blank},uv,p\n1.5,"",q\n2.5,  ,q\n'
    many = plain * (400 if late else 1)
    path.write_text("x,word,label\n" + (many + some if late else some + many))
    words = ["run", str(path), "--target", "label", "--json", "--model", "PA"]
    assert main([*words, "--missing", "mean"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["numbers"] == ["x"]
    assert found["columns"]["categories"] == {"word": 2}  # uv, and a missing value


def test_spaces_around_categories_are_removed_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{i % 7},{'uv'[i % 2]}{' ' * (i % 3)},{'pq'[i % 2]}" for i in range(90)]
    path.write_text("\n".join(["x,word,label", *lines, ""]))
    for model in ("PA", "Pooled"):
        assert main(["run", str(path), "--target", "label", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["columns"]["categories"] == {"word": 2}, model
        assert "spaces around values in column word are removed" in found["notes"]


def test_a_target_that_two_columns_have_as_name_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("y,x,y\n" + "1,2,a\n3,4,b\n" * 20)
    assert main(["run", str(path), "--target", "y"]) == 2
    said = capsys.readouterr().err
    assert "2 columns have the name 'y'" in said
    assert "--target 1 or --target 3" in said
    assert main(["run", str(path), "--target", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["numbers"] == ["y", "x"]


def test_a_title_with_as_many_delimiters_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("Report,,\nby hand,,\nx,z,label\n" + "1,2,a\n3,4,b\n" * 20)
    words = ["run", str(path), "--target", "label", "--json"]
    assert main(words) == 2
    assert "line 3; use --skip-rows 2" in capsys.readouterr().err
    assert main([*words, "--skip-rows", "2"]) == 0
    # A target that is a value is not the header.
    assert main(["run", str(path), "--target", "a", "--json"]) == 2
    assert "there is no column 'a'" in capsys.readouterr().err


def test_a_file_without_a_header_is_answered_with_no_header(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1.5,-2,a\n" + "1.25,2,a\n3.5,4,b\n" * 20)
    assert main(["run", str(path), "--target", "label"]) == 2
    said = capsys.readouterr().err
    assert "there is no column 'label'" in said
    assert "use --no-header and give --target a number" in said
    assert main(["run", str(path), "--target", "3", "--no-header", "--json"]) == 0


@pytest.mark.parametrize(
    "text",
    [
        '{"x":{"0":1.5,"1":2},"label":{"0":"a","1":"b"}}',
        '{"x":[1.5,2],"label":["a","b"]}',
        '{"info":{"by":"hand"},"rows":[{"x":1,"label":"a"}]}',
        '{\n "x": 1,\n "label": "a"\n}',
    ],
)
def test_one_object_for_all_rows_is_answered_with_the_form_that_is_read(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.json").write_text(text)
    assert main(["run", str(tmp_path / "t.json"), "--target", "label"]) == 2
    said = capsys.readouterr().err
    assert "rpnb reads one object per row" in said
    assert "orient='records'" in said


def test_nested_rows_may_be_the_only_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.json").write_text('{"size":{"w":1.5},"is":{"label":"a"}}\n')
    words = ["run", str(tmp_path / "t.json"), "--target", "is.label", "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["numbers"] == ["size.w"]


def test_a_target_that_cannot_hold_labels_is_not_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = '{"x":[1],"z":1,"y":["a"]}\n' * 3
    (tmp_path / "t.jsonl").write_text(rows)
    assert main(["run", str(tmp_path / "t.jsonl"), "--target", "y"]) == 2
    said = capsys.readouterr().err
    assert "column y: contains lists, but labels are text" in said
    assert "but labels are text" in said
    assert said.rstrip().endswith("--drop x")


def test_labels_that_differ_in_case_are_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{i % 7},{['yes', 'Yes', 'no'][i % 3]}" for i in range(90)]
    path.write_text("\n".join(["x,label", *lines, ""]))
    assert main(["run", str(path), "--target", "label"]) == 0
    said = capsys.readouterr().out
    assert "The labels 'yes' and 'Yes' differ only in case" in said


def test_a_row_that_ends_with_a_delimiter_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,label\n" + "1,a\n" + "1,a,\n2,b,\n" * 20)
    assert main(["run", str(path), "--target", "label"]) == 2
    said = capsys.readouterr().err
    assert "row 2: 3 columns, expected 2; the row ends with a delimiter" in said


def test_an_empty_name_is_no_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "", "--target", "label"]) == 2
    assert "the name of the file is empty" in capsys.readouterr().err


def test_words_as_frequent_as_few_numbers_are_proposed_as_categories(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [
        ",".join(
            (("2", "4", "more")[i % 3], ("2", "3", "4", "5more")[i % 4], "ppq"[i % 3])
        )
        for i in range(120)
    ]
    Path("car.csv").write_text("\n".join(["persons,doors,label", *lines, ""]))
    assert main(["run", "car.csv", "--target", "label", "--json"]) == 2
    said = capsys.readouterr().err
    assert "if it stands for a missing value, use --na more" in said
    suggested = said.split("Try: rpnb ")[1]
    assert main(shlex.split(suggested)) == 0
    found = json.loads(capsys.readouterr().out)["columns"]
    assert found["categories"] == {"persons": 3, "doors": 4}


def test_no_command_is_proposed_that_leaves_no_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{i % 24:02d}:30,note {i},{'pq'[i % 2]}" for i in range(120)]
    (tmp_path / "t.csv").write_text("\n".join(["when,note,label", *lines, ""]))
    words = ["run", str(tmp_path / "t.csv"), "--target", "label", "--model", "PA"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "has 2 problems" in said
    assert "Try: " not in said


def test_the_last_of_many_columns_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = ",".join([*(f"x{j}" for j in range(20)), "label"])
    (tmp_path / "t.csv").write_text(f"{head}\n" + "1," * 20 + "a\n")
    assert main(["run", str(tmp_path / "t.csv")]) == 2
    assert "x8, …, label" in capsys.readouterr().err


def test_predictions_are_not_written_under_the_name_of_another_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path / "t.csv", ["1", "2"])
    out = tmp_path / "out.parquet"
    words = ["run", str(tmp_path / "t.csv"), "--target", "label"]
    assert main([*words, "--predictions", str(out)]) == 2
    assert ".parquet files cannot be written; use .csv" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("begin", "end", "dropped"),
    [
        ("", ",", {"Unnamed: 2": "empty, without a name"}),
        ("{i},", "", {"Unnamed: 0": "an index without a name"}),
        ("tree {i},", "", {"Unnamed: 0": "an index without a name"}),
    ],
)
def test_all_rows_may_have_one_more_cell_than_the_header(
    begin: str,
    end: str,
    dropped: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "r.csv"
    rows = [f"{begin}{{i}}.5,{'pq'[i % 2]}{end}\n".format(i=i) for i in range(1, 61)]
    path.write_text("x,y\n" + "".join(rows))
    assert main(["run", str(path), "--target", "y", "--quiet", "--json"]) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert (columns["numbers"], columns["dropped"]) == (["x"], dropped)


@pytest.mark.parametrize("header", [",x,y", "x,y"])
def test_a_column_without_a_name_can_be_dropped(
    header: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"tree {i},{i % 9};5,{'pq'[i % 2]}\n".replace(";", ".") for i in range(60)]
    Path("r.csv").write_text(f"{header}\n" + "".join(rows * 2))
    words = ["run", "r.csv", "--target", "y", "--quiet", "--json"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.endswith("column 1 has no name; name it, or drop it with --drop 1\n")
    assert main([*words, "--drop", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["numbers"] == ["x"]
    Path("r.csv").write_text(f"{header}\n" + "".join(rows * 2).replace(".5", "_500"))
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "has 2 problems" in said
    _, *fixed = shlex.split(said.splitlines()[-1].removeprefix("Try: "))
    assert main(fixed) == 0


def test_lines_that_repeat_the_header_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, model = tmp_path / "r.csv", tmp_path / "m.rpnb"
    part = "x,y\n" + "1,p\n2,q\n" * 20
    path.write_bytes((part * 2 + "\ufeff" + part + "x,y \r\n").encode())
    words = ["run", str(path), "--target", "y", "--save", str(model), "--json"]
    assert main([*words, "--chunk-rows", "7"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["rows"] == 120
    assert json.loads(out)["classes"] == ["p", "q"]
    note = "r.csv: 3 lines that repeat the header are skipped\n"
    assert err.count(note) == 1
    assert main(["predict", str(path), "--load", str(model)]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 121
    assert err.count(note) == 1


def test_a_table_may_consist_of_its_first_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("sunny,no\n" * 30)
    assert main(["run", str(path), "--target", "2", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 29


@pytest.mark.parametrize("header", ["sunny,weak,no", "0.5,weak,no"])
def test_rows_equal_to_a_first_line_of_data_are_kept(
    header: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"{header}\n{header.replace('no', 'yes')}\n" * 30)
    assert main(["run", str(path), "--target", "3", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 59


@pytest.mark.parametrize("line", ["# a pause", "source: nobody's figures"])
def test_a_line_of_one_cell_can_be_skipped(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("x,y\n" + "1,p\n2,q\n" * 20 + f"{line}\n" + "1,p\n" * 20)
    words = ["run", str(path), "--target", "y", "--json", "--quiet"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "row 41: 1 column, expected 2" in said
    option = shlex.split(said.partition("to skip this line, use ")[2])
    assert main([*words, *option]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 60


@pytest.mark.parametrize("zone", ["Z", "+02:00"])
def test_times_with_a_zone_are_dates(
    zone: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, model = tmp_path / "r.csv", tmp_path / "m.rpnb"
    rows = [
        f"2024-01-{1 + i % 28:02d}T{i % 24:02d}:00:00{zone},{'pq'[i % 24 > 11]}\n"
        for i in range(300)
    ]
    path.write_text("when,y\n" + "".join(rows))
    words = ["fit", str(path), "--target", "y", "--json", "--save", str(model)]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["dates"] == ["when"]
    assert found["learners"][0]["error"] < 0.15
    assert main(["predict", str(path), "--load", str(model), "--quiet"]) == 0


@pytest.mark.parametrize("word", ["unknown", "-"])
def test_a_word_among_dates_may_be_a_missing_value(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    rows = [
        f"{word if i % 9 == 4 else f'2024-01-{1 + i % 28:02d}'},{'pq'[i % 2]}\n"
        for i in range(60)
    ]
    path.write_text("when,y\n" + "".join(rows))
    words = ["run", str(path), "--target", "y", "--json", "--quiet"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert f"row 5, column when: {word!r} is not a date" in said
    option = shlex.split(said.partition("for a missing value, use ")[2])
    assert main([*words, *option]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["dates"] == ["when"]


@pytest.mark.parametrize("command", ["run", "compare"])
def test_the_learner_that_reads_dates_is_named_as_the_command_takes_it(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    rows = [f"2024-01-{1 + i % 28:02d},{'pq'[i % 2]}\n" for i in range(60)]
    path.write_text("when,y\n" + "".join(rows))
    words = [command, str(path), "--target", "y", "--json", "--quiet"]
    assert main([*words, *(["--model", "PA"] if command == "run" else [])]) == 2
    said = capsys.readouterr().err.partition(", or use ")[2]
    option = shlex.split(said.split(", which")[0])
    assert main([*words, *option]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["dates"] == ["when"]


def test_a_limit_of_measurement_may_be_a_missing_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    rows = [f"{'<0.01' if i % 9 == 4 else i},{'pq'[i % 2]}\n" for i in range(60)]
    path.write_text("x,y\n" + "".join(rows))
    words = ["run", str(path), "--target", "y", "--json", "--quiet"]
    assert main(words) == 2
    assert "--na '<0.01'" in capsys.readouterr().err
    assert main([*words, "--na", "<0.01"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"]["numbers"] == ["x"]


def test_a_column_of_too_large_numbers_can_be_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("a b,x,y\n" + "1e300,1,p\n1e299,2,q\n" * 20)
    words = ["run", str(path), "--target", "y", "--json", "--quiet"]
    assert main(words) == 2
    said = capsys.readouterr().err
    option = shlex.split(said.partition("or drop it with ")[2])
    assert option == ["--drop", "a b"]
    assert main([*words, *option]) == 0


def test_all_spellings_of_infinity_are_missing_values_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    cells = ["1", "2", "-Infinity", "3", "-inf"] * 12
    rows = [f"{cell},{'pq'[i % 2]}\n" for i, cell in enumerate(cells)]
    path.write_text("x,y\n" + "".join(rows))
    words = ["run", str(path), "--target", "y", "--json", "--quiet"]
    assert main([*words, "--model", "PA", "--na=-inf", "--missing", "mean"]) == 0
    assert main([*words, "--model", "PA", "--na=inf", "--missing", "mean"]) == 2
    assert "--na=-inf --missing mean" in capsys.readouterr().err


def test_numbers_as_names_of_columns_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("0.5,3,p\n" + "1,2,p\n2,3,q\n" * 20)
    assert main(["run", str(path), "--target", "-1"]) == 0
    assert "names such as 0.5 look like data" in capsys.readouterr().err
    path.write_text("2019,2020,y\n" + "1,2,p\n2,3,q\n" * 20)
    assert main(["run", str(path), "--target", "-1"]) == 0
    assert "look like data" not in capsys.readouterr().err


def test_points_that_may_separate_thousands_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    cells = [f"{1 + i % 9}.{100 + i}" if i % 3 else str(900 + i) for i in range(60)]
    rows = [f"{c};{i}.125;0.{100 + i};{'pq'[i % 2]}\n" for i, c in enumerate(cells)]
    path.write_text("unit price;x;z;y\n" + "".join(rows))
    words = ["run", str(path), "--target", "y"]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "column unit price: 2.101 is read as a number below 1000" in said
    assert said.count("separates thousands") == 1
    option = said.partition("separates thousands, use ")[2].splitlines()[0]
    assert main([*words, *shlex.split(option)]) == 0
    assert "separates thousands" not in capsys.readouterr().err
    path.write_text(path.read_text().replace(";", ","))
    assert main(words) == 0
    assert "separates thousands" not in capsys.readouterr().err


def test_a_label_of_a_single_row_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("x,y\n" + "1,p\n2,q\n" * 60 + "Total,120\n")
    words = ["run", str(path), "--target", "y", "--quiet", "--na", "Total"]
    assert main(words) == 0
    assert "The label '120' has a single row" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("2024-01-31 10:00:00", "soon", "'soon' is not a date such as 2024-05-31"),
        ("2024-01-31 10:00:00", "2024-01-31 10:00:00Z", "has a time zone"),
        ("true", "perhaps", "'perhaps' is not true or false"),
    ],
)
def test_a_value_unlike_the_first_blocks_has_its_row(
    good: str,
    bad: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("lines", "text"):
        monkeypatch.setattr(f"rpnb.files.formats.{module}.BLOCK", 1 << 10)
    path = tmp_path / "r.csv"
    path.write_text("a,y\n" + f"{good},p\n{good},q\n" * 5000 + f"{bad},p\n")
    words = ["run", str(path), "--target", "y", "--quiet", "--model", "Pooled"]
    assert main(words) == 2
    err = capsys.readouterr().err
    assert "row 10001, column a: " in err
    assert said in err


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["$70.5", "€7.1"], "column x: different signs ('$70.5', '€7.1')"),
        (["5 EUR", "7 USD"], "column x: different signs ('5 EUR', '7 USD')"),
        (["84.5%", "0.845"], "column x: only some numbers are in percent"),
        (["5 kg", "6 KG", "7 lb"], "column x: numbers with different units (kg, lb)"),
    ],
)
def test_signs_that_make_other_numbers_are_refused(
    tmp_path: Path, cells: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    lines = [f"{cells[i % len(cells)]},{i % 3},{'pq'[i % 2]}" for i in range(90)]
    path.write_text("\n".join(["x,z,y", *lines, ""]))
    assert main(["run", str(path), "--target", "y", "--quiet"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "cells", [["$70", "$7.1", "7"], ["12%", "0", "3 %"], ["1 kg", "2 KG", "3 Kg", "4"]]
)
def test_signs_that_make_the_same_numbers_are_read(
    tmp_path: Path, cells: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, plain = tmp_path / "r.csv", tmp_path / "plain.csv"
    found = []
    for each, texts in (
        (path, cells),
        (plain, [re.sub(r"[^\d.]", "", cell) for cell in cells]),
    ):
        n = len(texts)
        lines = [f"{texts[i % n]},{i % 3},{'pq'[i % n > 1]}" for i in range(90)]
        each.write_text("\n".join(["x,z,y", *lines, ""]))
        words = ["run", str(each), "--target", "y", "--quiet", "--json"]
        assert main([*words, "--metrics", "log_loss"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["columns"]["numbers"] == ["x", "z"]
    assert found[0]["learners"][0]["metrics"] == found[1]["learners"][0]["metrics"]


def test_a_unit_that_comes_late_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("lines", "text"):
        monkeypatch.setattr(f"rpnb.files.formats.{module}.BLOCK", 1 << 10)
    path = tmp_path / "r.csv"
    words = ["run", str(path), "--target", "y", "--quiet", "--model", "Pooled"]
    for good in ("5 kg", "5"):
        lines = [f"{good},{'pq'[i % 2]}" for i in range(2000)]
        path.write_text("\n".join(["x,y", *lines, "6.5 lb,p", ""]))
        assert main(words) == 2
        assert "row 2001, column x: '6.5 lb' has the unit lb" in capsys.readouterr().err


def test_codes_with_leading_zeros_are_pointed_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.csv"
    lines = [f"0{1000 + i % 7},0.{i % 5},{'pq'[i % 2]}" for i in range(90)]
    path.write_text("\n".join(["zip,x,y", *lines, ""]))
    assert main(["run", str(path), "--target", "y"]) == 0
    said = capsys.readouterr().err
    assert "column zip: 01000 is read as the number 1000; if it is a code" in said
    assert "--as-category zip" in said
    assert "column x" not in said
    assert main(["run", str(path), "--target", "y", "--as-category", "zip"]) == 0
    assert "column zip" not in capsys.readouterr().err


def test_a_dictionary_of_weights_is_for_the_learner_that_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", str(tmp_path / "r.csv"), "--target", "y", "--class-weight", "3"]
    assert main([*words, "--model", "onlinebayes"]) == 2
    assert "OnlineBayes(class_weight=…)" in capsys.readouterr().err
