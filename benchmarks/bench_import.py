"""How long a fresh process takes to its first prediction, beside its imports alone.

One process imports scikit-learn's base classes and does nothing else; the other imports
rpnb, creates a model, learns a few rows and predicts. Processes are started in turn;
medians of wall time.

Run: python benchmarks/bench_import.py [--repeat 9]
"""

import argparse
import subprocess
import sys
import time

import numpy as np

IMPORTS = "import sklearn.base"
FIRST_PREDICTION = """
import numpy as np
from rpnb import RPNBClassifier
X = np.random.default_rng(0).normal(size=(64, 16))
model = RPNBClassifier(random_state=0).fit(X, np.arange(64) % 4)
model.predict(X)
"""


def seconds(code: str) -> float:
    """Return how long a fresh interpreter takes to run the code."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - ours
    return time.perf_counter() - start


def main() -> None:
    """Measure and print both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    for code in (FIRST_PREDICTION, IMPORTS):  # read the files from disk
        seconds(code)
    times = np.array(
        [(seconds(IMPORTS), seconds(FIRST_PREDICTION)) for _ in range(repeat)]
    )
    least, mine = np.median(times, axis=0)
    ratios = times[:, 1] / times[:, 0]
    print(f"import sklearn.base            {least:.3f} s")
    print(f"rpnb to its first prediction   {mine:.3f} s")
    print(
        f"ratio                          {np.median(ratios):.2f}"
        f"   ({ratios.min():.2f}-{ratios.max():.2f})"
    )


if __name__ == "__main__":
    main()
