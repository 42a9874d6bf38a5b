"""One record a run, appended as the run ends: all tables are functions of records."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple


class CurvePoint(NamedTuple):
    """Where a stream stood after some rows."""

    row: int
    mistakes: int
    updates: int


class RunKey(NamedTuple):
    """What makes two runs the same run: it is never computed twice."""

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
    """"paper" or "true": how the data were read"""
    content: str
    """what the rows were: a fingerprint of X and y before permuting"""
    version: str
    """version of rpnb"""
    n: int
    p: int
    M: int
    error: float
    """share of rows whose prediction, made before learning them, was wrong"""
    f1: float
    """unweighted mean over the classes of the F1 of those predictions"""
    updates: int
    """rows that changed the model, as the method counts them"""
    seconds: float
    """time of the run, data and permutation at hand"""
    curve: tuple[CurvePoint, ...]
    """where the run stood at about fifty places of the stream, its end included"""
    seed: int = 0
    """seed of the study: permutations and learners' seeds follow from it"""
    source: str = ""
    """how the rows were had: "by rule", "file", "drawn with seed 0", "OpenML 15"."""

    @property
    def key(self) -> RunKey:
        """What makes this run the same as another."""
        return RunKey(*(getattr(self, name) for name in RunKey._fields))


def to_json(record: RunRecord) -> str:
    """Return a record as one line of JSON."""
    return json.dumps(asdict(record), ensure_ascii=False, allow_nan=False)


def from_json(line: str) -> RunRecord:
    """Return the record that a line of JSON holds; what it does not know is left out.

    Raises
    ------
    json.JSONDecodeError, KeyError, TypeError
        If the line does not hold a whole record.
    """
    values: dict[str, Any] = json.loads(line)
    values["curve"] = tuple(CurvePoint(*point) for point in values["curve"])
    known = {field.name for field in fields(RunRecord)}
    return RunRecord(**{name: value for name, value in values.items() if name in known})


def append(path: Path, records: Iterable[RunRecord]) -> None:
    """Add records at the end of a file, whole lines only, and flush them to the disk.

    One write a record: another process that appends at the same time, or a sudden end,
    can cut off a last line but never mix two.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = _ends_with_newline(path)
    with path.open("ab", buffering=0) as file:
        for record in records:
            line = to_json(record).encode() + b"\n"
            file.write(line if whole else b"\n" + line)
            whole = True
        os.fsync(file.fileno())


def _ends_with_newline(path: Path) -> bool:
    if not path.exists() or path.stat().st_size == 0:
        return True
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def read(path: Path) -> Iterator[RunRecord]:
    """Yield the records of a file; a line cut off by a sudden end is passed over.

    A line that holds a whole record counts even if its newline is missing.
    """
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                yield from_json(line)
            except (json.JSONDecodeError, KeyError, TypeError):
                continue
