"""Error rates of the projection distributions on the paper's five widest datasets.

Every distribution gets the same permutations; permutation r has random_state=r. Printed
are its mean error minus that of the Gaussian distribution, in standard errors of this
difference of means: √(s₁²/n + s₂²/n), and, for the same permutations taken in pairs,
√(s²/n) of the n differences.

The first line of a dataset is the control: the Gaussian distribution with other draws,
random_state=r + 1000. Its differences are due to chance alone.

Run: python benchmarks/compare_distributions.py [--permutations 10] [--data DIR]
         [--datasets NAME ...] [--standardise]
"""

import argparse
from math import sqrt

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from rpnb import RPNBClassifier, datasets
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.matrices import Distribution

WIDEST = ("GM", "Isolet", "Madelon", "Multiple Features", "Musk2")
# Name, distribution, and what is added to the seeds; all are compared with the first.
COLUMNS: tuple[tuple[str, Distribution, int], ...] = (
    ("gaussian", "gaussian", 0),
    ("other draws", "gaussian", 1000),
    ("very_sparse", "very_sparse", 0),
    ("hadamard", "hadamard", 0),
)


def errors(name: str, n: int, data: str | None, standardise: bool) -> FloatArray:
    """Return the error rate of each column on each permutation (columns, n)."""
    found = datasets.load(name, reading="paper", data=data)
    table = found.X
    if standardise:
        table = StandardScaler().fit_transform(table)
    classes = np.unique(found.y)
    out = np.empty((len(COLUMNS), n))
    for r in range(n):
        order = np.random.default_rng(r).permutation(found.y.shape[0])
        X, y = np.ascontiguousarray(table[order]), found.y[order]
        for i, (_, distribution, more) in enumerate(COLUMNS):
            model = RPNBClassifier(projection=distribution, random_state=r + more)
            out[i, r] = np.mean(model.predict_then_learn(X, y, classes=classes) != y)
    return out


def main() -> None:
    """Run and print one line per dataset and column."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--permutations", type=int, default=10)
    parser.add_argument("--datasets", nargs="+", default=list(WIDEST))
    parser.add_argument(
        "--standardise",
        action="store_true",
        help="give every column mean 0 and variance 1, which looks at all rows",
    )
    parser.add_argument("--data", help="folder with the paper's files")
    arguments = parser.parse_args()
    n = arguments.permutations
    print(f"{n} permutations; error in per cent: mean (standard deviation)")
    print("dataset             gaussian       distribution error          ", end="")
    print("difference  s.e.  in s.e.  paired s.e.  in s.e.")
    with threadpool_limits(1):
        for name in arguments.datasets:
            base, *rates = 100.0 * errors(
                name, n, arguments.data, arguments.standardise
            )
            for (column, *_), rate in zip(COLUMNS[1:], rates, strict=True):
                difference = rate.mean() - base.mean()
                error = sqrt((rate.var(ddof=1) + base.var(ddof=1)) / n)
                paired = sqrt((rate - base).var(ddof=1) / n)
                print(
                    f"{name:18} {base.mean():6.2f} ({base.std(ddof=1):4.2f})  "
                    f"{column:11} {rate.mean():6.2f} ({rate.std(ddof=1):4.2f})  "
                    f"{difference:+11.3f} {error:5.3f} {difference / error:+7.2f}  "
                    f"{paired:11.3f} {difference / paired:+7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
