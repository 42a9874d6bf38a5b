"""Disks that are full after more and more bytes."""

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from faults.scenarios import (
    RESULTS,
    Scenario,
    give_to,
    in_child,
    new_folder,
    other_user,
    records_in,
    reporting,
    running,
    saving,
    studying,
    who,
)

#: Size of the small file system in bytes.
SMALL = 1 << 20


def full(steps: int) -> int:
    """Let the disk be full after more and more bytes; return the exit code.

    By limiting the size of files of a process and, if mounting is allowed, on a small
    file system.
    """
    scenarios = [saving(), running(), studying(workers=False), reporting()]
    other = other_user()
    users = [None] if other is None else [None, other]
    if other is None:
        print("only as this user: running as another one needs root", flush=True)
    wrong = 0
    for scenario in scenarios:
        for user in users:
            wrong += _by_limits(scenario, user, steps)
    small = _mounted()
    if small is None:
        print("no small file system: mounting needs root")
        return 1 if wrong else 0
    try:
        for scenario in scenarios:
            for user in users:
                wrong += _on_small_file_system(scenario, user, small, steps)
    finally:
        subprocess.run(["umount", str(small)], check=False)  # noqa: S603, S607
        small.rmdir()
    return 1 if wrong else 0


def _by_limits(scenario: Scenario, user: int | None, steps: int) -> int:
    """Write with limits on the size of files; return the number of failures."""
    with new_folder() as place:
        scenario.prepare(place)
        scenario.write(place)
        largest = max((place / name).stat().st_size for name in scenario.outputs)
    wrong = 0
    for limit in np.linspace(0, largest - 1, steps).astype(int).tolist():

        def work(limit: int = limit) -> int:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            return scenario.write(place)

        with new_folder() as place:
            scenario.prepare(place)
            code, problems = _fill(scenario, place, user, work)
        if code == 0:
            problems.append("it was written to a full disk")
        wrong += len(problems) > 0
        for line in problems:
            print(f"  {scenario.name}, {limit} bytes: {line}")
    print(
        f"{scenario.name:20} {who(user):10} {steps} sizes of a full disk up to "
        f"{largest} bytes: {steps - wrong} times nothing changed and nothing left",
        flush=True,
    )
    return wrong


def _fill(
    scenario: Scenario, place: Path, user: int | None, work: Callable[[], int]
) -> tuple[int, list[str]]:
    """Write to a disk that becomes full; return the exit code and the problems."""
    give_to(user, place)
    before = _files(place)
    records = records_in(place / RESULTS)
    number = in_child(work, user)
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    after = _files(place)
    problems = [f"{n} is new" for n in after if n not in before and n != RESULTS]
    if not records <= records_in(place / RESULTS):
        problems.append("records are lost")
    if code == 0:
        problems += [
            f"{name} is not new"
            for name in scenario.outputs
            if name != RESULTS and not scenario.is_new(name, after[name])
        ]
        return code, problems
    if code != 2:
        problems.append(f"it ended with {code}")
    problems += [
        f"{name} has changed"
        for name, content in before.items()
        if after.get(name) != content and name != RESULTS
    ]
    return code, problems


def _files(place: Path) -> dict[str, bytes]:
    paths = [path for path in place.rglob("*") if path.is_file()]
    return {str(path.relative_to(place)): path.read_bytes() for path in paths}


def _mounted() -> Path | None:
    """Mount a small file system; return its path, None if that is not allowed."""
    if shutil.which("mount") is None or os.getuid() != 0:
        return None
    place = Path(tempfile.mkdtemp(prefix="rpnb-faults-"))
    place.chmod(0o755)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SMALL},mode=755", "tmpfs"]
    done = subprocess.run([*mount, str(place)], check=False, capture_output=True)  # noqa: S603
    if done.returncode != 0:
        place.rmdir()
        return None
    return place


def _on_small_file_system(
    scenario: Scenario, user: int | None, small: Path, steps: int
) -> int:
    """Write to a file system with less and less room; return the number of failures."""
    place = small / "place"
    wrong = refused = 0
    with new_folder() as elsewhere:
        scenario.prepare(elsewhere)
        scenario.write(elsewhere)
        needed = 2 * sum(len(content) for content in _files(elsewhere).values())
    for free in np.linspace(0, min(needed, SMALL // 2), steps).astype(int).tolist():
        place.mkdir()
        scenario.prepare(place)
        filler = small / "filler"
        with filler.open("wb", buffering=0) as file:
            room = os.statvfs(small)
            os.posix_fallocate(
                file.fileno(), 0, max(room.f_bavail * room.f_bsize - free, 1)
            )
        code, problems = _fill(scenario, place, user, lambda: scenario.write(place))
        refused += code != 0
        wrong += len(problems) > 0
        for line in problems:
            print(f"  {scenario.name}, {free} bytes free: {line}")
        filler.unlink()
        shutil.rmtree(place)
    print(
        f"{scenario.name:20} {who(user):10} a file system with {steps} different "
        f"amounts of room: {refused} times refused, {wrong} wrong",
        flush=True,
    )
    return wrong
