"""How far `predict_then_learn` is from the matrix products that it cannot avoid.

The floor is the time of the products of `peers.floor` on one thread: the
projection of all rows and one pass of scoring. The learner does the whole job:
checks its input, draws its projections, predicts and learns. Both are timed in turn,
several times, and the table has the median of the ratios and their range.

Run: python benchmarks/bench_floor.py [--repeat 5] [--data DIR] [NAME ...]
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from command_line import read_command_line
from peers.floor import products
from rpnb import RPNBClassifier
from workloads import Workload, paper_stream

NAMES = ["Letter", "Skin_NonSkin", "Isolet", "GM"]
K = 200


def seconds(job: Callable[[], object]) -> float:
    """Return how long a job takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def learner_of(work: Workload) -> Callable[[], None]:
    """Return the job of one run of the paper's protocol with a new model."""
    classes = np.unique(work.y)

    def learn() -> None:
        model = RPNBClassifier(n_estimators=K, random_state=0)
        model.predict_then_learn(work.X, work.y, classes=classes)

    return learn


def main() -> None:
    """Measure and print one row a dataset."""
    arguments = read_command_line(__doc__, repeat=5, names=NAMES)
    print("dataset            floor µs/row   rpnb µs/row   ratio   range")
    with threadpool_limits(1):
        for name in arguments.names:
            work = paper_stream(name)
            floor = products(work.X, np.unique(work.y).size, K)
            learner = learner_of(work)
            for job in (floor, learner):  # fill the caches
                seconds(job)
            times = [
                (seconds(floor), seconds(learner)) for _ in range(arguments.repeat)
            ]
            ratios = [mine / least for least, mine in times]
            least, mine = np.median(times, axis=0) / work.X.shape[0] * 1e6
            label = name + (" (drawn)" if work.stand_in else "")
            print(
                f"{label:18} {least:12.2f} {mine:13.2f} {np.median(ratios):7.2f}"
                f"   {min(ratios):.2f}-{max(ratios):.2f}"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
