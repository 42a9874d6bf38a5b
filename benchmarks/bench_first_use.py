"""Processor time of the first use after an installation: nothing is compiled yet.

Each job is a process of its own with an empty folder for compiled code, and runs a
second time with what the first has left there. Another version of the package is
measured by PYTHONPATH or by the environment that runs this file.

    python benchmarks/bench_first_use.py [--repeat 3]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_iris

# The default learner over 150 rows.
IRIS = (
    "import numpy as np; from sklearn.datasets import load_iris; "
    "X, y = load_iris(return_X_y=True); "
    "i = np.random.default_rng(0).permutation(150); X, y = X[i], y[i]; "
)
# 1,000 rows of 64 features, for which all kernels are compiled.
DIGITS = (
    "from sklearn.datasets import load_digits; "
    "X, y = load_digits(return_X_y=True); X, y = X[:1000], y[:1000]; "
)
JOBS = {
    "fit, predict": IRIS
    + "from rpnb import RPNBClassifier; RPNBClassifier().fit(X, y).predict(X)",
    "predict_then_learn": IRIS
    + "from rpnb import RPNBClassifier; RPNBClassifier().predict_then_learn(X, y)",
    "fit, predict_proba": IRIS
    + "from rpnb import RPNBClassifier; RPNBClassifier().fit(X, y).predict_proba(X)",
    "learn_one, predict_one": IRIS
    + "from rpnb import RPNBClassifier; m = RPNBClassifier().partial_fit(X, y); "
    "m.learn_one(X[0], y[0]); m.predict_one(X[1])",
    "predict_then_learn, 1,000 rows": DIGITS
    + "from rpnb import RPNBClassifier; RPNBClassifier().predict_then_learn(X, y)",
    "PooledClassifier: fit, predict": IRIS
    + "from rpnb import PooledClassifier; PooledClassifier().fit(X, y).predict(X)",
    "PooledClassifier: predict_then_learn": IRIS
    + "from rpnb import PooledClassifier; PooledClassifier().predict_then_learn(X, y)",
    "PooledClassifier: predict_then_learn, 1,000 rows": DIGITS
    + "from rpnb import PooledClassifier; PooledClassifier().predict_then_learn(X, y)",
}


def write_iris(path: Path) -> None:
    """Write 150 rows in a random order."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150).tolist()
    rows = [",".join([*map(str, X[i].tolist()), "uvw"[y[i]]]) for i in order]
    path.write_text("\n".join(["a,b,c,d,y", *rows]) + "\n")


def seconds(command: list[str], kernels: str) -> float:
    """Return the processor time of a command and of all that it starts."""
    before = os.times()
    subprocess.run(  # noqa: S603 - our own words
        command,
        env={**os.environ, "NUMBA_CACHE_DIR": kernels},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


def jobs(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and command of each job."""
    for name, code in JOBS.items():
        yield name, [sys.executable, "-c", code]
    write_iris(folder / "iris.csv")
    words = ["-m", "rpnb", "run", str(folder / "iris.csv"), "--target", "y"]
    yield "rpnb run, 150 rows", [sys.executable, *words]


def main() -> None:
    """Print a table: the median of the first and of the second use."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3, metavar="N")
    repeat = parser.parse_args().repeat
    print("| first use | seconds | range | second use |")
    print("|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in jobs(Path(folder)):
            first, second = [], []
            for _ in range(repeat):
                with tempfile.TemporaryDirectory() as kernels:
                    first.append(seconds(command, kernels))
                    second.append(seconds(command, kernels))
            spread = f"{min(first):.1f}–{max(first):.1f}"
            print(
                f"| {name} | {median(first):.1f} | {spread} | {median(second):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
