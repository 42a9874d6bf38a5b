"""Our trees, bagging and boosting compared with MOA's, on the same rows in order.

Three parts. Exact: without randomness (one tree, with and without weights; bagging with
the weights that MOA draws; boosting with means instead of draws), votes are compared
row by row, and splits one by one. Errors: with its own draws, bagging is compared over
several permutations, in standard errors of the mean difference. Speed: both run on one
thread, in one run, measured in processor time, because other work may share the
machine.

MOA is called through CapyMOA, in a separate environment (pip install capymoa).

Run: python benchmarks/compare_moa.py PYTHON [--data DIR] [--parts exact errors speed]
     [--names NAME ...] [--runs 5] [--members 200] [--rows 20000]
where PYTHON is the interpreter of that environment.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from peers.worker_process import Worker, worker
from rpnb._core.trees import pass_tree
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.trees import (
    DENSITY_LOG,
    DENSITY_PRODUCT,
    Draws,
    Forest,
    TreeParameters,
    fill_labels,
    new_forest,
    new_member_accuracy,
    pass_bagging,
    pass_boosting,
)
from workloads import paper_stream

NAMES = [
    "Penbased",
    "Nursery",
    "Monk-2",
    "Hayes Roth",
    "Led7digit",
    "Vertebral",
    "Letter",
]
EXACT = ["Letter", "Penbased", "Nursery", "Musk1"]
ENSEMBLES = ["Ionosphere", "Vertebral", "Monk-2", "Penbased"]
SPEED = "Letter"
PRODUCT = TreeParameters(density=DENSITY_PRODUCT)


class Moa:
    """The process that runs MOA, and the folder through which rows reach it."""

    def __init__(self, process: Worker, folder: Path) -> None:
        self.worker = process
        self.folder = folder

    def request(
        self, X: FloatArray, y: IntArray, weight: FloatArray, job: str, **request: Any
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Pass rows through a learner; return the reply and the arrays with it."""
        rows = self.folder / "rows.npz"
        np.savez(rows, X=X, y=y, weight=weight)
        request.setdefault("classes", int(y.max()) + 1)
        reply = self.worker.request(job, rows=str(rows), **request)
        return reply, reply.pop("arrays")


@contextmanager
def moa(python: str) -> Iterator[Moa]:
    """Start MOA with the given interpreter, and end it."""
    module = Path(__file__).with_name("moa_worker.py")
    with (
        tempfile.TemporaryDirectory() as folder,
        worker("MOA", python, module) as server,
    ):
        yield Moa(server, Path(folder))


def stream(name: str, seed: int) -> tuple[FloatArray, IntArray, int]:
    """Return a dataset of the paper, permuted, with classes numbered from 0."""
    work = paper_stream(name, seed)
    classes, y = np.unique(work.y, return_inverse=True)
    return work.X, y.astype(np.int64), len(classes)


