"""Scenarios that write files, with checks that the files are complete."""

import contextlib
import io
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np

import rpnb.report.written_files as report_files
import rpnb.study.run as study_run
from rpnb import RPNBClassifier
from rpnb.cli import main as rpnb
from rpnb.study.run_records import read
from rpnb.study.worker_pool import Workers

OLD = "as it was\n"
ROWS = "a,b,kind\n" + "".join(f"{i % 7},{i % 3}.5,{i % 2}\n" for i in range(300))
OUTPUTS = ("model.rpnb", "predictions.csv", "page.html")
#: Lines are appended to it, so it is neither old nor new.
RESULTS = "results.jsonl"
_PAPER = (
    *("paper", "--offline", "--jobs", "1", "--results", RESULTS),
    *("--datasets", "Iris", "--methods", "RPNB", "PA", "--permutations", "3"),
)


@dataclass
class Scenario:
    """A function that writes files, and a check that they are complete."""

    name: str
    prepare: Callable[[Path], None]
    """prepare(place) writes the old files to a folder"""
    write: Callable[[Path], int]
    """write(place) replaces the files and returns an exit code"""
    is_new: Callable[[str, bytes], bool]
    """is_new(name, content) returns whether the file is new and complete"""
    outputs: tuple[str, ...]
    seconds: float
    """approximate duration of writing"""
    again: bool = False
    """whether to repeat writing until the process is killed"""
    share: float = 1.0
    """share of all kills"""
    any_user: bool = True
    """whether other users can run it"""


