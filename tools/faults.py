"""Kills while files are written, and disks that are full: what is left must be whole.

`python tools/faults.py kills 1000` kills processes that save models, run `rpnb run` and
run `rpnb paper`, at random moments, as root and as another user where that is possible.
`python tools/faults.py full` lets the disk be full after every so many bytes.

Processes are forked from this one, where everything is imported and compiled.
"""

import argparse
import contextlib
import io
import os
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rpnb import RPNBClassifier
from rpnb.cli import main as rpnb
from rpnb.study.records import from_json

OLD = "as it was\n"
ROWS = "a,b,kind\n" + "".join(f"{i % 7},{i % 3}.5,{i % 2}\n" for i in range(300))
OUTPUTS = ("model.rpnb", "predictions.csv", "page.html")
NOBODY = 65534
_PAPER = ["--datasets", "Iris", "--methods", "RPNB", "PA", "--permutations", "3"]


@dataclass
class Tally:
    """How many files were looked at after kills, and what they were."""

    kills: int = 0
    ended: int = 0
    old: int = 0
    new: int = 0
    left: int = 0
    torn: list[str] = field(default_factory=list)


@dataclass
class Scenario:
    """Something that writes files, and how its files are told to be whole."""

    name: str
    prepare: Callable[[Path], None]
    write: Callable[[Path], None]
    is_new: Callable[[str, bytes], bool]
    """whether a file with this name and content is a whole new one"""
    outputs: tuple[str, ...]
    seconds: float = 0.05
    """about how long writing takes"""


def saving() -> Scenario:
    """Two models, saved in turn to the same file."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    models = [
        RPNBClassifier(20, random_state=seed).fit(X, X[:, 0] > 0) for seed in (0, 1)
    ]
    folder = Path(tempfile.mkdtemp())
    contents = []
    for model in models:
        model.save(folder / "model.rpnb")
        contents.append((folder / "model.rpnb").read_bytes())
    shutil.rmtree(folder)

    def write(place: Path) -> None:
        while True:
            for model in models:
                model.save(place / "model.rpnb")

    def prepare(place: Path) -> None:
        (place / "model.rpnb").write_bytes(contents[0])

    def is_new(_name: str, content: bytes) -> bool:
        return content in contents

    return Scenario("save", prepare, write, is_new, ("model.rpnb",), 0.02)


def running() -> Scenario:
    """`rpnb run` with three files to write."""

    def prepare(place: Path) -> None:
        (place / "rows.csv").write_text(ROWS)
        for name in OUTPUTS:
            (place / name).write_text(OLD)

    def write(place: Path) -> None:
        words = ["run", str(place / "rows.csv"), "--target", "kind", "--quiet"]
        for option, name in zip(
            ("save", "predictions", "report"), OUTPUTS, strict=True
        ):
            words += [f"--{option}", str(place / name)]
        quietly(lambda: rpnb([*words, "--n-estimators", "20"]))

    folder = Path(tempfile.mkdtemp())
    prepare(folder)
    write(folder)  # once to compile, and once to see how long it takes
    start = time.monotonic()
    write(folder)
    seconds = time.monotonic() - start
    expected = {name: (folder / name).read_bytes() for name in OUTPUTS}
    shutil.rmtree(folder)

    def is_new(name: str, content: bytes) -> bool:
        if name == "page.html":  # it says how long the run took, and where
            return content.rstrip().endswith(b"</html>")
        return content == expected[name]

    return Scenario("rpnb run", prepare, write, is_new, OUTPUTS, seconds)


def studying() -> Scenario:
    """`rpnb paper`, which appends to its results and writes a report."""

    def prepare(place: Path) -> None:
        (place / "report").mkdir()

    def write(place: Path) -> None:
        words = ["paper", *_PAPER, "--jobs", "1", "--offline"]
        words += ["--results", str(place / "results.jsonl")]
        quietly(lambda: rpnb([*words, "--report", str(place / "report")]))

    folder = Path(tempfile.mkdtemp())
    prepare(folder)
    write(folder)
    (folder / "results.jsonl").unlink()
    start = time.monotonic()
    write(folder)
    seconds = time.monotonic() - start
    assert (folder / "results.jsonl").read_text().count("\n") > 1
    shutil.rmtree(folder)

    def is_new(_name: str, content: bytes) -> bool:
        """Whether all lines are whole records but the last, which may be cut off."""
        lines = content.split(b"\n")
        for line in lines[:-1]:
            from_json(line.decode())
        return True

    return Scenario("rpnb paper", prepare, write, is_new, ("results.jsonl",), seconds)


def quietly(call: Callable[[], int]) -> int:
    """Make a call whose prints nobody wants to see; return its exit code."""
    nothing = io.StringIO()
    with contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        return call()


def in_child(work: Callable[[], None], user: int | None = None) -> int:
    """Fork a process that does some work, in a group of its own; return its number."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            os.setsid()
            if user is not None:
                os.setgid(user)
                os.setuid(user)
            work()
            code = 0
        finally:
            os._exit(code)
    return number


