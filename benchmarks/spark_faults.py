"""Kill executors, workers and drivers of a streaming query; compare the models.

    python tools/extra_environment.py spark .venv/spark benchmarks/spark_faults.py

draws 50 kills at random, restarts what was killed, and compares the final model of each
query with that of one process which nothing has disturbed, bit by bit.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from rpnb import RPNBClassifier
from spark_cluster import Cluster, environment, kill, session

NAMES = [f"x{i}" for i in range(8)]
SCHEMA = ", ".join(f"{name} double" for name in NAMES) + ", label int, time long"
BATCH = 5000
ROWS = 6000

Moment = Literal["before", "during", "after"]


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
        times = number * ROWS + np.arange(ROWS)
        lines = [
            ",".join([*(repr(x) for x in row), str(label), str(time)])
            for row, label, time in zip(
                X.tolist(), y.tolist(), times.tolist(), strict=True
            )
        ]
        # The oldest file is read first.
        path = folder / f"{number:04d}.csv"
        path.write_text("\n".join(lines) + "\n")
        os.utime(path, (1e9 + number, 1e9 + number))


def undisturbed(triggers: int) -> RPNBClassifier:
    """Return the model of one process."""
    model = classifier()
    for number in range(triggers):
        model.partial_fit(*trigger_rows(number))
    return model


def same_bits(one: RPNBClassifier, other: RPNBClassifier) -> bool:
    """Return whether two models have the same state."""
    mine, its = one._state, other._state
    return (mine.n_seen, mine.n_updates) == (its.n_seen, its.n_updates) and all(
        np.array_equal(a, b)
        for a, b in zip(
            (*mine.moments, *mine.classes[:3]),
            (*its.moments, *its.classes[:3]),
            strict=True,
        )
    )


def drive(master: str, folder: Path, die: Moment | None, trigger: int) -> None:
    """Run the query until all files are learnt; die in a trigger, if asked to."""
    from rpnb.spark import learn as _learn  # noqa: F401 - imported before it is changed
    from rpnb.spark import stream as run_stream
    from rpnb.spark.stream import save_with_batch

    module: Any = sys.modules["rpnb.spark.stream"]

    def leave() -> None:
        os.killpg(os.getpgid(0), signal.SIGKILL)

    def save(model: Any, path: Path, saved: Any) -> None:
        if die == "before" and saved.batch == trigger:
            leave()
        save_with_batch(model, path, saved)
        if die == "after" and saved.batch == trigger:
            leave()

    learn_frame = module.learn_frame
    triggers = iter(range(10**9))

    def learn_slowly(*arguments: Any, **more: Any) -> Any:
        number = next(triggers)
        for each in learn_frame(*arguments, **more):
            if die == "during" and number == trigger:
                leave()
            yield each

    module.save_with_batch, module.learn_frame = save, learn_slowly
    spark = session(master)
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    query = run_stream(
        classifier(),
        reader.csv(str(folder / "in")),
        path=folder / "model.rpnb",
        checkpoint=str(folder / "checkpoint"),
        features=NAMES,
        order="time",
        results=folder / "results",
        trigger={"availableNow": True},
    )
    query.awaitTermination()
    spark.stop()


def start_driver(
    master: str, folder: Path, die: Moment | None = None, trigger: int = 0
) -> subprocess.Popen[bytes]:
    """Start `drive` in a process group of its own."""
    words = [sys.executable, __file__, "--drive", master, str(folder)]
    if die is not None:
        words += ["--die", die, "--trigger", str(trigger)]
    variables = environment()
    with (folder / "driver.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - this script
            words,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=variables,
            start_new_session=True,
        )


def kill_driver(driver: subprocess.Popen[bytes]) -> None:
    """Kill a driver: its Python and its Java process."""
    with suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()


def learnt(folder: Path) -> int:
    """Return how many triggers have results."""
    return len(list((folder / "results").glob("*.json")))


def disturb(cluster: Cluster, folder: Path, triggers: int, kills: int, rng: Any) -> int:
    """Run one query to its end, killing at random; return how many kills it took."""
    write_files(folder / "in", triggers)
    driver = start_driver(cluster.url, folder)
    done = 0
    begin = time.monotonic()
    while driver.poll() is None or driver.returncode != 0:
        if driver.poll() is not None:
            driver = start_driver(cluster.url, folder)
        if done < kills and (learnt(folder) > 0 or done > 0):
            time.sleep(float(rng.uniform(0.2, 6.0)))
            kind = str(rng.choice(["executor", "worker", "driver"]))
            if driver.poll() is not None:
                continue
            if kind == "executor":
                alive = cluster.executors()
                if not alive or not kill(int(rng.choice(alive))):
                    continue
            elif kind == "worker":
                cluster.kill_worker(int(rng.integers(len(cluster.workers))))
            else:
                kill_driver(driver)
            done += 1
            seconds = time.monotonic() - begin
            print(
                f"{seconds:7.1f} s  kill {done}: {kind}; {learnt(folder)} triggers",
                flush=True,
            )
        else:
            time.sleep(0.2)
    return done


def main() -> None:
    """Draw kills, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--triggers", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drive", nargs=2, metavar=("MASTER", "FOLDER"))
    parser.add_argument("--die", choices=("before", "during", "after"))
    parser.add_argument("--trigger", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.drive:
        master, folder = arguments.drive
        drive(master, Path(folder), arguments.die, arguments.trigger)
        return
    rng = np.random.default_rng(arguments.seed)
    expected = undisturbed(arguments.triggers)
    kills = queries = differences = 0
    start = time.monotonic()
    with TemporaryDirectory() as scratch, Cluster(Path(scratch, "cluster")) as cluster:
        while kills < arguments.kills:
            folder = Path(scratch, f"query{queries}")
            left = arguments.kills - kills
            kills += disturb(cluster, folder, arguments.triggers, left, rng)
            queries += 1
            same = same_bits(RPNBClassifier.load(folder / "model.rpnb"), expected)
            differences += not same
            print(f"query {queries}: {'equal to the bit' if same else 'DIFFERENT'}")
    minutes = (time.monotonic() - start) / 60
    print(
        f"{kills} kills in {queries} queries of {arguments.triggers} triggers, "
        f"{differences} differences, {minutes:.1f} min"
    )
    raise SystemExit(1 if differences else 0)


if __name__ == "__main__":
    main()
