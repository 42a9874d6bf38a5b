"""AROW and PA beside scikit-learn's passive-aggressive learner, row by row.

Both predict each row of Letter (p = 16, M = 26) before learning it. scikit-learn does
so by a loop of `predict` and `partial_fit` of a row, ours by one `predict_then_learn`.
Jobs are interleaved on one thread; medians of rows per second.

Run: python benchmarks/bench_linear.py [--repeat 5] [--data DIR]
"""

import time
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from command_line import read_command_line
from rpnb import baselines
from workloads import Workload, paper_stream

# Rows of the slow loop; the fast ones take all rows.
ROWS = 1000


def loop(work: Workload) -> int:
    """Run scikit-learn's learner by rows; return how many."""
    classes = np.unique(work.y)
    # The passive-aggressive step, as scikit-learn's own class of that name takes it.
    model = SGDClassifier(
        loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0, fit_intercept=False
    )
    model.partial_fit(work.X[:1], work.y[:1], classes=classes)
    for i in range(1, ROWS):
        model.predict(work.X[i : i + 1])
        model.partial_fit(work.X[i : i + 1], work.y[i : i + 1])
    return ROWS


def ours(name: str) -> Callable[[Workload], int]:
    """Return the job of one of our learners."""

    def run(work: Workload) -> int:
        model = baselines.make(name)
        model.predict_then_learn(work.X, work.y, classes=np.unique(work.y))
        return work.y.shape[0]

    return run


def main() -> None:
    """Measure and print rows per second and ratios."""
    arguments = read_command_line(__doc__, repeat=5)
    work = paper_stream("Letter")
    jobs: dict[str, Callable[[Workload], int]] = {
        "scikit-learn PA, row by row": loop,
        "rpnb PA": ours("PA"),
        "rpnb AROW": ours("AROW"),
    }
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    with threadpool_limits(1):
        for turn in range(arguments.repeat + 1):
            for name, job in jobs.items():
                start = time.perf_counter()
                rows = job(work)
                if turn > 0:  # the first turn fills the caches
                    rates[name].append(rows / (time.perf_counter() - start))
    slow = float(np.median(rates["scikit-learn PA, row by row"]))
    print(f"{'':28}   rows/s   ratio")
    for name, values in rates.items():
        rate = float(np.median(values))
        print(f"{name:28} {rate:9.0f} {rate / slow:7.0f}")


if __name__ == "__main__":
    main()
