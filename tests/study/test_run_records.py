"""Records of runs, line by line in a file."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpnb.study.run_records import (
    CurvePoint,
    RunKey,
    RunRecord,
    append,
    from_json,
    read,
    to_json,
)

RECORD = RunRecord(
    dataset="Iris",
    method="RPNB",
    parameters='{"n_estimators": 200}',
    permutation=3,
    reading="paper",
    content="0af1",
    version="0.1.0",
    n=150,
    p=4,
    M=3,
    error=0.08,
    f1=0.91,
    updates=12,
    seconds=0.25,
    curve=(CurvePoint(75, 8, 8), CurvePoint(150, 12, 12)),
    seed=7,
    source="by rule",
)

numbers = st.floats(0.0, 1.0)
records = st.builds(
    replace,
    st.just(RECORD),
    dataset=st.text(),
    permutation=st.integers(0, 99),
    error=numbers,
    f1=numbers,
    seconds=st.floats(0.0, 1e9),
    curve=st.lists(st.builds(CurvePoint, *[st.integers(0, 10**6)] * 3), min_size=1).map(
        tuple
    ),
)


@given(records)
def test_a_record_survives_its_line_to_the_bit(record: RunRecord) -> None:
    line = to_json(record)
    assert "\n" not in line
    assert from_json(line) == record


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dataset", 3),
        ("permutation", True),
        ("n", 0),
        ("M", -1),
        ("updates", 1.5),
        ("seed", 2**63),
        ("error", "x"),
        ("f1", float("inf")),
        ("error", 1.5),
        ("seconds", None),
        ("seconds", -1.0),
        ("curve", [[1, 2]]),
        ("curve", [[1, 2, -3]]),
        ("curve", "abc"),
        ("curve", []),
        ("parameters", []),
    ],
)
def test_a_line_with_an_impossible_value_is_skipped(
    name: str, value: Any, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    values = json.loads(to_json(RECORD)) | {name: value}
    path.write_text(f"{json.dumps(values)}\n{'[' * 20_000}\n{to_json(RECORD)}\n")
    assert list(read(path)) == [RECORD]


@pytest.mark.parametrize("name", RunKey._fields)
def test_each_part_of_the_key_distinguishes_runs(name: str) -> None:
    value: Any = getattr(RECORD, name)
    changed: Any = value + 1 if isinstance(value, int) else "other"
    other = replace(RECORD, **{name: changed})
    assert other.key != RECORD.key


def test_a_result_is_not_part_of_the_key() -> None:
    other = replace(RECORD, error=0.5, seconds=9.0, source="file", curve=())
    assert other.key == RECORD.key


def test_unknown_fields_are_ignored_and_missing_ones_are_refused() -> None:
    values = json.loads(to_json(RECORD))
    assert from_json(json.dumps({**values, "of the future": 1})) == RECORD
    early = {name: v for name, v in values.items() if name not in ("seed", "source")}
    assert from_json(json.dumps(early)) == replace(RECORD, seed=0, source="")
    del values["error"]
    with pytest.raises(TypeError, match="error"):
        from_json(json.dumps(values))


def test_records_are_appended_and_read_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    assert list(read(path)) == []
    many = [replace(RECORD, permutation=r) for r in range(5)]
    append(path, many[:2])
    append(path, many[2:])
    assert list(read(path)) == many


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_cut_off_last_line_is_passed_over_and_does_not_spoil_the_next(
    tmp_path: Path, cut: int
) -> None:
    path = tmp_path / "results.jsonl"
    first, second = RECORD, replace(RECORD, permutation=4)
    append(path, [first, second])
    path.write_bytes(path.read_bytes()[:-cut])
    kept = [first, second] if cut == 1 else [first]  # 1: the newline alone
    assert list(read(path)) == kept
    append(path, [second])
    assert list(read(path)) == [*kept, second]


def test_invalid_lines_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    append(path, [RECORD])
    with path.open("ab") as file:
        file.write(b'\n17\n[]\n"text"\n{"curve": [[1]]}\n{"curve": 3}\n\xff\xfe\n{}\n')
    append(path, [RECORD])
    assert list(read(path)) == [RECORD, RECORD]
