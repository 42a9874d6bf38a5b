"""Kill executors, workers and drivers of streaming queries; compare the models.

    python tools/extra_environment.py spark .venv/spark benchmarks/spark_faults.py

starts a cluster of a master and two workers on this machine. One query is undisturbed;
the others are killed (SIGKILL) in randomly chosen triggers, one kill each:

* executor, worker: one of them, at a random moment while the trigger is learned;
* driver, during a trigger: likewise;
* driver, before the model is written: all is learned, the results are written;
* driver, after the model is written, before Spark has noted that the trigger is done.

Everything that was killed is restarted. A query counts as different unless its model,
the models of all its triggers, its results and the bad rows set aside equal those of
the undisturbed query, whose model is that of one process, to the bit. The exit code is
1 if there is a difference, or a kill that missed its moment.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rpnb import RPNBClassifier
from spark_cluster import Cluster, environment, kill, session

NAMES = [f"x{i}" for i in range(8)]
SCHEMA = ", ".join(f"{name} double" for name in NAMES) + ", label int, time long"
# A trigger is a mini-batch of three blocks, learned by the executors, and a short one.
BATCH = 4200
ROWS = 4500
# Rows of each trigger that are bad: a missing value, a huge one, no label.
BAD = {17: "missing", 1234: "huge", 4400: "no label"}
# Drivers and executors live for a minute: compiling their code does not pay.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SHORT_LIVED = {
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.locality.wait": "0",
}
# How long a trigger takes, until one was measured.
_SECONDS = 4.0
# Far longer than anything here takes on a busy machine.
_PATIENCE = 3600.0

Kind = Literal["executor", "worker", "during", "before", "after"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WORDS: dict[str, str] = {
    "executor": "executor",
    "worker": "worker",
    "during": "driver, during a trigger",
    "before": "driver, before the model is written",
    "after": "driver, after the model is written, before Spark's commit",
}


class Kill(NamedTuple):
    """The target of a kill, and its moment."""

    kind: Kind
    trigger: int
    share: float = 0.5
    """of the time that the trigger before has taken"""


# What is learned


def classifier() -> RPNBClassifier:
    """Return the model of the query: two mini-batches a trigger."""
    return RPNBClassifier(20, batch_size=BATCH, temperature=None, random_state=0)


def trigger_rows(number: int) -> tuple[Any, Any]:
    """Return the rows of a trigger."""
    rng = np.random.default_rng([7, number])
    y = rng.integers(0, 5, ROWS)
    centres = np.random.default_rng(1).normal(size=(5, 8))
    return np.round(rng.normal(size=(ROWS, 8)) + centres[y], 6), y


def write_files(folder: Path, triggers: int) -> None:
    """Write one file for each trigger."""
    folder.mkdir(parents=True)
    for number in range(triggers):
        X, y = trigger_rows(number)
        lines = []
        for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
            cells = [*(repr(x) for x in row), str(label), str(number * ROWS + i)]
            match BAD.get(i):
                case "missing":
                    cells[2] = ""
                case "huge":
                    cells[5] = "1e200"
                case "no label":
                    cells[8] = ""
            lines.append(",".join(cells))
        # The oldest file is read first.
        path = folder / f"{number:04d}.csv"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (1e9 + number, 1e9 + number))


def undisturbed(triggers: int) -> RPNBClassifier:
    """Return the model of one process."""
    model = classifier()
    for number in range(triggers):
        X, y = trigger_rows(number)
        model.partial_fit(np.delete(X, list(BAD), 0), np.delete(y, list(BAD)))
    return model


def digest(model: RPNBClassifier) -> str:
    """Return a hash of the bits of a model's state."""
    state = model._state
    sums = hashlib.sha256(repr((int(state.n_seen), int(state.n_updates))).encode())
    for array in (*state.moments, *state.classes):
        sums.update(np.ascontiguousarray(array).tobytes())
    return sums.hexdigest()


