"""The price of large mini-batches: error by size of the mini-batch.

Six datasets, each repeated in new orders up to 200,000 rows, so that there are several
mini-batches even of 100,000 rows, and two streams that drift. Each mini-batch is
predicted before it is learned. Before the first mini-batch of 100,000 rows nothing has
been learned: errors are therefore compared from row 100,000 on; those of all rows are
printed too.

    python benchmarks/batch_sizes.py [--data FOLDER] [--figure batch-sizes.svg]
    python benchmarks/batch_sizes.py --learner Pooled --streams Letter "SEA, abrupt"

A dataset is read from the folder, as letter.csv.gz with its label in the last column,
or from the copies that `rpnb datasets` keeps; otherwise rows of its shape are drawn.
"""

import argparse
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from pooled_accuracy import read_table
from rpnb import PooledClassifier, RPNBClassifier
from rpnb.datasets import streams
from rpnb.estimators.mini_batches import learn_mini_batches
from workloads import paper_stream

SIZES = (1, 10, 100, 1_000, 10_000, 100_000)
# A pool inverts its covariances after each mini-batch: small ones are slow.
POOL_SIZES = (1, 1_000, 10_000, 100_000)
DATASETS = ("Letter", "Penbased", "Chess-krvk", "Nursery", "Skin_NonSkin", "Twonorm")
DRIFTING = ("SEA, abrupt", "Hyperplane, gradual")
ROWS = 200_000
COUNTED = 100_000


def repeated(name: str, rows: int, folder: Path | None) -> tuple[Any, Any, bool]:
    """Return a dataset repeated in random orders."""
    file = None if folder is None else folder / f"{_file_name(name)}.csv.gz"
    if file is not None and file.exists():
        (X, y), stand_in = read_table(file), False
    else:
        _, X, y, stand_in = paper_stream(name)
    n = y.shape[0]
    rng = np.random.default_rng(0)
    orders = [rng.permutation(n) for _ in range(-(-rows // n))]
    order = np.concatenate(orders)[:rows]
    return X[order], y[order], stand_in


def _file_name(name: str) -> str:
    return name.lower().replace("-", "_")


def drifting(name: str, rows: int) -> tuple[Any, Any, bool]:
    """Return a stream that drifts."""
    if name == "SEA, abrupt":
        chunks = streams.sea(rows, thresholds=(8.0, 9.0, 7.0, 9.5) * 5)
    else:
        chunks = streams.hyperplane(rows, speed=0.001)
    parts = list(islice(chunks, rows))
    X = np.concatenate([part[0] for part in parts])
    return X, np.concatenate([part[1] for part in parts]), False


def errors(X: Any, y: Any, learner: str, members: int) -> list[tuple[float, float]]:
    """Return the error over the counted rows and over all rows, by mini-batch size."""
    predict = {"RPNB": of_classifier, "Pooled": of_pool}[learner]
    found = []
    for size in sizes_of(learner):
        wrong = predict(X, y, size, members) != y
        found.append((float(wrong[COUNTED:].mean()), float(wrong.mean())))
    return found


def sizes_of(learner: str) -> tuple[int, ...]:
    """Return the mini-batch sizes to try with a learner."""
    return POOL_SIZES if learner == "Pooled" else SIZES


def of_classifier(X: Any, y: Any, size: int, members: int) -> Any:
    """Return predictions of `RPNBClassifier`, each before its mini-batch is learned."""
    model = RPNBClassifier(members, batch_size=size, temperature=None, random_state=0)
    return model.predict_then_learn(X, y, classes=np.unique(y))


def of_pool(X: Any, y: Any, size: int, members: int) -> Any:
    """Return predictions of a pool of mergeable members; size 1 is row by row."""
    model = PooledClassifier("mergeable", random_state=0)
    if size == 1:
        return model.predict_then_learn(X, y, classes=np.unique(y))
    return learn_mini_batches(model, X, y, size, classes=np.unique(y))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--learner", choices=["RPNB", "Pooled"], default="RPNB")
    parser.add_argument("--members", type=int, default=50, help="of RPNB")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--data", type=Path, help="folder of datasets")
    parser.add_argument("--figure", type=Path, help="where to draw the errors")
    names = (*DATASETS, *DRIFTING)
    parser.add_argument("--streams", nargs="+", choices=names, default=names)
    arguments = parser.parse_args()
    sizes = sizes_of(arguments.learner)
    what = f"RPNB, {arguments.members} projections"
    if arguments.learner == "Pooled":
        what = "Pooled, members whose statistics add up"
    print(
        f"error on rows {COUNTED:,} to {arguments.rows:,} by size of the mini-batch; "
        f"{what}; in brackets: all rows\n"
    )
    print("| stream | " + " | ".join(f"{size:,}" for size in sizes) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    measured = {}
    for name in arguments.streams:
        if name in DRIFTING:
            X, y, stand_in = drifting(name, arguments.rows)
        else:
            X, y, stand_in = repeated(name, arguments.rows, arguments.data)
        found = errors(X, y, arguments.learner, arguments.members)
        cells = [f"{late:.4f} ({all_:.4f})" for late, all_ in found]
        mark = " (drawn, of its shape)" if stand_in else ""
        measured[name + mark] = [late for late, _ in found]
        print(f"| {name}{mark} | " + " | ".join(cells) + " |", flush=True)
    if arguments.figure:
        draw(measured, sizes, arguments.figure)


def draw(measured: dict[str, list[float]], sizes: tuple[int, ...], path: Path) -> None:
    """Draw the error relative to that of B = 1."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.4, 4.2), layout="constrained")
    for name, values in measured.items():
        style = "--" if name in DRIFTING else "-"
        times = np.array(values) / values[0]
        axes.plot(sizes, times, style, marker="o", markersize=3.5, label=name)
    axes.axhline(1.0, color="0.6", linewidth=0.8, zorder=0)
    axes.set(xscale="log", yscale="log", xlabel="rows of a mini-batch, B")
    axes.set_ylabel(f"error after row {COUNTED:,}, B = 1 is 1")
    ticks = [0.5, 1, 2, 5, 10, 20, 50, 100]
    axes.set_yticks(ticks, [f"{each:g}" for each in ticks])
    axes.minorticks_off()
    axes.set_title("The price of large mini-batches", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    # The same numbers give the same bytes.
    with pyplot.rc_context({"svg.hashsalt": "batch sizes"}):
        date = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=date)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
