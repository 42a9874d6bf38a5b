"""Processor time of fresh processes, from start to answer: there is no slow first use.

Each job is a process that imports the package, learns and ends. `import sklearn` alone
is the floor. The last job starts 16 processes at once, and is the mean of their times.
Another version is measured in the same run, in turn:

    python benchmarks/bench_first_use.py [--repeat 5] [--other PYTHON]

If a version stores something at its first use, `--empty VARIABLE` names the environment
variable of the folder for it; every process then gets an empty one.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_iris

PROCESSES = 16
_ROWS = (
    "import numpy as np; rng = np.random.default_rng(0); n, p, M = {}; "
    "y = rng.integers(0, M, n); "
    "X = rng.normal(size=(n, p)) + 2 * rng.normal(size=(M, p))[y]; "
)
_LEARN = "from rpnb import {0}; {0}(random_state=0).predict_then_learn(X, y)"
_FEW, _MORE = _ROWS.format("150, 4, 3"), _ROWS.format("1000, 16, 10")
JOBS = {
    "import sklearn": "import sklearn",
    "Pooled, 150 rows": _FEW + _LEARN.format("PooledClassifier"),
    "Pooled, 1,000 rows": _MORE + _LEARN.format("PooledClassifier"),
    "RPNB, 150 rows": _FEW + _LEARN.format("RPNBClassifier"),
    "RPNB, 1,000 rows": _MORE + _LEARN.format("RPNBClassifier"),
    "Pooled, 5-fold iris": "from sklearn.datasets import load_iris; "
    "from sklearn.model_selection import cross_val_score; "
    "from rpnb import PooledClassifier; "
    "cross_val_score(PooledClassifier(), *load_iris(return_X_y=True), cv=5)",
}


def write_iris(path: Path) -> None:
    """Write 150 rows in a random order."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150).tolist()
    rows = [",".join([*map(str, X[i].tolist()), "uvw"[y[i]]]) for i in order]
    path.write_text("\n".join(["a,b,c,d,y", *rows]) + "\n")


def jobs(folder: Path) -> dict[str, tuple[list[str], int]]:
    """Return the arguments of the interpreter and the number of processes by job."""
    found = {name: (["-c", code], 1) for name, code in JOBS.items()}
    write_iris(folder / "iris.csv")
    words = ["-m", "rpnb", "run", str(folder / "iris.csv"), "--target", "y"]
    found["rpnb run, 150 rows"] = words, 1
    found[f"Pooled, 150 rows, {PROCESSES} at once"] = (
        ["-c", JOBS["Pooled, 150 rows"]],
        PROCESSES,
    )
    return found


def run(command: list[str], variables: Mapping[str, str]) -> None:
    """Run a command, away from the sources; raise an error if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(  # noqa: S603 - our own words
            command,
            env=variables,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


def seconds(command: list[str], count: int, empty: str | None) -> float:
    """Return the processor time of a command, the mean of `count` started at once."""
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        if empty:
            variables[empty] = folder
        before = os.times()
        with ThreadPoolExecutor(count) as threads:
            # A list, so that the error of any of them is raised.
            list(threads.map(lambda _: run(command, variables), range(count)))
        after = os.times()
    user = after.children_user - before.children_user
    return (user + after.children_system - before.children_system) / count


def main() -> None:
    """Print a table: the median and the range of each job."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=5, metavar="N")
    parser.add_argument("--other", metavar="PYTHON", help="interpreter of a version")
    parser.add_argument("--empty", metavar="VARIABLE", help="folder, empty each time")
    given = parser.parse_args()
    pythons = [sys.executable, *([given.other] if given.other else [])]
    heads = ["this version, s", "range"]
    heads += ["other, s", "range", "other / this"] if given.other else []
    print(f"| fresh process | {' | '.join(heads)} |")
    print("|---" + "|--:" * len(heads) + "|")
    with tempfile.TemporaryDirectory() as folder:
        commands = jobs(Path(folder))
        times: dict[str, list[list[float]]] = {
            name: [[] for _ in pythons] for name in commands
        }
        for _ in range(given.repeat):  # all jobs in turn, the floor among them
            for name, (words, count) in commands.items():
                for python, found in zip(pythons, times[name], strict=True):
                    found.append(seconds([python, *words], count, given.empty))
    for name, columns in times.items():
        cells = []
        for found in columns:
            cells += [f"{median(found):.2f}", f"{min(found):.2f}–{max(found):.2f}"]
        if given.other:
            ratios = [other / this for this, other in zip(*columns, strict=True)]
            cells.append(f"{median(ratios):.2f}")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
