"""How much `prequential` saves where every label is late by so many rows.

The naive loop predicts each row by `predict`, and learns the row whose label has come
by `partial_fit`. `prequential` gives the same predictions; that is checked. Both are
measured in turns, on a stream of p = 8 numbers and 3 classes; printed are the medians
of the processor's microseconds per row, and of the ratios.

    python benchmarks/bench_delay.py
"""

import argparse
import statistics
import time
from typing import Any

import numpy as np

from rpnb import RPNBClassifier, baselines
from rpnb.evaluate import prequential


def learners(K: int) -> dict[str, Any]:
    """Return learners by name, all new."""
    return {
        "RPNB": RPNBClassifier(K, random_state=0),
        "RPNB, update=all": RPNBClassifier(K, update="all", random_state=0),
        "GaussianNB": baselines.GaussianNB(),
        "PA": baselines.PA(),
        "AROW": baselines.AROW(),
        "OnlineBagging": baselines.OnlineBagging(10, random_state=0),
    }


def naive(model: Any, X: Any, y: Any, delay: int) -> list[Any]:
    """Predict and learn row by row."""
    predictions: list[Any] = []
    for i in range(len(y)):
        late = i - delay
        if late >= 0:
            model.partial_fit(X[late : late + 1], y[late : late + 1])
        predictions.append(model.predict(X[i : i + 1])[0] if late >= 0 else None)
    return predictions


def main() -> None:
    """Measure, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--delay", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--n-estimators", type=int, default=200)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    n, delay = arguments.rows, arguments.delay
    y = rng.integers(0, 3, n)
    X = rng.standard_normal((n, 8)) + 3.0 * np.eye(8)[y]
    print(f"{n:,} rows, labels {delay} rows late, K = {arguments.n_estimators}")
    for name in learners(1):
        figures = []
        for turn in range(arguments.repeat + 1):
            start = time.process_time()
            expected = naive(learners(arguments.n_estimators)[name], X, y, delay)
            between = time.process_time()
            result = prequential(
                {name: learners(arguments.n_estimators)[name]},
                X,
                y,
                delay=delay,
                references=False,
                keep_answers=True,
            )
            end = time.process_time()
            if list(result[name].answers or ()) != expected:
                raise SystemExit(f"{name}: the predictions differ")
            if turn > 0:  # the first turn fills the caches
                figures.append((between - start, end - between))
        loop, ours = (
            statistics.median(f) / n * 1e6 for f in zip(*figures, strict=True)
        )
        ratio = statistics.median(a / b for a, b in figures)
        print(
            f"  {name:17} loop {loop:7.2f} µs  prequential {ours:6.2f} µs  "
            f"ratio {ratio:5.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
