"""Kill processes at random moments while they write files."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from faults.scenarios import (
    MAKERS,
    OLD,
    RESULTS,
    Scenario,
    give_to,
    in_child,
    new_folder,
    other_user,
    records_in,
    who,
)


@dataclass
class Tally:
    """Counts of kills and of the files found after them."""

    kills: int = 0
    ended: int = 0
    old: int = 0
    new: int = 0
    left: int = 0
    torn: list[str] = field(default_factory=list)


def kills(count: int, seed: int, names: list[str]) -> int:
    """Kill `count` processes; print counts, and return the exit code."""
    rng = np.random.default_rng(seed)
    print(f"{count} kills, seed {seed}", flush=True)
    scenarios = [make() for name in names for make in MAKERS[name]]
    other = other_user()
    if other is None:
        print("only as this user: running as another one needs root", flush=True)
    total = sum(scenario.share for scenario in scenarios)
    lost = done = 0
    for number, scenario in enumerate(scenarios):
        # A share of the remaining count, so that all add up to it.
        wanted = round((count - done) * scenario.share / total)
        total -= scenario.share
        if number == len(scenarios) - 1:
            wanted = count - done
        users = [None, other] if other is not None and scenario.any_user else [None]
        for place, user in enumerate(users):
            share = wanted * (place + 1) // len(users) - wanted * place // len(users)
            tally = _kill_many(scenario, share, user, rng)
            print(
                f"{scenario.name:25} {who(user):10} {tally.kills:5} kills: {tally.old} "
                f"files old, {tally.new} new, {len(tally.torn)} lost or torn; "
                f"{tally.left} temporary files seen",
                flush=True,
            )
            for line in tally.torn[:5]:
                print(f"  {line}")
            lost += len(tally.torn)
            done += tally.kills
    print(f"{done} kills, {lost} lost or torn, seed {seed}")
    return 1 if lost or done < count else 0


def _kill_many(
    scenario: Scenario, wanted: int, user: int | None, rng: np.random.Generator
) -> Tally:
    tally = Tally()
    while tally.kills < wanted and tally.ended < 20 * wanted + 20:
        with new_folder() as place:
            scenario.prepare(place)
            give_to(user, place)
            # Several kills in one folder, like a crash loop.
            for _ in range(min(5, wanted - tally.kills)):
                after = float(rng.uniform(0.0, 1.2 * scenario.seconds))
                _kill_one(scenario, place, after, user, tally)
            _finish(scenario, place, user, tally)
    return tally


def _kill_one(
    scenario: Scenario, place: Path, after: float, user: int | None, tally: Tally
) -> None:
    """Start to write, kill after some time, and check the files."""

    def work() -> int:
        code = scenario.write(place)
        while scenario.again:
            code = scenario.write(place)
        return code

    records = records_in(place / RESULTS)
    number = in_child(work, user)
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(number, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    if os.WIFSIGNALED(status):
        tally.kills += 1
    else:
        tally.ended += 1
        if os.waitstatus_to_exitcode(status) != 0:
            code = os.waitstatus_to_exitcode(status)
            tally.torn.append(f"{scenario.name}: it ended with {code}")
    tally.left += sum(path.name.endswith(".tmp") for path in place.rglob("*"))
    for name in scenario.outputs:
        _look_at(scenario, place, name, tally)
    if not records <= records_in(place / RESULTS):
        tally.torn.append(f"{scenario.name}: earlier records are lost")


def _look_at(scenario: Scenario, place: Path, name: str, tally: Tally) -> None:
    """Count a file as old, new or torn."""
    if name == RESULTS:
        return  # lines are appended; see `_kill_one`
    path = place / name
    if not path.exists():
        tally.torn.append(f"{scenario.name}: {name} is lost")
        return
    content = path.read_bytes()
    if content == OLD.encode():
        tally.old += 1
    elif scenario.is_new(name, content):
        tally.new += 1
    else:
        tally.torn.append(f"{scenario.name}: {name} is torn")


def _finish(scenario: Scenario, place: Path, user: int | None, tally: Tally) -> None:
    """Write once more without a kill: all files must be new, none left over."""
    number = in_child(lambda: scenario.write(place), user)
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    if code != 0:
        tally.torn.append(f"{scenario.name}: after the kills, it ended with {code}")
    for name in scenario.outputs:
        path = place / name
        content = path.read_bytes() if path.exists() else b""
        if name != RESULTS and not scenario.is_new(name, content):
            tally.torn.append(f"{scenario.name}: after the kills, {name} is not new")
    for path in place.rglob("*.tmp"):
        tally.torn.append(f"{scenario.name}: {path.name} is left over")
