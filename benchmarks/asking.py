"""Error against the share of labels: rows that `ask` chooses beside rows at random.

    python benchmarks/asking.py run [--streams FOLDER] [--rows 20000] [--late 0]
    python benchmarks/asking.py show [--late 0]

FOLDER has NAME.npz with X and y, in their own order; five streams are generated and
need no file. Rows come in chunks of 20: those of a chunk are predicted, some of them
are asked for, and the labels asked for are learned `--late` rows after the chunk, by
the pool with delays="varying".
Results are lines of JSON in `--results`; what is there is not run again. `show` prints,
for each stream and budget, the error on all rows as mean over seeds with its standard
error, for random choice (random_share=1) and for `ask`, their difference, and the mean
deviation of the error that the labels asked for estimate.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets import streams
from rpnb.evaluate import estimate_error

Stream = tuple[FloatArray, IntArray]
CHUNK = 20
BUDGETS = (0.01, 0.05, 0.2, 1.0)
STORED = ("elec2", "weather", "chessboard", "rbf_drift", "agrawal_drift")
GENERATED = ("mixture", "sea", "hyperplane", "random_rbf", "led")
LEARNERS = {"Pooled": PooledClassifier, "RPNB": RPNBClassifier}
SHARES = {"random": 1.0, "ask": 0.2}


def generated(name: str, n: int, seed: int) -> Stream:
    """Return a drawn stream: rows and labels from 0 on."""
    options: dict[str, Any] = {"mixture": {"M": 4}, "random_rbf": {"M": 4}}
    made = getattr(streams, name)(n, seed=seed, **options.get(name, {}))
    chunks = list(made)
    X = np.concatenate([np.asarray(chunk, np.float64) for chunk, _ in chunks])
    y = np.concatenate([labels for _, labels in chunks])
    return X, np.unique(y, return_inverse=True)[1]


def stored(folder: Path, name: str, n: int) -> Stream:
    """Return the first rows of a stream in a file."""
    arrays = np.load(folder / f"{name}.npz")
    y = np.unique(arrays["y"][:n], return_inverse=True)[1]
    return np.ascontiguousarray(arrays["X"][:n], np.float64), y


def run(
    model: Any, stream: Stream, budget: float, share: float, seed: int, late: int
) -> dict[str, float]:
    """Return the error of a model that learns what it asks for, and its estimate."""
    X, y = stream
    classes, n = np.unique(y), y.shape[0]
    predicted, ids = np.full(n, -1), np.full(n, -1)
    waiting: list[IntArray] = []
    asked, weights = [], []
    for start in range(0, n, CHUNK):
        part = slice(start, min(start + CHUNK, n))
        while waiting and waiting[0][-1] < start - late:
            rows = waiting.pop(0)
            if ids[rows[0]] < 0:
                model.partial_fit(X[rows], y[rows], classes=classes)
            else:
                model.learn_later(ids[rows], y[rows])
        if model.__sklearn_is_fitted__() and late and hasattr(model, "learn_later"):
            predicted[part], ids[part] = model.predict_later(X[part])
        elif model.__sklearn_is_fitted__():
            predicted[part] = model.predict_next(X[part])
        found = model.ask(X[part], budget, random_share=share, random_state=seed)
        if found.rows.shape[0] > 0:
            waiting.append(start + found.rows)
        asked.append(start + found.rows)
        weights.append(found.weights)
    rows = np.concatenate(asked)
    estimate = estimate_error(y[rows], predicted[rows], np.concatenate(weights))
    return {
        "error": float(np.mean(predicted != y)),
        "estimate": estimate.error,
        "deviation": estimate.standard_error,
        "asked": rows.shape[0] / n,
    }


def cells(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is to be run."""
    names = [*GENERATED, *(STORED if options.streams else ())]
    for learner in options.learners:
        for name in names:
            for budget in BUDGETS:
                for strategy in SHARES:
                    if budget == 1.0 and strategy == "random":
                        continue  # all rows are asked for
                    for seed in range(options.seeds):
                        yield {
                            "learner": learner,
                            "stream": name,
                            "rows": options.rows,
                            "budget": budget,
                            "strategy": strategy,
                            "seed": seed,
                            "late": options.late,
                        }


