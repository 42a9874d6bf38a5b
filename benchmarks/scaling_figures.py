"""Errors with and without scaling online: docs/how-to/scaling.md.

Wine comes with scikit-learn, ImageSegments with River; CSV files whose last column is
the label, such as Shuttle from OpenML, may be added.

    python benchmarks/scaling_figures.py [FILE.csv …]
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

from rpnb import RPNBClassifier
from rpnb.baselines import AROW, PA
from rpnb.files import LabelledFile, ReadOptions
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

ORDERS = 10


def sources(paths: list[str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, rows and labels of each dataset."""
    for name, load in (("Wine", load_wine), ("Breast cancer", load_breast_cancer)):
        yield (name, *load(return_X_y=True))
    from river import datasets

    rows = list(datasets.ImageSegments())
    X = np.array([list(x.values()) for x, _ in rows], np.float64)
    yield "ImageSegments", X, np.array([y for _, y in rows])
    for path in paths:
        header = Path(path).read_text().split("\n", 1)[0]
        options = ReadOptions(target=header.split(",")[-1].strip())
        with LabelledFile(path, options) as file:
            chunks = list(file.chunks(1 << 20))
        yield (
            Path(path).stem,
            np.concatenate([chunk.X for chunk in chunks]),
            np.concatenate([chunk.y for chunk in chunks]),
        )


def main() -> None:
    """Print a table: the mean error over random orders, raw and scaled."""
    columns = "RPNB | RPNB scaled | PA | PA scaled | AROW | AROW scaled"
    print(f"| dataset | rows | {columns} |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, X, y in sources(sys.argv[1:]):
        orders = ORDERS if len(y) < 10_000 else 1
        errors = np.empty((orders, 6))
        for seed in range(orders):
            order = np.random.default_rng(seed).permutation(len(y))
            models: list[Any] = [
                RPNBClassifier(random_state=seed),
                RPNBClassifier(scale="running", random_state=seed),
                PA(),
                make_stream_pipeline(RunningScaler(), PA()),
                AROW(),
                make_stream_pipeline(RunningScaler(), AROW()),
            ]
            for k, model in enumerate(models):
                predicted = model.predict_then_learn(X[order], y[order])
                errors[seed, k] = np.mean(predicted != y[order])
        figures = " | ".join(f"{error:.3f}" for error in errors.mean(axis=0))
        print(f"| {name} | {len(y):,} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
