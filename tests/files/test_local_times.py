"""Times with an offset from UTC are the local times that they state, in all formats."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import feather, parquet

from rpnb import PooledClassifier
from rpnb.core.columns.coding import date_numbers
from rpnb.files import LabelledFile, ReadOptions

N = 40
LOCAL = [datetime(2024, 1, 1, 5, 15) + timedelta(hours=7 * i) for i in range(N)]
OPTIONS = ReadOptions(target="y", categorical="native", missing="keep")
OFFSETS = {
    "east": [timedelta(hours=5)],
    "west": [timedelta(hours=-3, minutes=-30)],
    "utc": [timedelta(0)],
    "mixed": [timedelta(hours=2), timedelta(hours=1), timedelta(hours=-8)],
}


def zoned(name: str) -> list[datetime]:
    offsets = OFFSETS[name]
    return [
        t.replace(tzinfo=timezone(offsets[i % len(offsets)]))
        for i, t in enumerate(LOCAL)
    ]


def expected() -> Any:
    return date_numbers(np.array(LOCAL, "M8[us]"))


def rows_of(path: Path) -> Any:
    with LabelledFile(str(path), OPTIONS) as file:
        assert file.plan is not None
        assert file.plan.kinds == {"d": "date"}
        return np.concatenate([chunk.X.copy() for chunk in file.chunks(7)])


@pytest.mark.parametrize("name", OFFSETS)
@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_text_keeps_local_times(name: str, form: str, tmp_path: Path) -> None:
    texts = [t.isoformat() for t in zoned(name)]
    path = tmp_path / f"rows.{form}"
    objects = [{"d": t, "y": "ab"[i % 2]} for i, t in enumerate(texts)]
    if form == "csv":
        lines = [f"{t},{'ab'[i % 2]}" for i, t in enumerate(texts)]
        path.write_text("\n".join(["d,y", *lines, ""]))
    elif form == "jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in objects))
    else:
        path.write_text(json.dumps(objects))
    assert_array_equal(rows_of(path), expected())


def test_other_spellings_of_offsets_are_local_times(tmp_path: Path) -> None:
    ends = ["Z", "+05", "+0530", "-08:00", ""]
    path = tmp_path / "rows.csv"
    lines = [f"{t.isoformat(' ')}{ends[i % len(ends)]},a" for i, t in enumerate(LOCAL)]
    path.write_text("\n".join(["d,y", *lines, ""]))
    assert_array_equal(rows_of(path), expected())


@pytest.mark.parametrize("name", ["east", "west", "utc"])
def test_a_column_with_a_zone_keeps_local_times(name: str, tmp_path: Path) -> None:
    offset = OFFSETS[name][0]
    minutes = int(offset.total_seconds()) // 60
    zone = (
        f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    )
    times = pa.array(zoned(name), pa.timestamp("us", zone))
    table = pa.table({"d": times, "y": ["ab"[i % 2] for i in range(N)]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    feather.write_feather(table, tmp_path / "rows.feather")
    for path in ("rows.parquet", "rows.feather"):
        assert_array_equal(rows_of(tmp_path / path), expected())


@pytest.mark.parametrize("name", ["east", "mixed"])
def test_texts_in_columns_of_arrow_keep_local_times(name: str, tmp_path: Path) -> None:
    texts = [t.isoformat() for t in zoned(name)]
    table = pa.table({"d": texts, "y": ["ab"[i % 2] for i in range(N)]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    assert_array_equal(rows_of(tmp_path / "rows.parquet"), expected())


@pytest.mark.parametrize("name", OFFSETS)
def test_frames_keep_local_times(name: str) -> None:
    pd = pytest.importorskip("pandas")
    y = ["ab"[t.hour < 8] for t in LOCAL]

    def predicted(column: Any) -> Any:
        model = PooledClassifier(random_state=0)
        return model.predict_then_learn(pd.DataFrame({"d": column}), y).tolist()

    wanted = predicted(pd.Series(LOCAL))
    assert predicted(pd.Series(zoned(name), dtype=object)) == wanted
    if name != "mixed":
        assert predicted(pd.Series(zoned(name))) == wanted
    model = PooledClassifier(random_state=0).fit(pd.DataFrame({"d": LOCAL}), y)
    texts = pd.DataFrame({"d": [t.isoformat() for t in zoned(name)]})
    X = pd.DataFrame({"d": LOCAL})
    assert (model.predict_proba(texts) == model.predict_proba(X)).all()


def test_the_note_says_that_offsets_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"{t.isoformat()},a" for t in zoned("east")]
    path.write_text("\n".join(["d,y", *lines, ""]))
    with LabelledFile(str(path), OPTIONS) as file:
        (note,) = file.notes
    assert note == (
        "column d is read as dates, by the local times in it, whatever their offsets "
        "from UTC"
    )


def test_a_header_that_comes_again_is_no_time(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"{t.isoformat()},a" for t in zoned("east")]
    path.write_text("\n".join(["d,y", *lines[:20], "d,y", *lines[20:], ""]))
    assert_array_equal(rows_of(path), expected())