def run_all(options: argparse.Namespace) -> None:
    """Run what has no line in the results yet."""
    keys = ("learner", "stream", "rows", "budget", "strategy", "seed", "late")
    done = {tuple(row[key] for key in keys) for row in results(options.results)}
    for cell in cells(options):
        if tuple(cell[key] for key in keys) in done:
            continue
        name, seed = cell["stream"], cell["seed"]
        if name in GENERATED:
            stream = generated(name, options.rows, seed)
        else:
            stream = stored(options.streams, name, options.rows)
        model = LEARNERS[cell["learner"]](random_state=seed)
        if options.late and cell["learner"] == "Pooled":
            usual = int(cell["budget"] * options.late)
            model.set_params(delay=usual, delays="varying")
        share = SHARES[cell["strategy"]]
        found = run(model, stream, cell["budget"], share, seed, options.late)
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(cell | found) + "\n")


def results(path: Path) -> list[dict[str, Any]]:
    """Return the lines of the results."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def show(options: argparse.Namespace) -> None:
    """Print a table for each learner."""
    found: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in results(options.results):
        if row["late"] == options.late and row["rows"] == options.rows:
            key = (row["learner"], row["stream"], row["budget"], row["strategy"])
            found[key].append(row)
    for learner in options.learners:
        print(f"\n{learner}, labels {options.late:,} rows late\n")
        print("| stream | budget | random | ask | difference | estimated − true |")
        print("|---|---:|---:|---:|---:|---:|")
        summary: dict[float, list[tuple[float, float]]] = defaultdict(list)
        pairs = dict.fromkeys(key[1:3] for key in found if key[0] == learner)
        for name, budget in pairs:
            chosen = found[learner, name, budget, "ask"]
            random = found.get((learner, name, budget, "random"), chosen)
            first, second = mean(random, "error"), mean(chosen, "error")
            gain, noise = second[0] - first[0], float(np.hypot(first[1], second[1]))
            off = np.mean([row["estimate"] - row["error"] for row in chosen])
            difference = "" if budget == 1.0 else f"{gain:+.4f} ± {noise:.4f}"
            cell = "" if budget == 1.0 else f"{first[0]:.4f} ± {first[1]:.4f}"
            print(
                f"| {name} | {100 * budget:g} % | {cell} | {second[0]:.4f} ± "
                f"{second[1]:.4f} | {difference} | {off:+.4f} |"
            )
            summary[budget].append((gain, noise))
        print(
            "\n| budget | mean difference | better | worse by more than 2 deviations |"
        )
        print("|---:|---:|---:|---:|")
        for budget in BUDGETS[:-1]:
            gains = np.array(summary[budget]).reshape(-1, 2)
            if gains.shape[0] > 0:
                better = int((gains[:, 0] < 0.0).sum())
                worse = int((gains[:, 0] > 2.0 * gains[:, 1]).sum())
                print(
                    f"| {100 * budget:g} % | {gains[:, 0].mean():+.4f} | {better} of "
                    f"{gains.shape[0]} | {worse} |"
                )


def mean(rows: list[dict[str, Any]], name: str) -> tuple[float, float]:
    """Return the mean of a figure over seeds and its standard error."""
    values = np.array([row[name] for row in rows])
    if values.shape[0] < 2:
        return float(values.mean()), 0.0
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.shape[0]))


def main() -> None:
    """Run what is missing, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--results", type=Path, default=Path("asking.jsonl"))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--late", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS))
    options = parser.parse_args()
    if options.command == "run":
        run_all(options)
    else:
        show(options)


if __name__ == "__main__":
    main()
