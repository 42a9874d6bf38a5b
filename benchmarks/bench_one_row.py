"""What a call with one row costs beside the same work inside the compiled loop.

`predict` and `partial_fit` of one row, p = 16, M = 26, K = 200, against `predict` and
`partial_fit` of many rows at once, a row. The bound to meet is three times the work
in the loop plus 50 µs. `predict_one` and `learn_one` are the lane for streams that
come row by row. Runs are interleaved on one thread; medians over the repetitions.

Run: python benchmarks/bench_one_row.py [--repeat 7] [--data DIR]
"""

import copy
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from command_line import read_command_line
from rpnb import RPNBClassifier
from workloads import paper_stream

ROWS = 2000


def main() -> None:
    """Measure and print one line per way of calling."""
    arguments = read_command_line(__doc__, repeat=7)
    work = paper_stream("Letter")
    trained = RPNBClassifier(random_state=0)
    trained.fit(work.X[:10000], work.y[:10000])
    X, y = work.X[10000 : 10000 + ROWS], work.y[10000 : 10000 + ROWS]
    rows = [X[i : i + 1] for i in range(ROWS)]
    labels = [y[i : i + 1] for i in range(ROWS)]

    def inside(model: RPNBClassifier) -> None:
        model.predict(X)
        model.partial_fit(X, y)

    def calls(model: RPNBClassifier) -> None:
        for x, label in zip(rows, labels, strict=True):
            model.predict(x)
            model.partial_fit(x, label)

    def lane(model: RPNBClassifier) -> None:
        for x, label in zip(X, y.tolist(), strict=True):
            model.predict_one(x)
            model.learn_one(x, label)

    jobs: dict[str, Callable[[RPNBClassifier], None]] = {
        "inside the loop": inside,
        "predict + partial_fit of one row": calls,
        "predict_one + learn_one": lane,
    }
    times: dict[str, list[float]] = {name: [] for name in jobs}
    with threadpool_limits(1):
        for turn in range(arguments.repeat + 1):
            for name, job in jobs.items():
                model = copy.deepcopy(trained)
                start = time.perf_counter()
                job(model)
                if turn > 0:  # the first turn fills the caches
                    times[name].append((time.perf_counter() - start) / ROWS * 1e6)
    medians = {name: float(np.median(values)) for name, values in times.items()}
    bound = 3.0 * medians["inside the loop"] + 50.0
    print(f"{'':34}  µs/row   spread")
    for name, values in times.items():
        print(f"{name:34} {medians[name]:7.1f}   {min(values):.1f}-{max(values):.1f}")
    print(f"{'bound: 3 × inside the loop + 50 µs':34} {bound:7.1f}")


if __name__ == "__main__":
    main()