def kill_one(
    scenario: Scenario, place: Path, after: float, user: int | None, tally: Tally
) -> None:
    """Start to write, kill after some time, and look at what is there."""
    number = in_child(lambda: scenario.write(place), user)
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    if not os.WIFSIGNALED(status):
        tally.ended += 1
        return
    tally.kills += 1
    tally.left += sum(path.name.endswith(".tmp") for path in place.iterdir())
    for name in scenario.outputs:
        path = place / name
        if not path.exists():
            if name != "results.jsonl":
                tally.torn.append(f"{scenario.name}: {name} is lost")
            continue
        content = path.read_bytes()
        try:
            if content == OLD.encode():
                tally.old += 1
            elif scenario.is_new(name, content):
                tally.new += 1
            else:
                tally.torn.append(f"{scenario.name}: {name} is torn")
        except (ValueError, KeyError, TypeError) as error:
            tally.torn.append(f"{scenario.name}: {name} is torn: {error}")


@contextlib.contextmanager
def folder_for(user: int | None) -> Iterator[Path]:
    """Return a new folder that a user may write to."""
    place = Path(tempfile.mkdtemp(prefix="rpnb-faults-"))
    if user is not None:
        os.chown(place, user, user)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def give_to(user: int | None, place: Path) -> None:
    """Make a user the owner of all files in a folder."""
    if user is not None:
        for path in (place, *place.rglob("*")):
            os.chown(path, user, user)


def kills(count: int, seed: int, names: list[str]) -> int:
    """Kill so many processes; print counts, and return the exit code."""
    rng = np.random.default_rng(seed)
    makers = {"save": saving, "run": running, "paper": studying}
    scenarios = {name: makers[name]() for name in names}
    shares = {"save": 0.8, "run": 0.15, "paper": 0.05}
    total = sum(shares[name] for name in names)
    users: list[int | None] = [None, NOBODY] if os.getuid() == 0 else [None]
    lost = 0
    done = 0
    for name, scenario in scenarios.items():
        for user in users:
            wanted = round(count * shares[name] / total / len(users))
            tally = Tally()
            while tally.kills < wanted and tally.ended < 20 * wanted + 20:
                with folder_for(user) as place:
                    scenario.prepare(place)
                    give_to(user, place)
                    # Several kills in a row in one folder, as a crash loop would.
                    for _ in range(min(5, wanted - tally.kills)):
                        after = float(rng.uniform(0.0, 1.2 * scenario.seconds))
                        kill_one(scenario, place, after, user, tally)
            who = "this user" if user is None else f"user {user}"
            print(
                f"{scenario.name:11} {who:10} {tally.kills:5} kills: {tally.old} files "
                f"old, {tally.new} new, {len(tally.torn)} lost or torn; "
                f"{tally.left} temporary files seen",
                flush=True,
            )
            for line in tally.torn[:5]:
                print(f"  {line}")
            lost += len(tally.torn)
            done += tally.kills
    print(f"{done} kills, {lost} lost or torn, seed {seed}")
    return 1 if lost else 0


