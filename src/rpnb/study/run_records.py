"""One record per run, appended when the run ends; all tables follow from records."""

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias


class CurvePoint(NamedTuple):
    """Mistakes and updates of a run after its first `row` rows."""

    row: int
    mistakes: int
    updates: int


class RunKey(NamedTuple):
    """Identity of a run: two records with equal keys belong to the same run."""

    dataset: str
    method: str
    parameters: str
    permutation: int
    reading: str
    content: str
    version: str
    seed: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The result of one method on one permutation of one dataset."""

    dataset: str
    """name as in the paper's Table 1"""
    method: str
    """name as in the paper's tables, or of another learner"""
    parameters: str
    """the learner's parameters, as JSON with sorted keys"""
    permutation: int
    """number of the permutation; the same rows in the same order for every method"""
    reading: str
    """version of the data: "paper", as the paper used it, or "true", as published"""
    content: str
    """fingerprint of X and y before permuting"""
    version: str
    """version of rpnb"""
    n: int
    p: int
    M: int
    error: float
    """share of rows predicted wrongly, each before it was learned"""
    f1: float
    """unweighted mean over the classes of the F1 of those predictions"""
    updates: int
    """rows that changed the model, as the method counts them"""
    seconds: float
    """time of the run, without loading and permuting the data"""
    curve: tuple[CurvePoint, ...]
    """mistakes and updates at about fifty points of the stream, the last at its end"""
    seed: int = 0
    """seed of the study, from which permutations and learners' seeds are derived"""
    source: str = ""
    """where the rows came from: "by rule", "in the package", "file",
    "drawn with seed 0", "OpenML 15\""""

    @property
    def key(self) -> RunKey:
        """Identity of the run."""
        return RunKey(*(getattr(self, name) for name in RunKey._fields))


#: Records by dataset and method, in the order of the permutations.
Runs: TypeAlias = Mapping[tuple[str, str], Sequence[RunRecord]]


def group(records: Iterable[RunRecord]) -> Runs:
    """Return the records of each dataset and method, in the order of permutations.

    Raises
    ------
    ValueError
        If a permutation has two different records, which belong to different studies.
    """
    cells: defaultdict[tuple[str, str], dict[int, RunRecord]] = defaultdict(dict)
    for record in records:
        cell = cells[record.dataset, record.method]
        other = cell.setdefault(record.permutation, record)
        if other.key != record.key:
            raise ValueError(
                f"records must be of one study: {record.dataset}, {record.method}, "
                f"permutation {record.permutation} was run under {other.key} and under "
                f"{record.key}"
            )
    return {
        cell: [runs[r] for r in sorted(runs)] for cell, runs in sorted(cells.items())
    }


def to_json(record: RunRecord) -> str:
    """Return a record as one line of JSON."""
    return json.dumps(asdict(record), ensure_ascii=False, allow_nan=False)


def from_json(line: str) -> RunRecord:
    """Return the record in a line of JSON; unknown fields are ignored.

    Raises
    ------
    ValueError, KeyError, TypeError, RecursionError
        If the line does not hold a complete record with valid values.
    """
    values: dict[str, Any] = json.loads(line)
    values["curve"] = tuple(CurvePoint(*point) for point in values["curve"])
    known = {field.name for field in fields(RunRecord)}
    record = RunRecord(**{k: value for k, value in values.items() if k in known})
    _check(record)
    return record


def _check(record: RunRecord) -> None:
    """Refuse values that no run can have."""
    for field in fields(RunRecord):
        value = getattr(record, field.name)
        if field.type is str:
            valid = isinstance(value, str)
        elif field.type is int:
            valid = _is_count(value) and (
                value > 0 or field.name not in ("n", "p", "M")
            )
        elif field.type is float:
            number = isinstance(value, int | float) and not isinstance(value, bool)
            highest = 1e12 if field.name == "seconds" else 1.0
            valid = number and 0.0 <= value <= highest
        else:
            numbers = [number for point in value for number in point]
            valid = len(numbers) > 0 and all(map(_is_count, numbers))
        if not valid:
            raise ValueError(f"{field.name} must not be {value!r}")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def append(path: Path, records: Iterable[RunRecord]) -> None:
    """Append records to a file as lines of JSON, and flush them to the disk.

    Each record is one write: if the process is killed, or the disk is full, the last
    line may be cut off, but lines are never mixed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = _ends_with_newline(path)
    with path.open("ab", buffering=0) as file:
        for record in records:
            line = to_json(record).encode() + b"\n"
            left = line if whole else b"\n" + line
            # A nearly full disk may accept only part of the bytes.
            while left:
                left = left[file.write(left) :]
            whole = True
        os.fsync(file.fileno())


def _ends_with_newline(path: Path) -> bool:
    if not path.exists() or path.stat().st_size == 0:
        return True
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def read(path: Path) -> Iterator[RunRecord]:
    """Yield the records of a file; lines that are cut off or damaged are skipped.

    A line with a whole record counts even if its newline is missing.
    """
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                yield from_json(line)
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
