"""Rows per second by columns, by quadratic forms and as the engine chooses.

Each dataset is passed over three times a turn, in turn, one thread: predict then learn
with a new model of K = 200, or predict alone with a model that has learnt all rows.
Labels and state are compared to the bit. The table has medians over the turns, in
nanoseconds a row of processor time, the median ratios to the columns' time, and for
forms that of the best times, which a busy machine disturbs least.

Run: python benchmarks/bench_quadratic.py [--repeat 5] [--data DIR] [NAME ...]
"""

import sys
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
PATHS: tuple[Path, ...] = ("exact", "screened", "forms")
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
    # One row has been learnt; the rest of the protocol is the same.
    assert one._state.M == M
    return one._state, y.astype(np.int64)


def main() -> None:
    """Measure and print two lines per dataset."""
    arguments = read_command_line(__doc__, repeat=5, names=NAMES)
    print(
        f"{'dataset':16} {'p':>3} {'M':>3} {'job':8} {'mistakes':>8} "
        f"{'columns':>8} {'forms':>8} {'auto':>8}   {'forms ×':>7} {'auto ×':>7}"
        f" {'best ×':>7}"
    )
    with threadpool_limits(1):
        for name in arguments.names:
            work = stream_of(name)
            fresh, y = new_model(work)
            learnt = copy_model(fresh)
            n, p = work.X.shape
            labels = np.empty(n, np.int64)
            run(learnt, work.X, y, ONE, LEARN_MISTAKES, labels)
            for job, start, learn in (
                ("learn", fresh, LEARN_MISTAKES),
                ("predict", learnt, LEARN_NOTHING),
            ):
                times = measure(start, work, y, learn, arguments.repeat)
                middle = np.median(times, axis=0) / n * 1e9
                ratio = np.median(times[:, :1] / times, axis=0)
                best = times.min(axis=0)
                print(
                    f"{name:16} {p:3} {fresh.M:3} {job:8} {np.mean(labels != y):8.3f} "
                    f"{middle[0]:8.0f} {middle[1]:8.0f} {middle[2]:8.0f}   "
                    f"{ratio[1]:7.2f} {ratio[2]:7.2f} {best[0] / best[1]:7.2f}"
                )
                sys.stdout.flush()


def measure(
    start: Model, work: Workload, y: IntArray, learn: int, repeat: int
) -> np.ndarray:
    """Return the seconds (turns, paths) of a job, checked to give equal bits."""
    times = np.empty((repeat + 1, len(PATHS)))
    first: tuple[IntArray, np.ndarray] | None = None
    for turn in range(repeat + 1):
        for k, path in enumerate(PATHS):
            model = copy_model(start)
            labels = np.empty(y.shape[0], np.int64)
            began = time.process_time()
            run(model, work.X, y, ONE, learn, labels, path=path)
            times[turn, k] = time.process_time() - began
            if first is None:
                first = labels, model.moments.scatter
            assert np.array_equal(labels, first[0])
            assert np.array_equal(model.moments.scatter, first[1])
    return times[1:]  # the first turn fills the caches


if __name__ == "__main__":
    main()
