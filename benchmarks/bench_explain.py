"""Time of `explain` compared with shap's samplers, and the errors of these.

    python benchmarks/bench_explain.py [--rows N] [--shap]

`--shap` needs shap (pip install shap), which is not a dependency of the project. There
is one line per dataset and method: milliseconds of processor time per row, the ratio to
the time of `explain`, and the error, which is the sum of absolute differences from the
exact values as a share of the sum of their absolute values. All methods explain the
score of the first class minus that of the second, relative to the mean of 20 background
rows, for the same rows and by the same `decision_function`. KernelExplainer,
SamplingExplainer and PermutationExplainer run with their default settings; in addition,
KernelExplainer runs without its selection of features, and PermutationExplainer with a
single pair of permutations, forward and backward, which is exact for a polynomial of
degree two. A second line has the time of `PooledClassifier.explain` with its defaults,
its largest standard error and its largest value.
"""

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray

Result = TypeVar("Result")

_BACKGROUND = 20
_DATASETS: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}


def timed(function: Callable[[], Result]) -> tuple[Result, float]:
    """Return a result, and seconds of processor time of the faster of two calls."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        found = function()
        seconds.append(time.process_time() - start)
    return found, min(seconds)


def explainers(
    margin: Callable[[FloatArray], FloatArray], background: FloatArray
) -> dict[str, Callable[[FloatArray], FloatArray]]:
    """Return shap's samplers by name: functions from rows to values."""
    shap: Any = import_module("shap")
    once = 2 * background.shape[1] + 1  # forward and backward, one pair of permutations
    kernel = shap.KernelExplainer(margin, background, seed=0)
    sampling = shap.SamplingExplainer(margin, background)
    permutation = shap.PermutationExplainer(margin, background, seed=0)
    return {
        "KernelExplainer": lambda X: kernel.shap_values(X, silent=True),
        "KernelExplainer, l1_reg=False": lambda X: kernel.shap_values(
            X, l1_reg=False, silent=True
        ),
        "SamplingExplainer": lambda X: sampling.shap_values(X, silent=True),
        "PermutationExplainer": lambda X: (
            permutation(X, max_evals=10 * once, silent=True).values
        ),
        "PermutationExplainer, one pair": lambda X: (
            permutation(X, max_evals=once, silent=True).values
        ),
    }


def compare(name: str, rows: int, with_shap: bool) -> None:
    """Print the lines of one dataset."""
    data, y = _DATASETS[name](return_X_y=True)
    # Pixels share a scale, and some are constant.
    X = data if name == "digits" else StandardScaler().fit_transform(data)
    model = RPNBClassifier(random_state=0).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    background, chosen = X[order[:_BACKGROUND]], X[order[-rows:]]
    first, second = model.classes_[:2]

    def ours() -> FloatArray:
        found = model.explain(
            chosen, label=first, against=second, background=background
        )
        return np.asarray(found.values)

    def margin(rows: FloatArray) -> FloatArray:
        scores = model.decision_function(rows)
        return -scores if scores.ndim == 1 else scores[:, 0] - scores[:, 1]

    exact, base = timed(ours)
    n = len(chosen)
    print(
        f"{name}, p = {X.shape[1]}: explain {base / n * 1e3:.3f} ms per row", flush=True
    )
    pool = PooledClassifier(random_state=0).fit(X, y)
    reasons, seconds = timed(lambda: pool.explain(chosen))
    print(
        f"  PooledClassifier {seconds / n * 1e3:.1f} ms per row, standard errors up to "
        f"{reasons.errors.max():.2g}, values up to {np.abs(reasons.values).max():.2g}",
        flush=True,
    )
    if not with_shap:
        return
    whole = np.abs(exact).sum()
    for method, function in explainers(margin, background).items():
        found, seconds = timed(lambda function=function: function(chosen))  # type: ignore[misc]
        error = np.abs(found - exact).sum() / whole
        print(
            f"  {method:30} {seconds / n * 1e3:9.2f} ms  x {seconds / base:8,.0f}  "
            f"error {error:.2%}",
            flush=True,
        )


def main() -> None:
    """Compare on the datasets that come with scikit-learn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--shap", action="store_true")
    parser.add_argument("--only", nargs="*", choices=list(_DATASETS))
    given = parser.parse_args()
    for name in given.only or _DATASETS:
        compare(name, given.rows, given.shap)


if __name__ == "__main__":
    main()
