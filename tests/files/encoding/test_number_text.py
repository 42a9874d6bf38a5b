"""Numbers written as text: read in the given notation, never guessed."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb.files import FileError, LabelledFile, ReadOptions
from rpnb.files.encoding.number_text import Notation, is_plain_number

NOTATIONS = [
    *((".", None), (",", None), (".", ","), (",", "."), (",", " "), (".", "'")),
    (".", "_"),
]


def written(value: float, decimal: str, thousands: str | None) -> str:
    """A number in this notation; the oracle of `parse`."""
    shown = f"{value:,.3f}".replace(",", "T").replace(".", "D")
    return shown.replace("T", thousands or "").replace("D", decimal)


@given(
    values=st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=5),
    signs=st.sampled_from(NOTATIONS),
    around=st.sampled_from(["{}", " {} ", "${}", "{} €", "{}%", "EUR {}"]),
)
def test_numbers_written_in_a_notation_are_read_back(
    values: list[float], signs: tuple[str, str | None], around: str
) -> None:
    notation = Notation(*signs)
    texts = [around.format(written(abs(value), *signs)) for value in values]
    texts += ["-" + texts[0].strip(), f"({texts[0].strip()})"]
    array = pa.array([*texts, None])
    assert notation.fits(array).to_pylist() == [True] * len(texts) + [None]
    assert all(notation.matches(text) for text in texts)
    rounded = [float(f"{abs(value):.3f}") for value in values]
    expected = [*rounded, -rounded[0], -rounded[0], None]
    assert notation.parse(array).to_pylist() == expected


@given(text=st.text("01 -+.,'_$%()eEnaif\u00a0", max_size=8))
def test_both_ways_of_matching_agree(text: str) -> None:
    for signs in NOTATIONS:
        notation = Notation(*signs)
        found = notation.fits(pa.array([text])).to_pylist()[0]
        assert bool(found) == notation.matches(text)
        assert (found is None) == (text.strip() == "")  # missing
        if found:
            value = notation.parse(pa.array([text])).to_pylist()[0]
            assert isinstance(value, float)
    if is_plain_number(text):
        assert Notation().matches(text)
        ours = Notation().parse(pa.array([text])).to_pylist()[0]
        assert ours == float(text) or math.isnan(ours)


def read(path: Path, **options: Any) -> tuple[Any, list[str]]:
    with LabelledFile(str(path), ReadOptions(target="y", **options)) as file:
        return np.concatenate([chunk.X for chunk in file.chunks(5)]), file.notes


@pytest.mark.parametrize(
    ("cells", "said", "options", "values"),
    [
        (["1,5", "20,25"], "use --decimal ,;", {"decimal": ","}, [1.5, 20.25]),
        (
            *(["1.234,5", "7,25"], "use --decimal , --thousands .;"),
            *({"decimal": ",", "thousands": "."}, [1234.5, 7.25]),
        ),
        (["1_000", "5"], "use --thousands _;", {"thousands": "_"}, [1000, 5]),
        (["1'000.5", "5"], "--thousands apostrophe", {"thousands": "'"}, [1000.5, 5]),
        (["1 000", "5"], "--thousands space", {"thousands": " "}, [1000, 5]),
        (["$1,234.50", "$2"], "use --thousands ,;", {"thousands": ","}, [1234.5, 2]),
        (
            ["1,234", "0,678"],
            "use --decimal ,;",
            {"decimal": ","},
            [1.234, 0.678],
        ),
        (["1,234", "5,678"], "or --thousands ,", {"thousands": ","}, [1234, 5678]),
        (["$12", "$3.5"], "", {}, [12, 3.5]),
        (["12%", "3.5 %"], "", {}, [12, 3.5]),
        (["(3)", "+4"], "", {}, [-3, 4]),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_numbers_in_text_are_read_or_refused_with_the_option_that_reads_them(
    cells: list[str],
    said: str,
    options: dict[str, str],
    values: list[float],
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.csv"
    rows = "".join(f'{i},"{cell}",u\n' for i, cell in enumerate(cells * 3))
    path.write_text("a,price,y\n" + rows)
    if said:
        with pytest.raises(FileError, match="row 1, column price: ") as caught:
            read(path)
        assert said in str(caught.value)
        assert "--as-category price" in str(caught.value)
    X, notes = read(path, **options)
    assert_array_equal(X[:, 1], values * 3)
    assert bool(notes) == (not options)
    assert read(path, as_category=("price",))[0][:, 1].tolist() == [0, 1] * 3


def test_a_number_in_another_notation_far_into_a_column_is_named(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a;y\n" + "1;u\n" * 9 + "1,5;u\n")
    with pytest.raises(FileError, match="row 10, column a: '1,5' is a number"):
        read(path)
    assert read(path, decimal=",")[0].max() == 1.5
    path.write_text("a;y\n" + "1;u\n" * 9 + "two;u\n")
    for more in ({}, {"decimal": ","}, {"thousands": ","}):
        with pytest.raises(FileError, match="row 10, column a: 'two' is not a number"):
            read(path, **more)


def test_no_thousands_begin_with_a_zero(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('a,y\n"1,234",u\n"0,567",v\n')
    with pytest.raises(FileError, match="row 2, column a: '0,567' is a number in"):
        read(path, thousands=",")


def test_a_word_far_into_a_column_may_be_a_missing_value(tmp_path: Path) -> None:
    """In the first block, after the rows that are examined; and in a later block."""
    for n in (30_000, 400_000):
        path = tmp_path / "rows.csv"
        path.write_text("a,y\n" + "0.123456,u\n" * n + "gone,u\n")
        with pytest.raises(FileError, match=f"row {n + 1}, .* use --na gone;"):
            read(path)
    X, _ = read(path, na=("gone",), missing="mean")
    assert X.shape == (n + 1, 1)


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_text_that_holds_numbers_is_numbers_in_other_formats_too(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / f"rows.{kind}"
    cells = ["1.5", "2", None, "-3e2"]
    if kind == "parquet":
        table = pa.table({"a": cells, "y": list("uvuv")})
        pq.write_table(table, path)
    else:
        rows = ['{"a": null, "y": "u"}' if c is None else f'{{"a": "{c}", "y": "u"}}'
                for c in cells]  # fmt: skip
        path.write_text("\n".join(rows) + "\n")
    X, notes = read(path, missing="mean")
    assert_array_equal(X[:, 0], [1.5, 2, 1.75, -300])
    assert notes == ["column a is text that holds only numbers, and is read as numbers"]
