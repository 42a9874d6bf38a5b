"""Time of a row in each pass, and of the one that the engine chooses.

Each dataset is passed over once in each pass, in turn, on one thread: predict then
learn with a new model of K = 200, or predict alone with a model that has learned all
rows. Labels and state are compared to the bit. The table has the best times of some
turns, which a busy machine disturbs least, in nanoseconds a row of processor time.

Run: python benchmarks/bench_passes.py [--repeat 5] [--data DIR] [NAME ...]
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from command_line import read_command_line
from rpnb import RPNBClassifier
from rpnb.core.bayes.model import Model, copy_model
from rpnb.core.bayes.state import LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.kernels.arrays import IntArray
from rpnb.core.passes.choice import Path
from rpnb.core.passes.engine import run
from workloads import Workload, paper_stream

NAMES = [
    "Skin_NonSkin",
    "Letter",
    "ImageSegments",
    "Satimage",
    "Twonorm",
    "Penbased",
    "Nursery",
]
PATHS: tuple[Path | None, ...] = ("exact", "screened", "forms", None)
ONE = np.ones(1)


def stream_of(name: str) -> Workload:
    """Return a stream by name; ImageSegments is River's."""
    if name != "ImageSegments":
        return paper_stream(name)
    from river.datasets import ImageSegments

    rows = list(ImageSegments())
    X = np.array([list(x.values()) for x, _ in rows], dtype=np.float64)
    return Workload(name, X, np.array([y for _, y in rows]), False)


def new_model(work: Workload) -> tuple[Model, IntArray]:
    """Return a model that has seen nothing but knows all classes, and their numbers."""
    classes, y = np.unique(work.y, return_inverse=True)
    one = RPNBClassifier(random_state=0)
    one.partial_fit(work.X[:1], work.y[:1], classes=classes)
    M = classes.shape[0]
    # One row has been learned; the rest of the protocol is the same.
    assert one._state.M == M
    return one._state, y.astype(np.int64)


def main() -> None:
    """Measure and print two lines per dataset."""
    arguments = read_command_line(__doc__, repeat=5, names=NAMES)
    print(f"{'dataset':16} {'p':>3} {'M':>3} {'job':8} {'mistakes':>8}", end="")
    print("".join(f"{path or 'chosen':>10}" for path in PATHS))
    with threadpool_limits(1):
        for name in arguments.names:
            work = stream_of(name)
            fresh, y = new_model(work)
            learned = copy_model(fresh)
            n, p = work.X.shape
            labels = np.empty(n, np.int64)
            run(learned, work.X, y, ONE, LEARN_MISTAKES, labels)
            rate = np.mean(labels != y)
            for job, start, learn in (
                ("learn", fresh, LEARN_MISTAKES),
                ("predict", learned, LEARN_NOTHING),
            ):
                times = measure(start, work, y, learn, arguments.repeat) / n * 1e9
                print(f"{name:16} {p:3} {fresh.M:3} {job:8} {rate:8.3f}", end="")
                shown = ["" if np.isnan(each) else f"{each:.0f}" for each in times]
                print("".join(f"{each:>10}" for each in shown), flush=True)


def measure(
    start: Model, work: Workload, y: IntArray, learn: int, repeat: int
) -> np.ndarray:
    """Return the seconds of a job in each pass, checked to give equal bits."""
    times = np.full((repeat, len(PATHS)), np.nan)
    first: tuple[IntArray, np.ndarray] | None = None
    for turn in range(repeat):
        for k, path in enumerate(PATHS):
            if path == "forms" and learn != LEARN_NOTHING:
                continue  # forms predict only
            model = copy_model(start)
            labels = np.empty(y.shape[0], np.int64)
            began = time.process_time()
            run(model, work.X, y, ONE, learn, labels, path)
            times[turn, k] = time.process_time() - began
            if first is None:
                first = labels, model.moments.scatter
            assert np.array_equal(labels, first[0])
            assert np.array_equal(model.moments.scatter, first[1])
    return times.min(axis=0)


if __name__ == "__main__":
    main()