def normalised(votes: FloatArray) -> FloatArray:
    """Normalise the votes of each row unless all are 0, as MOA does."""
    totals = votes.sum(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        return np.where(totals > 0.0, votes * (1.0 / totals), 0.0)


def tree_by_row(
    X: FloatArray, y: IntArray, weight: FloatArray, M: int
) -> tuple[FloatArray, list[tuple[int, int, float]]]:
    """Pass rows through one tree; return its votes and the rows of its splits."""
    forest = new_forest(1, M, X.shape[1])
    votes = np.zeros((len(X), M))
    splits: list[tuple[int, int, float]] = []
    for i in range(len(X)):
        part = slice(i, i + 1)
        pass_tree(forest, 0, PRODUCT, X[part], y[part], weight[part], True, votes[part])
        for node in range(len(splits), forest.splits[0]):
            nodes = forest.nodes
            splits.append((i, int(nodes.attribute[node]), float(nodes.threshold[node])))
    return votes, splits


def compare_trees(server: Moa, name: str) -> None:
    """Compare one tree, without weights and with Poisson weights."""
    X, y, M = stream(name, 0)
    draws = np.random.default_rng(0).poisson(1.0, len(X)).astype(np.float64)
    for label, weight in (("one tree", np.ones(len(X))), ("weighted", draws)):
        reply, arrays = server.request(X, y, weight, job="by row", learner="tree")
        theirs = [(int(i), int(j), float(z)) for i, j, z in reply["splits"]]
        votes, ours = tree_by_row(X, y, weight, M)
        _report_votes(name, label, votes, normalised(arrays["votes"]))
        same = sorted(theirs) == sorted(ours)
        print(f"{'':25}splits: MOA {len(theirs)}, ours {len(ours)}, same: {same}")
        for row, j, z in sorted(set(theirs) ^ set(ours)):
            side = "MOA" if (row, j, z) in theirs else "ours"
            print(f"{'':25}  {side} only: row {row}, attribute {j}, threshold {z!r}")


def compare_bagging(server: Moa, name: str, K: int = 20) -> None:
    """Compare bagging with the weights that MOA draws."""
    X, y, M = stream(name, 0)
    ones = np.ones(len(X))
    _, drawn = server.request(X, y, ones, job="draw", members=K, seed=1)
    _, arrays = server.request(
        X, y, ones, job="by row", learner="bagging", members=K, seed=1
    )
    forest = new_forest(K, M, X.shape[1])
    votes = np.zeros((len(X), M))
    for k in range(K):
        weight = np.ascontiguousarray(drawn["weights"][:, k])
        pass_tree(forest, k, PRODUCT, X, y, weight, True, votes)
    _report_votes(name, "bagging", votes, arrays["votes"])


def compare_boosting(server: Moa, name: str, K: int = 10) -> None:
    """Compare boosting without draws."""
    X, y, M = stream(name, 0)
    _, arrays = server.request(
        X, y, np.ones(len(X)), job="by row", learner="pure boosting", members=K, seed=1
    )
    votes = np.zeros((len(X), M))
    pass_boosting(
        new_forest(K, M, X.shape[1]),
        new_member_accuracy(K),
        PRODUCT,
        Draws(0, 0, 0),
        True,
        X,
        y,
        np.ones(1),
        True,
        votes,
    )
    _report_votes(name, "boosting", votes, arrays["votes"])


def _report_votes(name: str, what: str, ours: FloatArray, theirs: FloatArray) -> None:
    labels = np.zeros((2, len(ours)), np.int64)
    fill_labels(ours, labels[0])
    fill_labels(theirs, labels[1])
    # Where products of densities underflow, MOA's votes become ∞ and NaN.
    lost = ~np.isfinite(theirs)
    same = np.array_equal(ours[lost], theirs[lost], equal_nan=True)
    remark = f"; {lost.any(axis=1).sum()} rows not finite, same: {same}"
    print(
        f"{name:14} {what:10} {len(ours):6} rows: largest difference of votes "
        f"{np.abs(ours[~lost] - theirs[~lost]).max():.1e}, labels that differ "
        f"{(labels[0] != labels[1]).sum()}{remark if lost.any() else ''}"
    )


def bag(
    X: FloatArray, y: IntArray, M: int, K: int, seed: int, rules: TreeParameters
) -> tuple[IntArray, Forest]:
    """Pass rows through K bagged trees; return the predicted labels."""
    votes = np.zeros((len(X), M))
    labels = np.zeros(len(X), np.int64)
    forest = new_forest(K, M, X.shape[1])
    pass_bagging(forest, rules, Draws(seed, 0, 0), X, y, np.ones(1), True, votes)
    fill_labels(votes, labels)
    return labels, forest


def compare_errors(server: Moa, name: str, runs: int, K: int) -> None:
    """Compare the errors of bagged trees over several permutations."""
    errors = np.zeros((3, runs))
    for run in range(runs):
        X, y, M = stream(name, run)
        _, arrays = server.request(
            X,
            y,
            np.ones(len(X)),
            job="at once",
            learner="bagging",
            members=K,
            seed=run + 1,
        )
        errors[0, run] = (arrays["labels"] != y).mean()
        for i, density in ((1, DENSITY_PRODUCT), (2, DENSITY_LOG)):
            labels, _ = bag(X, y, M, K, run + 1, TreeParameters(density=density))
            errors[i, run] = (labels != y).mean()
    means = errors.mean(axis=1)
    difference = errors[1] - errors[0]
    z = "-"
    if runs > 1:
        deviation = difference.std(ddof=1) / np.sqrt(runs)
        z = f"{difference.mean() / max(deviation, 1e-300):+.1f}"
    print(
        f"{name:14} {runs:4} {means[0]:8.4f} {means[1]:9.4f} {difference.mean():+11.4f}"
        f" {z:>6} {means[2]:9.4f}",
        flush=True,
    )


def compare_speed(server: Moa, K: int, rows: int) -> None:
    """Measure rows per second on one thread, MOA first, after 500 rows for Java."""
    X, y, M = stream(SPEED, 0)
    X, y = X[:rows], y[:rows]
    for count in (500, len(X)):
        reply, _ = server.request(
            X[:count],
            y[:count],
            np.ones(count),
            job="at once",
            learner="bagging",
            members=K,
            seed=1,
            classes=M,
        )
    print(f"{SPEED}, {len(X)} rows, {K} trees: rows per second of processor time")
    theirs = len(X) / reply["seconds"]
    print(f"  MOA          {theirs:8.0f}   (wall clock {len(X) / reply['wall']:.0f})")
    for label, density in (("product", DENSITY_PRODUCT), ("log", DENSITY_LOG)):
        began, began_processor = time.perf_counter(), time.thread_time()
        bag(X, y, M, K, 1, TreeParameters(density=density))
        ours = len(X) / (time.thread_time() - began_processor)
        by_clock = len(X) / (time.perf_counter() - began)
        print(
            f"  ours {label:8}{ours:8.0f}   (wall clock {by_clock:.0f}), "
            f"{ours / theirs:.1f} times MOA"
        )


def main() -> None:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", help="interpreter of an environment with CapyMOA")
    parser.add_argument("--names", nargs="+", default=NAMES, metavar="NAME")
    parser.add_argument("--data", help="folder with the paper's files")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--members", type=int, default=200)
    parser.add_argument("--rows", type=int, default=20000, help="to take the speed on")
    parser.add_argument(
        "--parts", nargs="+", default=["exact", "errors", "speed"], metavar="PART"
    )
    arguments = parser.parse_args()
    if arguments.data:
        os.environ["RPNB_DATA"] = arguments.data
    with moa(arguments.python) as server:
        if "exact" in arguments.parts:
            for name in EXACT:
                compare_trees(server, name)
            for name in ENSEMBLES:
                compare_bagging(server, name)
                compare_boosting(server, name)
        if "errors" in arguments.parts:
            print(
                "dataset        runs      MOA      ours  difference      z  ours, log"
            )
            for name in arguments.names:
                compare_errors(server, name, arguments.runs, arguments.members)
        if "speed" in arguments.parts:
            compare_speed(server, arguments.members, arguments.rows)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
