"""Streams that drift: remembering everything, forgetting, and reacting to alarms.

Every learner is an RPNBClassifier with K = 100; some forget, some are watched by ADWIN.
Each row is predicted before it is learned. The table has the error rate in percent over
the whole stream, as the mean over several draws. The features of a stream are
standardised by its first 200 rows. The figure shows the error over one draw of a
stream.

The Electricity stream (Harries, 1999) is not part of the package: pass its CSV file,
with a header and the label in the last column. It is in the source archive of
scikit-multiflow 0.4.1 on the Python package index, as elec.csv. A second figure, with
"-electricity" in its name, shows it.

Run: python benchmarks/drift.py [--rows 20000] [--draws 5] [--update mistakes]
     [--figure drift.svg] [--electricity CSV]
"""

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rpnb import RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray
from rpnb.datasets import streams
from rpnb.datasets.chunks import Chunk
from rpnb.drift import DriftAware
from rpnb.evaluate import PrequentialResult, prequential

K = 100
STREAMS: Mapping[str, Callable[[int, int], Iterable[Chunk]]] = {
    "none": lambda n, seed: streams.mixture(n, p=10, M=5, separation=3.0, seed=seed),
    "SEA": lambda n, seed: streams.sea(n, seed=seed),
    "LED": lambda n, seed: streams.led(n, seed=seed),
    "hyperplane": lambda n, seed: streams.hyperplane(n, speed=0.01, seed=seed),
    "moving RBF": lambda n, seed: streams.random_rbf(n, M=5, speed=0.001, seed=seed),
}
DRAWN = "LED"


def learners(update: Any) -> dict[str, Any]:
    """Return the learners, by their reaction to drift."""

    def model(**parameters: Any) -> RPNBClassifier:
        return RPNBClassifier(K, update=update, random_state=0, **parameters)

    return {
        "remembers all": model(),
        "forgetting=1000": model(forgetting=1000),
        "forgetting=200": model(forgetting=200),
        "forgetting=50": model(forgetting=50),
        "ADWIN, reset": DriftAware(model()),
        "ADWIN, reset, warm=100": DriftAware(model(), warm=100),
        "ADWIN, downweight": DriftAware(model(), on_drift="downweight", factor=0.05),
    }


def collected(chunks: Iterable[Chunk]) -> tuple[FloatArray, np.ndarray]:
    """Return a stream as one table."""
    parts = list(chunks)
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def evaluate(X: FloatArray, y: np.ndarray, update: str) -> PrequentialResult:
    """Run all learners over one stream."""
    scale = X[:200].std(axis=0)
    X = (X - X[:200].mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)
    models = learners(update)
    classes = np.unique(y)
    return prequential(models, X, y, classes=classes, metrics=["error"], window=500)


def read_electricity(path: Path) -> tuple[FloatArray, np.ndarray]:
    """Return the stream in a CSV file whose last column is the label."""
    cells = np.loadtxt(path, delimiter=",", skiprows=1, dtype=str)
    return cells[:, :-1].astype(np.float64), cells[:, -1]


def draw(result: PrequentialResult, title: str, path: Path) -> None:
    """Write the figure of one run."""
    from matplotlib import pyplot

    ax = result.plot("error")
    ax.set_title(title, loc="left")
    ax.set_ylim(bottom=0.0)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.figure.set_size_inches(9.0, 4.2)
    # The same numbers give the same bytes.
    with pyplot.rc_context({"svg.hashsalt": "drift"}):
        date = {"Date": None} if path.suffix == ".svg" else None
        ax.figure.savefig(path, metadata=date)
    print(f"wrote {path}")


def alarms(stream: str, results: list[PrequentialResult]) -> str:
    """Return a text on the mean number of alarms."""
    counts = [len(result.models["ADWIN, reset"].drifts_) for result in results]
    return f"{np.mean(counts):.1f} in {stream}"


def main() -> None:
    """Print the table, and write the figure if requested."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--update", choices=["mistakes", "all"], default="mistakes")
    parser.add_argument("--figure", type=Path, help="where to write it: .svg or .png")
    parser.add_argument("--electricity", type=Path, help="CSV file of the stream")
    arguments = parser.parse_args()
    columns: dict[str, list[PrequentialResult]] = {}
    for name, stream in STREAMS.items():
        columns[name] = [
            evaluate(*collected(stream(arguments.rows, seed)), arguments.update)
            for seed in range(arguments.draws)
        ]
    if arguments.electricity:
        table = read_electricity(arguments.electricity)
        columns["Electricity"] = [evaluate(*table, arguments.update)]
    else:
        print("Electricity is left out: pass its file with --electricity.")
    print(f"errors in percent, {arguments.rows:,} rows, update={arguments.update!r}")
    print(f"{'drift':24}" + "".join(f"{name:>13}" for name in columns))
    for learner in columns["SEA"][0]:
        cells = []
        for results in columns.values():
            errors = [100.0 * result[learner].last("error") for result in results]
            cells.append(f"{np.mean(errors):13.1f}")
        print(f"{learner:24}" + "".join(cells))
    print(
        "alarms of ADWIN, reset: " + ", ".join(map(alarms, columns, columns.values()))
    )
    if arguments.figure:
        title = f"{DRAWN}: four concepts, one after the other"
        draw(columns[DRAWN][0], title, arguments.figure)
        if arguments.electricity:
            path = arguments.figure
            title = "Electricity: two and a half years, half an hour per row"
            path = path.with_stem(f"{path.stem}-electricity")
            draw(columns["Electricity"][0], title, path)


if __name__ == "__main__":
    main()
