"""Processor time of fresh processes, from start to answer: the first use and the next.

Each job is a process that imports the package, learns and ends; `import sklearn` is
unavoidable. A version may store something at its first use, in the folder that the
environment variable `--empty` names: each first use finds this folder empty, and the
next one finds what the first stored. The last job starts 16 processes at once, and is
the mean of their times. `bench_versions.py --first-use` runs it.

Packages of both environments must have their compiled Python files (.pyc). Without
them, and with PYTHONDONTWRITEBYTECODE, each process compiles scikit-learn's sources.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np
from sklearn.datasets import load_iris

PROCESSES: Final = 16
_ROWS = (
    "import numpy as np; rng = np.random.default_rng(0); n, p, M = {}; "
    "y = rng.integers(0, M, n); "
    "X = rng.normal(size=(n, p)) + 2 * rng.normal(size=(M, p))[y]; "
)
_LEARN = "from rpnb import {0}; {0}(random_state=0).predict_then_learn(X, y)"
_FEW, _MORE = _ROWS.format("150, 4, 3"), _ROWS.format("1000, 16, 10")
_FOLDS = (
    "from sklearn.datasets import load_iris; "
    "from sklearn.model_selection import cross_val_score; "
    "from rpnb import PooledClassifier; "
    "cross_val_score(PooledClassifier(), *load_iris(return_X_y=True), cv=5)"
)
#: The programs of the jobs; `rpnb run` is called with a file.
PROGRAMS: Final = {
    "import sklearn": "import sklearn.base",
    "Pooled, 150 rows": _FEW + _LEARN.format("PooledClassifier"),
    "Pooled, 1,000 rows": _MORE + _LEARN.format("PooledClassifier"),
    "RPNB, 150 rows": _FEW + _LEARN.format("RPNBClassifier"),
    "RPNB, 1,000 rows": _MORE + _LEARN.format("RPNBClassifier"),
    "Pooled, 5-fold iris": _FOLDS,
    "rpnb run, 150 rows": "",
    "16 processes at once": _FEW + _LEARN.format("PooledClassifier"),
}


def compare(
    pythons: Sequence[str], jobs: Sequence[str], repeat: int, empty: str | None
) -> None:
    """Print a table: medians of the first and next use by each interpreter."""
    names = ["this", "other"][: len(pythons)]
    heads = [f"{name}, {use} use" for name in names for use in ("first", "next")]
    heads += ["other / this, first"] * (len(pythons) - 1)
    print(f"| processor time in s | {' | '.join(heads)} |")
    print("|---" + "|--:" * len(heads) + "|")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "iris.csv"
        write_iris(data)
        for job in jobs:
            words = ["-c", PROGRAMS[job]]
            if job == "rpnb run, 150 rows":
                words = ["-m", "rpnb", "run", str(data), "--target", "y"]
            count = PROCESSES if job == "16 processes at once" else 1
            times = [
                [use for python in pythons for use in uses(python, words, count, empty)]
                for _ in range(repeat)  # the versions take turns
            ]
            cells = [f"{median(column):.2f}" for column in zip(*times, strict=True)]
            if len(pythons) > 1:
                cells.append(f"{median(each[2] / each[0] for each in times):.1f}")
            print(f"| {job} | {' | '.join(cells)} |", flush=True)


def write_iris(path: Path) -> None:
    """Write 150 rows in a random order."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150).tolist()
    rows = [",".join([*map(str, X[i].tolist()), "uvw"[y[i]]]) for i in order]
    path.write_text("\n".join(["a,b,c,d,y", *rows]) + "\n")


def uses(
    python: str, words: Sequence[str], count: int, empty: str | None
) -> tuple[float, float]:
    """Return the processor times of the first use and of the next."""
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        if empty:
            variables[empty] = folder
        command = [python, *words]
        return seconds(command, count, variables), seconds(command, count, variables)


def seconds(command: Sequence[str], count: int, variables: Mapping[str, str]) -> float:
    """Return the processor time of a command, the mean of `count` started at once."""
    before = os.times()
    with ThreadPoolExecutor(count) as threads:
        # A list, so that the error of any of them is raised.
        list(threads.map(lambda _: run(command, variables), range(count)))
    after = os.times()
    user = after.children_user - before.children_user
    return (user + after.children_system - before.children_system) / count


def run(command: Sequence[str], variables: Mapping[str, str]) -> None:
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
