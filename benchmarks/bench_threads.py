"""What a second thread brings: `predict` with n_jobs=1 and n_jobs=2.

A model of K = 200 has learnt a stream, and predicts all of it again. Runs with one and
with two threads take turns; the table has the median of the ratios within a turn, their
range, and the ratio of the best times, which a busy machine disturbs least. BLAS has
one thread in both.

Run: python benchmarks/bench_threads.py [--repeat 9] [--data DIR] [NAME ...]
"""

import os
import time

import numpy as np
from threadpoolctl import threadpool_limits

from command_line import read_command_line
from rpnb import RPNBClassifier
from workloads import paper_stream

NAMES = ["Letter", "Skin_NonSkin", "Isolet"]


def seconds(model: RPNBClassifier, jobs: int, X: np.ndarray) -> float:
    """Return how long it takes to predict X."""
    model.set_params(n_jobs=jobs)
    start = time.perf_counter()
    model.predict(X)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print one row a dataset."""
    arguments = read_command_line(__doc__, repeat=9, names=NAMES)
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
    print("dataset            1 thread µs/row   speed-up   range       of the best")
    with threadpool_limits(1, "blas"):
        for name in arguments.names:
            work = paper_stream(name)
            model = RPNBClassifier(random_state=0).fit(work.X, work.y)
            seconds(model, 2, work.X)  # warm up
            times = np.array(
                [
                    [seconds(model, jobs, work.X) for jobs in (1, 2)]
                    for _ in range(arguments.repeat)
                ]
            )
            ratios = times[:, 0] / times[:, 1]
            best = times.min(axis=0)
            label = name + (" (drawn)" if work.stand_in else "")
            print(
                f"{label:18} {best[0] / work.X.shape[0] * 1e6:15.2f}"
                f" {np.median(ratios):10.2f}   {ratios.min():.2f}-{ratios.max():.2f}"
                f" {best[0] / best[1]:13.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
