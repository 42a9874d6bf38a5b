"""What a second thread brings: n_jobs=1 and n_jobs=2, predicting and learning.

*predict*: a model of K = 200 has learned a stream, and predicts all of it again.
*learn*: a new model predicts and then learns it; wide rows are projected ahead in a
thread, narrow ones are not, which leaves nothing for it to do. Runs with one and with
two threads take turns; the table has the median of the ratios within a turn, their
range, and the ratio of the best times, which a busy machine disturbs least. BLAS has
one thread in both.

Run: python benchmarks/bench_threads.py [--repeat 9] [--data DIR] [NAME ...]
"""

import os
import time

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from command_line import read_command_line
from rpnb import RPNBClassifier
from workloads import Workload, paper_stream

NAMES = ["Letter", "Skin_NonSkin", "Isolet", "Madelon"]


def seconds(model: RPNBClassifier, jobs: int, job: str, work: Workload) -> float:
    """Return how long it takes to predict all rows, or to predict and learn them."""
    model = model if job == "predict" else clone(model)
    model.set_params(n_jobs=jobs)
    start = time.perf_counter()
    if job == "predict":
        model.predict(work.X)
    else:
        model.predict_then_learn(work.X, work.y, classes=np.unique(work.y))
    return time.perf_counter() - start


def main() -> None:
    """Measure and print two rows a dataset."""
    arguments = read_command_line(__doc__, repeat=9, names=NAMES)
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
    print(
        "dataset            job      1 thread µs/row   speed-up   range   of the best"
    )
    with threadpool_limits(1, "blas"):
        for name in arguments.names:
            work = paper_stream(name)
            model = RPNBClassifier(random_state=0).fit(work.X, work.y)
            for job in ("predict", "learn"):
                seconds(model, 2, job, work)  # start the threads
                times = np.array(
                    [
                        [seconds(model, jobs, job, work) for jobs in (1, 2)]
                        for _ in range(arguments.repeat)
                    ]
                )
                ratios = times[:, 0] / times[:, 1]
                best = times.min(axis=0)
                label = name + (" (drawn)" if work.stand_in else "")
                print(
                    f"{label:18} {job:8} {best[0] / work.X.shape[0] * 1e6:12.2f}"
                    f" {np.median(ratios):10.2f}   "
                    f"{ratios.min():.2f}-{ratios.max():.2f} {best[0] / best[1]:9.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
