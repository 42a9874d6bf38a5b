"""Error rates of the laws of projection on the paper's five widest datasets.

Every law sees the same permutations; permutation r is run with random_state=r. Beside a
law stands its mean error minus that of the Gaussian law, in standard errors of this
difference of means: √(s₁²/n + s₂²/n), and, for the same permutations taken in pairs,
√(s²/n) of the n differences.

Run: python benchmarks/compare_laws.py [--permutations 10] [--data DIR]
         [--datasets NAME ...] [--standardise]
"""

import argparse
from math import sqrt

import numpy as np
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from rpnb import RPNBClassifier, datasets
from rpnb.core.arrays import FloatArray
from rpnb.core.projection import Law

WIDEST = ("GM", "Isolet", "Madelon", "Multiple Features", "Musk2")
OTHERS: tuple[Law, ...] = ("very_sparse", "hadamard")


def errors(
    name: str, laws: tuple[Law, ...], n: int, data: str | None, standardise: bool
) -> FloatArray:
    """Return the error rate of each law on each permutation (laws, n)."""
    found = datasets.load(name, reading="paper", data=data)
    table = found.X
    if standardise:
        table = StandardScaler().fit_transform(table)
    classes = np.unique(found.y)
    out = np.empty((len(laws), n))
    for r in range(n):
        order = np.random.default_rng(r).permutation(found.y.shape[0])
        X, y = np.ascontiguousarray(table[order]), found.y[order]
        for i, law in enumerate(laws):
            model = RPNBClassifier(projection=law, random_state=r)
            out[i, r] = np.mean(model.predict_then_learn(X, y, classes=classes) != y)
    return out


def main() -> None:
    """Run and print one line a dataset and law."""
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
    print("dataset             gaussian       law          error          ", end="")
    print("difference  s.e.  in s.e.  paired s.e.  in s.e.")
    with threadpool_limits(1):
        for name in arguments.datasets:
            laws: tuple[Law, ...] = ("gaussian", *OTHERS)
            rates = 100.0 * errors(name, laws, n, arguments.data, arguments.standardise)
            base = rates[0]
            for law, rate in zip(OTHERS, rates[1:], strict=True):
                difference = rate.mean() - base.mean()
                error = sqrt((rate.var(ddof=1) + base.var(ddof=1)) / n)
                paired = sqrt((rate - base).var(ddof=1) / n)
                print(
                    f"{name:18} {base.mean():6.2f} ({base.std(ddof=1):4.2f})  "
                    f"{law:11} {rate.mean():6.2f} ({rate.std(ddof=1):4.2f})  "
                    f"{difference:+11.3f} {error:5.3f} {difference / error:+7.2f}  "
                    f"{paired:11.3f} {difference / paired:+7.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