def same_bits(one: RPNBClassifier, other: RPNBClassifier) -> bool:
    """Return whether two models have the same state."""
    return digest(one) == digest(other)


# The driver


class Plan:
    """The kills of a query, each done once, whichever process it is due in.

    The driver kills itself. For an executor or a worker it leaves a file that asks for
    it and, before it writes the trigger's model, waits until it is done.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._seconds = folder, _SECONDS
        plan = folder / "kills.json"
        kills = json.loads(plan.read_text()) if plan.exists() else []
        self._by_trigger = {each.trigger: each for each in (Kill(*k) for k in kills)}
        self._lock = threading.Lock()
        self._begin = time.monotonic()

    def begin(self, trigger: int) -> None:
        """Note that a trigger is learned; kill at the moment that was drawn for it."""
        self._begin = time.monotonic()
        found = self._by_trigger.get(trigger)
        if found is not None and found.kind not in ("before", "after"):
            timer = threading.Timer(found.share * self._seconds, self._fire, (found,))
            timer.daemon = True
            timer.start()

    def before_write(self, trigger: int) -> None:
        """Do the kills that are due before a trigger's model is written."""
        found = self._by_trigger.get(trigger)
        if found is not None and found.kind != "after":
            self._fire(found)
            while not _done(self._folder, trigger).exists():
                time.sleep(0.01)
        self._seconds = time.monotonic() - self._begin

    def after_write(self, trigger: int) -> None:
        """Do the kills that are due once it is written."""
        found = self._by_trigger.get(trigger)
        if found is not None and found.kind == "after":
            self._fire(found)

    def _fire(self, due: Kill) -> None:
        with self._lock:
            done = _done(self._folder, due.trigger)
            asked = done.with_suffix(".asked")
            if done.exists() or asked.exists():
                return
            if due.kind in ("executor", "worker"):
                asked.touch()
                return
            done.touch()
            os.killpg(os.getpgid(0), signal.SIGKILL)


def _done(folder: Path, trigger: int) -> Path:
    """Return the file that marks the kill of a trigger as done."""
    return folder / f"kill{trigger}.done"


