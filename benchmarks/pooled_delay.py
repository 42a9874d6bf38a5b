"""Error by delay of the labels, for the pooled classifier and others.

    python benchmarks/pooled_delay.py --streams FOLDER

`--streams` holds NAME.npz with X and y, in their own order. With a
delay of d, the label of row t is learned before row t + d is predicted; 0 is test then
train. Each line has the stream, the learner, and its error at each delay, as the mean
over `--draws` random states.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from evidence.learners import Standardise, neighbours
from rpnb import PooledClassifier, RPNBClassifier
from rpnb.core.pooled.model import MEMBERS
from rpnb.evaluate import prequential

STREAMS = ("elec2", "weather", "rbf_drift")
DELAYS = (0, 10, 100, 1000)
FRESH = ("transitions", "neighbours", "window_forest")


def models(delay: int, seed: int) -> dict[str, Any]:
    """Return the learners, some of which are given the delay."""
    from river.tree import HoeffdingTreeClassifier

    rest = [name for name in MEMBERS if name not in FRESH]
    return {
        "Pooled": PooledClassifier(delay=delay, random_state=seed),
        "Pooled, unset": PooledClassifier(random_state=seed),
        "Pooled without the three": PooledClassifier(
            rest, delay=delay, random_state=seed
        ),
        "Pooled without the three, unset": PooledClassifier(rest, random_state=seed),
        "RPNB": RPNBClassifier(random_state=seed),
        "Hoeffding tree (River)": HoeffdingTreeClassifier(),
    }


def main() -> None:
    """Print one line for each stream and learner."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--names", nargs="*", default=STREAMS)
    parser.add_argument("--delays", nargs="*", type=int, default=DELAYS)
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    print("| stream | learner |", " | ".join(f"{d:,}" for d in options.delays), "|")
    for stream in options.names:
        arrays = np.load(options.streams / f"{stream}.npz")
        X = np.ascontiguousarray(arrays["X"][: options.rows], np.float64)
        y = np.unique(arrays["y"][: options.rows], return_inverse=True)[1]
        errors: dict[str, list[float]] = {}
        for delay in options.delays:
            found: dict[str, list[float]] = {}
            for seed in range(options.draws):
                result = prequential(
                    models(delay, seed),
                    X,
                    y,
                    classes=np.unique(y),
                    metrics=["error"],
                    delay=delay or None,
                )
                for name in result:
                    found.setdefault(name, []).append(result[name].last("error"))
            M, between = int(y.max()) + 1, max(delay - 1, 0)
            labels = neighbours(Standardise()(X), y, M, between)
            found["kNN"] = [float(np.mean(labels != y))]
            for name, values in found.items():
                errors.setdefault(name, []).append(float(np.mean(values)))
        for name, values in errors.items():
            cells = " | ".join(f"{value:.4f}" for value in values)
            print(f"| {stream} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
