"""What one observation costs beside River's single GaussianNB.

`predict_one` and `learn_one` of one row, p = 16, M = 26, K = 200: River's GaussianNB
and the adapter on dictionaries, the estimator on NumPy rows. Each is trained on the
same 10,000 rows first, and then measured on the same 2,000. Runs are interleaved on one
thread; medians over the repetitions, of the ratios within one repetition.

Run: python benchmarks/bench_river.py [--repeat 7] [--data DIR]
"""

import copy
import time
from typing import Any

import numpy as np
from river import naive_bayes
from threadpoolctl import threadpool_limits

import rpnb
import rpnb.river
from command_line import read_command_line
from workloads import paper_stream

TRAINED, ROWS = 10_000, 2000
PEER = "River's GaussianNB"


def main() -> None:
    """Measure and print one line per learner."""
    arguments = read_command_line(__doc__, repeat=7)
    work = paper_stream("Letter")
    rows = list(work.X[: TRAINED + ROWS])
    names = [f"x{i}" for i in range(work.X.shape[1])]
    mappings = [dict(zip(names, row.tolist(), strict=True)) for row in rows]
    labels = work.y.tolist()
    learners: dict[str, tuple[Any, list[Any]]] = {
        PEER: (naive_bayes.GaussianNB(), mappings),
        "rpnb.river.RPNBClassifier": (rpnb.river.RPNBClassifier(seed=0), mappings),
        "rpnb.RPNBClassifier": (rpnb.RPNBClassifier(random_state=0), rows),
    }
    times: dict[str, list[float]] = {name: [] for name in learners}
    with threadpool_limits(1):
        for model, observations in learners.values():
            for x, y in zip(observations[:TRAINED], labels, strict=False):
                model.learn_one(x, y)
        for turn in range(arguments.repeat + 1):
            for name, (trained, observations) in learners.items():
                model = copy.deepcopy(trained)
                start = time.perf_counter()
                for x, y in zip(observations[TRAINED:], labels[TRAINED:], strict=False):
                    model.predict_one(x)
                    model.learn_one(x, y)
                if turn > 0:  # the first turn loads
                    times[name].append((time.perf_counter() - start) / ROWS * 1e6)
    stand_in = " (drawn data of its shape)" if work.stand_in else ""
    print(f"Letter{stand_in}, predict_one + learn_one")
    print(f"{'':28}  µs/row   spread        of River's")
    for name, values in times.items():
        ratio = np.median(np.array(values) / times[PEER])
        spread = f"{min(values):.1f}-{max(values):.1f}"
        print(f"{name:28} {np.median(values):7.1f}   {spread:13} {ratio:.3f}")


if __name__ == "__main__":
    main()
