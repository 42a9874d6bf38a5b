"""What each part of the pooled classifier is worth: it is left out, or made otherwise.

    python benchmarks/pooled_ablation.py --data FOLDER --streams FOLDER --keel FOLDER

The folders are those of `python -m pooled_evidence`. For each setting: the geometric
mean of its errors over those of the classifier as it is, minus 1, in per cent, with the
standard error of the mean over the data: + is worse. The columns: the paper's datasets,
those of them with more than 32 features, streams, and datasets kept aside. The rows are
the first of each, with their classes known.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from pooled_evidence.sources import Source, sources
from rpnb import PooledClassifier
from rpnb.core.pooled.model import MEMBERS

_WIDE = 32
#: Mean weights at the end of the 16 datasets of the paper with at most 1,500 rows and
#: 200 features, eight permutations each.
AVERAGES = {
    "class_covariance": 0.184,
    "shared_covariance": 0.158,
    "binned_bayes": 0.164,
    "neighbours": 0.115,
    "selected_neighbours": 0.143,
    "fading_covariance": 0.128,
    "window_forest": 0.299,
    "window_forest_fast": 0.177,
    "transitions": 0.03,
}
GROUPS = ("datasets", "wide datasets", "streams", "kept aside")


def settings() -> dict[str, dict[str, Any]]:
    """Return the parameters of each setting by its name; the first is the usual one."""
    found: dict[str, dict[str, Any]] = {"as it is": {}}
    for name in MEMBERS:
        rest = [other for other in MEMBERS if other != name]
        found[f"without {name}"] = {"members": rest}
    found["256 projections"] = {"n_projections": 256}
    found["1,024 projections"] = {"n_projections": 1024}
    found["window of 1,000 rows"] = {"window": 1000}
    found["shared_covariance begins at 2/7"] = {"first": {"shared_covariance": 2 / 7}}
    found["weights begin at their averages"] = {"first": AVERAGES}
    return found


def make(parameters: dict[str, Any], p: int, M: int, seed: int) -> PooledClassifier:
    """Return a classifier of M classes, with other first weights if there are any."""
    given = {name: value for name, value in parameters.items() if name != "first"}
    model = PooledClassifier(**given, random_state=seed)
    model._initialise(p, np.arange(M))
    pool, outputs = model._state.pool, model._state.outputs
    for name, weight in parameters.get("first", {}).items():
        if name in outputs:
            pool.weights[outputs.index(name)] = weight
    return model


def groups_of(source: Source, p: int) -> list[str]:
    """Return the columns in which a source is counted."""
    if source.part == "permutations":
        return ["datasets", "wide datasets"] if p > _WIDE else ["datasets"]
    return ["streams"] if source.part == "streams" else ["kept aside"]


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--keel", type=Path)
    parser.add_argument("--rows", type=int, default=2500)
    parser.add_argument("--permutations", type=int, default=3)
    options = parser.parse_args()
    logs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for source in sources(options.data, options.streams, options.keel):
        if source.part not in ("permutations", "streams", "aside"):
            continue
        errors: dict[str, list[float]] = defaultdict(list)
        for seed in range(options.permutations if source.shuffled else 1):
            X, y = source.rows(seed)
            most = options.rows if source.shuffled else 2 * options.rows
            X, y = X[:most], y[:most]
            for name, parameters in settings().items():
                if "selected" in name and X.shape[1] <= _WIDE:
                    errors[name].append(errors["as it is"][-1])
                    continue
                model = make(parameters, X.shape[1], int(y.max()) + 1, seed)
                labels = model.predict_then_learn(X, y)
                # Half a row more, so that no logarithm is of zero.
                errors[name].append((np.sum(labels != y) + 0.5) / len(y))
        usual = np.mean(errors["as it is"])
        line = f"{source.part} {source.name}: {usual:.4f}"
        for name, values in errors.items():
            ratio = float(np.log(np.mean(values) / usual))
            for group in groups_of(source, X.shape[1]):
                logs[name][group].append(ratio)
            line += f" {name} {np.mean(values) / usual:.3f};"
        print(line, flush=True)
    print("\n| setting |", " | ".join(GROUPS), "|")
    print("|---|" + "---|" * len(GROUPS))
    for name, found in logs.items():
        cells = []
        for group in GROUPS:
            ratios = np.array(found[group])
            if ratios.size < 2:
                cells.append("—")
                continue
            error = ratios.std(ddof=1) / np.sqrt(ratios.size)
            cells.append(f"{np.expm1(ratios.mean()):+.1%} ± {error:.1%}")
        print(f"| {name} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