# Full disks


def full(steps: int) -> int:
    """Let the disk be full after ever more bytes; print counts; return the exit code.

    By the limit of a process on the size of files, and on a small file system of its
    own where mounting is allowed.
    """
    scenarios = [saving(), running()]
    wrong = 0
    for scenario in scenarios:
        with folder_for(None) as place:
            scenario.prepare(place)
            quick = saving_once if scenario.name == "save" else scenario.write
            quick(place)
            largest = max((place / name).stat().st_size for name in scenario.outputs)
        refused = 0
        for limit in np.linspace(0, largest - 1, steps).astype(int).tolist():
            problems = write_to_full_disk(scenario, quick, limit)
            wrong += len(problems)
            refused += not problems
            for line in problems:
                print(f"  {scenario.name}, {limit} bytes: {line}")
        print(
            f"{scenario.name:11} {steps} sizes of a full disk up to {largest} bytes: "
            f"{refused} times nothing changed and nothing left"
        )
    wrong += _on_small_file_system()
    return 1 if wrong else 0


def saving_once(place: Path) -> None:
    """Save a model once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    RPNBClassifier(20, random_state=0).fit(X, X[:, 0] > 0).save(place / "model.rpnb")


def write_to_full_disk(
    scenario: Scenario, write: Callable[[Path], None], limit: int
) -> list[str]:
    """Return what is wrong after writing where files may have so many bytes only."""

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        try:
            write(place)
        except OSError:
            return

    with folder_for(None) as place:
        scenario.prepare(place)
        before = {path.name: path.read_bytes() for path in place.iterdir()}
        number = in_child(work)
        _, status = os.waitpid(number, 0)
        problems = []
        if os.waitstatus_to_exitcode(status) != 0:
            problems.append(f"it ended with {os.waitstatus_to_exitcode(status)}")
        after = {path.name: path.read_bytes() for path in place.iterdir()}
        problems += [f"{name} is new" for name in after if name not in before]
        for name, content in before.items():
            if after.get(name) != content:
                problems.append(f"{name} has changed")
        return problems


def _on_small_file_system() -> int:
    """Save to a file system of 64 kB until it is full; return what is wrong."""
    if shutil.which("mount") is None or os.getuid() != 0:
        print("no small file system: mounting takes root")
        return 0
    place = Path(tempfile.mkdtemp(prefix="rpnb-faults-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:  # noqa: S603
        place.rmdir()
        print("no small file system: mounting is not allowed here")
        return 0
    wrong = 0
    try:
        saving_once(place)
        whole = (place / "model.rpnb").read_bytes()
        for filler in range(0, 64 << 10, 2048):
            path = place / "filler"
            with contextlib.suppress(OSError), path.open("wb") as file:
                file.write(bytes(filler))
            with contextlib.suppress(OSError):
                saving_once(place)
            left = sorted(file.name for file in place.iterdir())
            wrong += (place / "model.rpnb").read_bytes() != whole
            wrong += left not in (["filler", "model.rpnb"], ["model.rpnb"])
        print(f"a file system of 64 kB, 32 times nearer to full: {wrong} wrong")
    finally:
        subprocess.run(["umount", str(place)], check=False)  # noqa: S603, S607
        place.rmdir()
    return wrong


def main() -> int:
    """Run the faults that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    killing = commands.add_parser("kills", help="kill processes while they write")
    killing.add_argument("count", type=int)
    killing.add_argument("--seed", type=int, help="default: a fresh one")
    killing.add_argument(
        "--only", nargs="+", choices=("save", "run", "paper"), default=None
    )
    filling = commands.add_parser("full", help="write to disks that are full")
    filling.add_argument("--steps", type=int, default=40)
    given = parser.parse_args()
    if given.command == "full":
        return full(given.steps)
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    return kills(given.count, seed, given.only or ["save", "run", "paper"])


if __name__ == "__main__":
    sys.exit(main())
