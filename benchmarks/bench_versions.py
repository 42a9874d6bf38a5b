"""Compare two versions of rpnb: processor time of learning, predicting, single rows.

    python benchmarks/bench_versions.py --other PYTHON --data FOLDER --streams FOLDER

`--other` is the interpreter of an environment with the other version. Each version has
a process, and both do a job in turn, several times, in one thread: `learn` is
`predict_then_learn` of all rows by a new model, `predict` is `predict` of all rows by
that model, `one` is `predict_then_learn` of one row, `river` is `predict_one` and
`learn_one` of the adapter for River. Each line has the median µs per row of both, and
the median and range of the ratios this / other within a turn: below 1, this version is
faster. At the end are the geometric means over the datasets, and the largest ratios.

`--data` holds NAME.csv.gz and `--streams` NAME.npz, as for bench_pooled.py. For
datasets in neither, rows of the same shape are generated, and GM always is. `--members`
gives the pools of both versions the same members, in case one has more.

    python benchmarks/bench_versions.py --first-use [--other PYTHON] [--empty VARIABLE]

measures fresh processes instead, as first_use.py describes.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np

import first_use
from peers.worker_process import Worker, worker
from pooled_accuracy import read_stream, read_table
from rpnb.core.kernels.arrays import FloatArray, IntArray
from workloads import draw_alike, paper_stream

#: The datasets, by the names of the paper where it has them.
NAMES = {
    "letter": "Letter",
    "penbased": "Penbased",
    "isolet": "Isolet",
    "skin_nonskin": "Skin_NonSkin",
    "elec2": None,
    "gm": "GM",
}
#: Rows, features and classes of elec2.
ELEC2 = 45_312, 8, 2
LEARNERS = ("Pooled", "RPNB")
#: In this order: `predict` has the model that `learn` made.
WORK = ("learn", "predict", "one", "river")


def rows_of(
    name: str, data: Path | None, streams: Path | None
) -> tuple[FloatArray, IntArray, str]:
    """Return rows, class numbers, and a title."""
    table = data / f"{name}.csv.gz" if data else None
    stream = streams / f"{name}.npz" if streams else None
    if table is not None and table.exists():
        X, y = read_table(table)
        order = np.random.default_rng(0).permutation(len(y))
        return X[order], y[order], name
    if stream is not None and stream.exists():
        return *read_stream(stream), name
    paper = NAMES[name]
    if paper is None:
        return *draw_alike(*ELEC2), f"{name} (drawn)"
    found = paper_stream(paper)
    y = np.unique(found.y, return_inverse=True)[1]
    return found.X, y, name + (" (drawn)" if found.stand_in else "")


def measure(
    workers: list[Worker], jobs: list[str], learner: str, repeat: int
) -> dict[str, FloatArray]:
    """Return the seconds per row (turns, versions) of each job."""
    times = {job: np.empty((repeat, len(workers))) for job in jobs}
    for turn in range(repeat + 1):
        for job, found in times.items():
            mistakes = []
            for k, each in enumerate(workers):
                reply = each.request(job, learner=learner, turn=turn)
                mistakes.append(reply["mistakes"])
                if turn > 0:  # the first turn fills the caches
                    found[turn - 1, k] = reply["seconds"]
            if len(set(mistakes)) > 1:
                print(f"{learner}, {job}: the versions make {mistakes} mistakes")
    return times


def main() -> None:
    """Print a line for each dataset, learner and job, and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--other", metavar="PYTHON", help="interpreter of a version")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--names", nargs="*", default=list(NAMES), choices=NAMES)
    parser.add_argument("--jobs", nargs="*", default=list(WORK), choices=WORK)
    parser.add_argument("--learners", nargs="*", default=LEARNERS, help="or baselines")
    parser.add_argument("--rows", type=int, help="the first ones only")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--members", nargs="*", help="of the pool, in both versions")
    parser.add_argument("--first-use", nargs="*", choices=first_use.PROGRAMS)
    parser.add_argument("--empty", metavar="VARIABLE", help="folder, empty at first")
    given = parser.parse_args()
    if given.first_use is not None:
        chosen = given.first_use or list(first_use.PROGRAMS)
        pythons = [sys.executable, *([given.other] if given.other else [])]
        first_use.compare(pythons, chosen, given.repeat, given.empty)
        return
    # To predict, a model must have learned.
    jobs = [job for job in WORK if job in given.jobs or job == "learn"]
    versions = {"this version": sys.executable}
    if given.other:
        versions["the other version"] = given.other
    module = Path(__file__).with_name("versions_worker.py")
    ratios: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = [
            stack.enter_context(worker(name, python, module))
            for name, python in versions.items()
        ]
        print(
            "| data | learner | job | this, µs per row | other | this / other | range |"
        )
        print("|---|---|---|--:|--:|--:|--:|")
        for name in given.names:
            X, y, label = rows_of(name, given.data, given.streams)
            path = folder / f"{name}.npz"
            np.savez(path, X=X[: given.rows], y=y[: given.rows])
            for each in workers:
                each.request("load", rows=str(path), members=given.members)
            for learner in given.learners:
                for job, times in measure(workers, jobs, learner, given.repeat).items():
                    if job not in given.jobs:
                        continue
                    cells = [f"{us:.2f}" for us in 1e6 * np.median(times, axis=0)]
                    if given.other:
                        found = times[:, 0] / times[:, 1]
                        middle = float(np.median(found))
                        ratios.setdefault((learner, job), []).append(middle)
                        cells += [
                            f"{middle:.2f}",
                            f"{found.min():.2f}–{found.max():.2f}",
                        ]
                    else:
                        cells += ["", "", ""]
                    print(
                        f"| {label} | {learner} | {job} | {' | '.join(cells)} |",
                        flush=True,
                    )
    for (learner, job), values in ratios.items():
        mean = np.exp(np.mean(np.log(values)))
        print(f"{learner}, {job}: this / other {mean:.2f}, at most {max(values):.2f}")


if __name__ == "__main__":
    main()
