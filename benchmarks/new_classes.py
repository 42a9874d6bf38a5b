"""Time of the call in which boosted trees get a class that was not declared.

    python benchmarks/new_classes.py [--rows 131072] [--classes 26]

The model has learned so many rows of 16 features. Each line is a further class: ms of
copying all rows, as with delays="varying", of adding the class without a copy, and of
learning its first row, each in processor time of one call.
"""

import argparse
import time

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.member import MemberRows, Shape
from rpnb.core.pooled.members import boosted_trees as boosted

FEATURES = 16
#: Rows between two new classes.
BETWEEN = 2000


def learn(state: boosted.BoostedTrees, X: FloatArray, y: IntArray) -> None:
    """Learn rows."""
    none = np.zeros((len(y), 0), np.float32)
    scores = np.zeros((0, 1, state.rank.shape[0]))
    rows = MemberRows(np.ascontiguousarray(X), none, none, none)
    boosted.learn_rows(state, rows, y, np.ones(len(y)), scores)


def main() -> None:
    """Print one line for each new class."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=131_072)
    parser.add_argument("--classes", type=int, default=26)
    options = parser.parse_args()
    M = options.classes
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, FEATURES))
    y = (X @ rng.normal(size=(FEATURES, M))).argmax(axis=1)
    shape = Shape(FEATURES, FEATURES, 0, 0, 0, 0, 0)
    state = boosted.begin(shape, np.zeros(M, np.bool_), 0)
    for start in range(0, len(y), 256):
        learn(state, X[start : start + 256], y[start : start + 256])
    print("| classes | copy | add | first row |")
    print("|--:|--:|--:|--:|")
    for label in range(M, M + 8):
        source = np.append(np.arange(label), -1)
        active = np.append(state.active, False)
        clock = [time.process_time()]
        copy = state.copy()
        clock.append(time.process_time())
        boosted.arrange_classes(state, source, active)
        clock.append(time.process_time())
        learn(state, X[:1] + label, np.array([label]))
        clock.append(time.process_time())
        del copy
        times = " | ".join(f"{1e3 * t:.1f}" for t in np.diff(clock))
        print(f"| {label + 1} | {times} |", flush=True)
        for i in range(BETWEEN):
            learn(state, X[i : i + 1], y[i : i + 1])


if __name__ == "__main__":
    main()