@contextlib.contextmanager
def new_folder() -> Iterator[Path]:
    """Yield a temporary folder."""
    place = Path(tempfile.mkdtemp(prefix="rpnb-faults-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def quietly(words: list[str], place: Path) -> int:
    """Run a command in a folder without output; return its exit code.

    It must not print a traceback.
    """
    printed = io.StringIO()
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.chdir(place),
    ):
        code = rpnb(words)
    if "Traceback" in printed.getvalue():
        raise RuntimeError(printed.getvalue())
    return code


def saving() -> Scenario:
    """Save two models alternately to the same file."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    models = [
        RPNBClassifier(20, random_state=seed).fit(X, X[:, 0] > 0) for seed in (0, 1)
    ]
    contents = []
    with new_folder() as folder:
        for model in models:
            model.save(folder / "model.rpnb")
            contents.append((folder / "model.rpnb").read_bytes())

    def write(place: Path) -> int:
        path = place / "model.rpnb"
        other = 1 if path.read_bytes() == contents[0] else 0
        try:
            models[other].save(path)
        except OSError:
            return 2
        return 0

    def prepare(place: Path) -> None:
        (place / "model.rpnb").write_bytes(contents[0])

    def is_new(_name: str, content: bytes) -> bool:
        return content in contents

    return Scenario(
        *("save", prepare, write, is_new, ("model.rpnb",), 0.02),
        again=True,
        share=0.6,
    )


def running() -> Scenario:
    """Run `rpnb run`, which writes three files."""

    def prepare(place: Path) -> None:
        (place / "rows.csv").write_text(ROWS)
        for name in OUTPUTS:
            (place / name).write_text(OLD)

    def write(place: Path) -> int:
        words = ["run", "rows.csv", "--target", "kind", "--quiet"]
        for option, name in zip(
            ("save", "predictions", "report"), OUTPUTS, strict=True
        ):
            words += [f"--{option}", name]
        return quietly([*words, "--model", "RPNB", "--n-estimators", "20"], place)

    expected, seconds = _rehearsed(prepare, write, OUTPUTS)

    def is_new(name: str, content: bytes) -> bool:
        if name == "page.html":  # contains the duration of the run
            return content.rstrip().endswith(b"</html>")
        return content == expected[name]

    return Scenario(*("rpnb run", prepare, write, is_new, OUTPUTS, seconds), share=0.2)


def _rehearsed(
    prepare: Callable[[Path], None],
    write: Callable[[Path], int],
    outputs: tuple[str, ...] | None = None,
) -> tuple[dict[str, bytes], float]:
    """Return the files that are written, and the duration of a second run."""
    for _ in range(2):
        with new_folder() as folder:
            prepare(folder)
            start = time.monotonic()
            code = write(folder)
            seconds = time.monotonic() - start
            if code != 0:
                raise RuntimeError(f"it ended with {code}, before any fault")
            paths = [path for path in folder.rglob("*") if path.is_file()]
            found = {str(p.relative_to(folder)): p.read_bytes() for p in paths}
    return {k: v for k, v in found.items() if outputs is None or k in outputs}, seconds


# The paper


@contextlib.contextmanager
def _in_this_process() -> Iterator[None]:
    """Compute the runs of a study in this process, without slow workers.

    Only the main process writes files. PNG files, which take ten times as long as
    everything else, are left out, so that more kills happen during writes.
    """
    with (
        patch.object(study_run, "Workers", lambda _jobs: Workers(0)),
        patch.object(report_files, "is_available", lambda: False),
    ):
        yield


def _paper(place: Path) -> int:
    return quietly(list(_PAPER), place)


def _paper_here(place: Path) -> int:
    with _in_this_process():
        return _paper(place)


def studying(*, workers: bool) -> Scenario:
    """Run `rpnb paper` from the start: it appends results, then writes reports."""
    write = _paper if workers else _paper_here
    expected, seconds = _rehearsed(lambda _: None, write)
    reports = tuple(name for name in expected if name != RESULTS)

    def is_new(name: str, content: bytes) -> bool:
        """Return whether the file is complete; it contains durations of runs."""
        example = expected[name]
        ends = {".html": b"</html>", ".svg": b"</svg>", ".png": b"IEND\xaeB`\x82"}
        end = ends.get(Path(name).suffix)
        if end is not None:
            return content.rstrip().endswith(end)
        same_end = content[-1:] == example[-1:]
        return same_end and content.count(b"\n") == example.count(b"\n")

    return Scenario(
        "rpnb paper, with a worker" if workers else "rpnb paper",
        *(_with_old(reports), write, is_new, (RESULTS, *reports), seconds),
        share=0.02 if workers else 0.1,
        any_user=not workers,
    )


def reporting() -> Scenario:
    """Run `rpnb paper` after all runs: it only writes tables and the report."""
    results, _ = _rehearsed(lambda _: None, _paper_here, (RESULTS,))

    def begin(place: Path) -> None:
        (place / RESULTS).write_bytes(results[RESULTS])

    expected, seconds = _rehearsed(begin, _paper_here)
    reports = tuple(name for name in expected if name != RESULTS)
    old = _with_old(reports)

    def prepare(place: Path) -> None:
        begin(place)
        old(place)

    def is_new(name: str, content: bytes) -> bool:
        return content == expected[name]

    return Scenario(
        *("rpnb paper, report", prepare, _paper_here, is_new),
        *((RESULTS, *reports), seconds),
        share=0.08,
    )


def _with_old(names: tuple[str, ...]) -> Callable[[Path], None]:
    def prepare(place: Path) -> None:
        for name in names:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(OLD)

    return prepare


def records_in(path: Path) -> set[str]:
    """Return the records of a file of results, as text."""
    return {repr(record) for record in read(path)}


#: Scenarios by the names that `--only` takes.
MAKERS: Mapping[str, tuple[Callable[[], Scenario], ...]] = {
    "save": (saving,),
    "run": (running,),
    "paper": (
        lambda: studying(workers=False),
        lambda: studying(workers=True),
        reporting,
    ),
}


# Processes


def in_child(work: Callable[[], int], user: int | None = None) -> int:
    """Fork a process in its own group to do some work; return its id."""
    number = os.fork()
    if number == 0:
        code = 70  # failure of this tool
        try:
            os.setsid()
            if user is not None:
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
            code = work()
        finally:
            os._exit(code)
    return number


def other_user() -> int | None:
    """Return the id of another user to run as; None without root."""
    return 65534 if os.getuid() == 0 else None


def give_to(user: int | None, place: Path) -> None:
    """Make a user the owner of a folder and everything in it."""
    if user is not None:
        for path in (place, *place.rglob("*")):
            os.chown(path, user, user)


def who(user: int | None) -> str:
    """Return the name of a user for output."""
    if user is not None:
        return f"user {user}"
    return "root" if os.getuid() == 0 else "this user"