def drive(master: str, folder: Path) -> None:
    """Run the query until all files are learned, with the kills of the plan."""
    from rpnb.spark import stream as run_stream
    from rpnb.spark.streaming_query import save_with_batch

    module: Any = sys.modules["rpnb.spark.streaming_query"]
    plan = Plan(folder)
    learn_trigger = module._Learner._learn
    digests = folder / "digests"
    digests.mkdir(exist_ok=True)

    def learn(learner: Any, frame: Any, batch: int, saved: Any) -> Any:
        plan.begin(batch)
        return learn_trigger(learner, frame, batch, saved)

    def save(model: Any, path: Path, saved: Any, *, key: bytes | None) -> None:
        plan.before_write(saved.batch)
        (digests / str(saved.batch)).write_text(digest(model))
        save_with_batch(model, path, saved, key=key)
        plan.after_write(saved.batch)

    module._Learner._learn, module.save_with_batch = learn, save
    spark = session(master, SHORT_LIVED)
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    query = run_stream(
        classifier(),
        reader.csv(str(folder / "in")),
        path=folder / "model.rpnb",
        checkpoint=str(folder / "checkpoint"),
        features=NAMES,
        order="time",
        bad_rows="set_aside",
        aside=str(folder / "aside"),
        results=folder / "results",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    spark.stop()


def start_driver(master: str, folder: Path, *kills: Kill) -> subprocess.Popen[bytes]:
    """Start `drive` in its own process group; kills are added to the plan."""
    plan = folder / "kills.json"
    known = json.loads(plan.read_text()) if plan.exists() else []
    plan.write_text(json.dumps([*known, *kills]))
    words = [sys.executable, __file__, "--drive", master, str(folder)]
    with (folder / "driver.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - this script
            words,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment(),
            start_new_session=True,
        )


def kill_driver(driver: subprocess.Popen[bytes]) -> None:
    """Kill a driver: its Python and its Java process."""
    with suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


def learned(folder: Path) -> int:
    """Return how many triggers have results."""
    return len(list((folder / "results").glob("*.json")))


# The harness


class Outcome(NamedTuple):
    """The outputs of a query."""

    digests: list[str]
    """of the model after each trigger"""
    model: str
    """digest of the model file's"""
    saved: dict[str, Any]
    """the model file's record of the query, without its id"""
    results: list[dict[str, Any]]
    """lines, but for the times"""
    aside: list[int]
    """times of the rows that were set aside"""


def outcome(folder: Path, triggers: int) -> Outcome:
    """Read the outputs of a query."""
    from pyarrow import parquet

    from rpnb.spark import saved_batch

    saved = saved_batch(folder / "model.rpnb")
    assert saved is not None
    record = {k: v for k, v in saved._asdict().items() if k != "query"}
    lines = [
        {k: v for k, v in json.loads(line).items() if k != "seconds"}
        for path in sorted((folder / "results").glob("*.json"))
        for line in path.read_text().splitlines()
    ]
    tables = sorted((folder / "aside").glob("trigger=*/*.parquet"))
    times = [t for each in tables for t in parquet.read_table(each)["time"].to_pylist()]
    digests = [(folder / "digests" / str(t)).read_text() for t in range(triggers)]
    model = digest(RPNBClassifier.load(folder / "model.rpnb"))
    return Outcome(digests, model, record, lines, sorted(times))


class Query:
    """One query that is killed, and started again until it has learned all files."""

    def __init__(self, cluster: Cluster, folder: Path, kills: Sequence[Kill]) -> None:
        self._cluster, self._folder, self._kills = cluster, folder, kills
        self.missed: list[str] = []
        """kills that did not hit their moment, failures that were no kills"""

    def run(self, triggers: int, rng: Any) -> None:
        """Run it to its end."""
        write_files(self._folder / "in", triggers)
        driver = start_driver(self._cluster.url, self._folder, *self._kills)
        dead: set[int] = set()
        until = time.monotonic() + _PATIENCE
        try:
            while driver.poll() != 0:
                if time.monotonic() > until:
                    raise TimeoutError(f"a query did not end: {self._folder}")
                self._kill_asked(rng)
                if driver.poll() is None:
                    time.sleep(0.01)
                    continue
                self._check_death(driver.returncode, dead)
                driver = start_driver(self._cluster.url, self._folder)
        finally:
            kill_driver(driver)
        for each in self._kills:
            if not _done(self._folder, each.trigger).exists():
                self.missed.append(f"{each} was not done")

    def _kill_asked(self, rng: Any) -> None:
        """Kill an executor or a worker, if the driver asks for it."""
        for each in self._kills:
            done = _done(self._folder, each.trigger)
            if done.exists() or not done.with_suffix(".asked").exists():
                continue
            if each.kind == "worker":
                self._cluster.stop_worker(int(rng.integers(len(self._cluster.workers))))
                done.touch()
                self._cluster.add_worker()
                continue
            # One may just be starting after an earlier kill.
            alive = self._cluster.executors()
            if alive and kill(int(rng.choice(alive))):
                done.touch()

    def _check_death(self, code: int, dead: set[int]) -> None:
        """Check that a driver died in the moment that its kill was meant for."""
        from rpnb.spark import saved_batch

        due = [
            each
            for each in self._kills
            if each.kind in ("during", "before", "after")
            and each.trigger not in dead
            and _done(self._folder, each.trigger).exists()
        ]
        if code != -signal.SIGKILL or len(due) != 1:
            log = (self._folder / "driver.log").read_text(errors="replace")
            self.missed.append(f"a driver ended by itself ({code}): {log[-1500:]}")
            if len(self.missed) > 3:
                raise RuntimeError("\n".join(self.missed))
            return
        trigger = due[0].trigger
        dead.add(trigger)
        commits = self._folder / "checkpoint" / "commits"
        path = self._folder / "model.rpnb"
        saved = saved_batch(path) if path.exists() else None
        last = -1 if saved is None else saved.batch
        wanted = trigger if due[0].kind == "after" else trigger - 1
        if (commits / str(trigger)).exists() or last != wanted:
            self.missed.append(f"{due[0]} came when the model had trigger {last}")


def blame(found: Outcome, expected: Outcome, kills: Sequence[Kill]) -> Kind:
    """Return the last kill before the first trigger that is different."""
    same = [a == b for a, b in zip(found.digests, expected.digests, strict=True)]
    first = same.index(False) if False in same else len(same)
    before = [each for each in kills if each.trigger <= first] or list(kills)
    return before[-1].kind


def draw_kills(rng: Any, number: int, kinds: Sequence[Kind], triggers: int) -> Any:
    """Return kills in different triggers, in their order."""
    chosen = np.sort(rng.choice(triggers, number, replace=False)).tolist()
    return [
        Kill(kinds[int(rng.integers(len(kinds)))], t, round(float(rng.random()), 3))
        for t in chosen
    ]


def main() -> None:
    """Draw kills, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--per-query", type=int, default=5)
    parser.add_argument("--triggers", type=int, default=8, help="of a query")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drive", nargs=2, metavar=("MASTER", "FOLDER"))
    options = parser.parse_args()
    if options.drive:
        drive(options.drive[0], Path(options.drive[1]))
        return
    rng = np.random.default_rng(options.seed)
    T = options.triggers
    killed: Counter[str] = Counter()
    different: Counter[str] = Counter()
    missed: list[str] = []
    begin = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - begin:7.1f} s  {text}", flush=True)

    with TemporaryDirectory() as scratch, Cluster(Path(scratch, "cluster")) as cluster:
        alone = Path(scratch, "alone")
        Query(cluster, alone, []).run(T, rng)
        expected = outcome(alone, T)
        sound = (
            expected.model == expected.digests[-1] == digest(undisturbed(T))
            and expected.saved["set_aside"] == T * len(BAD)
            and expected.aside == [t * ROWS + i for t in range(T) for i in BAD]
        )
        say(f"undisturbed: {'that of one process' if sound else 'DIFFERENT'}")
        queries = 0
        while killed.total() < options.kills:
            number = min(options.per_query, options.kills - killed.total())
            kills = draw_kills(rng, number, options.kinds, T)
            folder = Path(scratch, f"query{queries}")
            query = Query(cluster, folder, kills)
            query.run(T, rng)
            queries += 1
            killed.update(each.kind for each in kills)
            missed += query.missed
            found = outcome(folder, T)
            if found != expected:
                different[blame(found, expected, kills)] += 1
            verdict = "equal to the bit" if found == expected else "DIFFERENT"
            plan = ", ".join(f"{each.kind} in {each.trigger}" for each in kills)
            say(f"query {queries}, killed: {plan}: {verdict}")
    for text in missed:
        print(f"MISSED: {text}")
    print(
        f"\n{killed.total()} kills of seed {options.seed} in {queries} queries of {T} "
        f"triggers, {T * (ROWS - len(BAD)):,} rows learned and {T * len(BAD)} set "
        f"aside each; {(time.monotonic() - begin) / 60:.1f} min\n"
    )
    print("| killed | times | differences |\n|---|--:|--:|")
    for kind in options.kinds:
        print(f"| {WORDS[kind]} | {killed[kind]} | {different[kind]} |")
    print(f"| all | {killed.total()} | {different.total()} |")
    raise SystemExit(1 if different or missed or not sound else 0)


if __name__ == "__main__":
    main()
