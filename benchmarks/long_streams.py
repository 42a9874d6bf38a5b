"""What the pool learns from long streams, with and without its boosted trees.

    python benchmarks/long_streams.py run [--data FOLDER ...] [--rows 105000]
    python benchmarks/long_streams.py show

Each FOLDER has NAME.npz with X and y; all of its streams are run, in their order for
the first seed and shuffled for the others, and the generated streams below, which need
no file. The learners are the pool without boosted trees ("before"), the pool, and
LightGBM where it is installed: 100 trees of 31 leaves, refitted to all rows whenever
these have grown by half. Results are lines of JSON in `--results`; what is there is not
run again. `show` prints, as means over seeds with their standard deviation, the error
of all rows and of the last quarter, the log-loss, and the processor time of a row; of
streams that change after 50,000 rows, how many rows later the error of 1,000 rows is
back within 10 % of what it was.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rpnb import PooledClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.model import MEMBERS

Stream = tuple[FloatArray, IntArray]
BLOCK = 2048
#: Rows after which the streams that change do.
CHANGE = 50_000
_WINDOW = 1000


# Streams that need no file


def checks(rng: np.random.Generator, n: int) -> Stream:
    """Return a board of 4 by 4 by 4 fields of three classes, and five features more."""
    X = rng.uniform(size=(n, 8))
    return X, np.floor(4 * X[:, :3]).astype(int).sum(axis=1) % 3


def rings(rng: np.random.Generator, n: int) -> Stream:
    """Return shells around the origin, five classes, 10 % noise."""
    X = rng.normal(size=(n, 6))
    return X, _noisy(rng, np.digitize((X[:, :4] ** 2).sum(axis=1), [1.5, 3, 4.5, 7]), 5)


def products(rng: np.random.Generator, n: int) -> Stream:
    """Return the sign of a sum of products, two classes."""
    X = rng.normal(size=(n, 12))
    total = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * X[:, 4]
    return X, (total + 0.3 * rng.normal(size=n) > 0).astype(np.int64)


def mixture(rng: np.random.Generator, n: int) -> Stream:
    """Return 60 clusters of eight classes in ten dimensions."""
    centre, label = 2.0 * rng.normal(size=(60, 10)), rng.integers(0, 8, 60)
    k = rng.integers(0, 60, n)
    return centre[k] + rng.normal(size=(n, 10)), label[k]


def codes(rng: np.random.Generator, n: int) -> Stream:
    """Return categories with effects and pairwise effects, four classes, noise."""
    X = rng.integers(0, 12, (n, 9)).astype(float)
    single, pair = rng.normal(size=(9, 12, 4)), rng.normal(size=(3, 12, 12, 4))
    rows = X.astype(int)
    score = sum(single[j, rows[:, j]] for j in range(9))
    score = score + sum(2 * pair[j, rows[:, j], rows[:, j + 3]] for j in range(3))
    return X, np.argmax(score + rng.gumbel(size=(n, 4)), axis=1)


def waves(rng: np.random.Generator, n: int) -> Stream:
    """Return which of six sines is highest, with 20 features and some missing."""
    X = rng.uniform(-1, 1, size=(n, 20))
    turn = rng.normal(size=(6, 2)) * 3
    y = np.argmax(np.sin(X[:, :2] @ turn.T + X[:, 2:8] * 1.5), axis=1)
    X[rng.random(X.shape) < 0.02] = np.nan
    return X, y


def checks_change(rng: np.random.Generator, n: int) -> Stream:
    """Return `checks` whose classes change places after 50,000 rows."""
    X, y = checks(rng, n)
    y[CHANGE:] = (y[CHANGE:] + 1) % 3
    return X, y


def products_change(rng: np.random.Generator, n: int) -> Stream:
    """Return `products` whose features change places after 50,000 rows."""
    X, y = products(rng, n)
    X[CHANGE:] = np.roll(X[CHANGE:], 5, axis=1)
    return X, y


def _noisy(rng: np.random.Generator, y: IntArray, M: int) -> IntArray:
    return np.where(rng.random(len(y)) < 0.1, rng.integers(0, M, len(y)), y)


GENERATED: dict[str, Callable[[np.random.Generator, int], Stream]] = {
    function.__name__: function
    for function in (
        checks,
        rings,
        products,
        mixture,
        codes,
        waves,
        checks_change,
        products_change,
    )
}


def streams(
    folders: list[Path], rows: int, seed: int
) -> Iterator[tuple[str, Callable[[], Stream]]]:
    """Yield names of streams and functions that return them."""
    for folder in folders:
        for path in sorted(folder.glob("*.npz")):
            yield path.stem, lambda path=path: _read(path, rows, seed)  # type: ignore[misc]
    for name, draw in GENERATED.items():
        most = max(rows, 2 * CHANGE) if name.endswith("_change") else rows
        yield (
            name,
            lambda draw=draw, most=most: draw(  # type: ignore[misc]
                np.random.default_rng([seed, 7]), most
            ),
        )


def _read(path: Path, rows: int, seed: int) -> Stream:
    arrays = np.load(path)
    X = arrays["X"].astype(np.float64)
    y = np.unique(arrays["y"], return_inverse=True)[1]
    if seed > 0:
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    return X[:rows], y[:rows]


# Learners


def run_pool(X: FloatArray, y: IntArray, seed: int, members: Any) -> FloatArray:
    """Return the probabilities of all rows, each before it is learned."""
    model = PooledClassifier(members, random_state=seed)
    classes = np.arange(int(y.max()) + 1)
    parts = [
        model.predict_then_learn(
            X[start : start + BLOCK],
            y[start : start + BLOCK],
            classes=classes,
            return_proba=True,
        )[1]
        for start in range(0, len(y), BLOCK)
    ]
    return np.concatenate(parts)


def refit(
    make: Callable[[], Any], X: FloatArray, y: IntArray, growth: float
) -> FloatArray:
    """Return the probabilities by a learner refitted when the rows have grown so much.

    Each fit is to all rows before those that it predicts; the first is to 100 rows, or
    a tenth of them if they are fewer than 1,000.
    """
    M = int(y.max()) + 1
    P = np.full((len(y), M), 1.0 / M)
    start = min(100, max(len(y) // 10, 10))
    while start < len(y):
        stop = min(int(np.ceil(start * growth)), len(y))
        P[start:stop] = fit_then_predict(make, X[:start], y[:start], X[start:stop], M)
        start = stop
    return P


def fit_then_predict(
    make: Callable[[], Any], X: FloatArray, y: IntArray, new: FloatArray, M: int
) -> FloatArray:
    """Return the probabilities of new rows by a learner fitted to others."""
    P = np.zeros((len(new), M))
    if np.all(y == y[0]):  # LightGBM takes one class for two
        P[:, y[0]] = 1.0
        return P
    model = make().fit(X, y)
    P[:, model.classes_] = model.predict_proba(new)
    return P


def lightgbm(seed: int) -> Any:
    """Return LightGBM with the trees and leaves that it has by default."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=100, num_leaves=31, random_state=seed, n_jobs=1, verbose=-1
    )


def learners() -> dict[str, Callable[[FloatArray, IntArray, int], FloatArray]]:
    """Return the learners by name."""
    rest = [name for name in MEMBERS if name != "boosted_trees"]
    found: dict[str, Callable[[FloatArray, IntArray, int], FloatArray]] = {
        "before": lambda X, y, seed: run_pool(X, y, seed, rest),
        "pool": lambda X, y, seed: run_pool(X, y, seed, "all"),
    }
    if find_spec("lightgbm"):
        found["LightGBM"] = lambda X, y, seed: refit(
            lambda: lightgbm(seed), X, y, growth=1.5
        )
    return found


def measure(P: FloatArray, y: IntArray) -> dict[str, float]:
    """Return errors and log-loss; of a change, the rows until it is made up for."""
    wrong = P.argmax(axis=1) != y
    loss = -np.log(np.maximum(P[np.arange(len(y)), y], 1e-12))
    usual = wrong[CHANGE - 5 * _WINDOW : CHANGE].mean()
    after = wrong[CHANGE : CHANGE + (len(y) - CHANGE) // _WINDOW * _WINDOW]
    back = np.flatnonzero(after.reshape(-1, _WINDOW).mean(axis=1) <= 1.1 * usual)
    return {
        "error": float(wrong.mean()),
        "last": float(wrong[3 * len(y) // 4 :].mean()),
        "loss": float(loss.mean()),
        "back": float((back[0] + 1) * _WINDOW) if back.size else float("inf"),
    }


def run(options: argparse.Namespace) -> None:
    """Run what is missing, seed after seed."""
    records = read_results(options.results)
    done = {(r["stream"], r["learner"], r["seed"], r["rows"]) for r in records}
    for seed in range(options.seeds):
        for name, make in streams(options.data, options.rows, seed):
            if options.names and name not in options.names:
                continue
            for learner, function in learners().items():
                if (name, learner, seed, options.rows) in done:
                    continue
                X, y = make()
                start = time.process_time()
                P = function(X, y, seed)
                microseconds = (time.process_time() - start) / len(y) * 1e6
                record = {"stream": name, "learner": learner, "seed": seed}
                record |= {"rows": options.rows, "us": microseconds, **measure(P, y)}
                print(json.dumps(record), flush=True)
                with options.results.open("a") as file:
                    file.write(json.dumps(record) + "\n")


def read_results(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file, none if there is none."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def with_spread(values: FloatArray) -> str:
    """Return the mean, and the standard deviation if there is more than one value."""
    spread = f" ± {values.std(ddof=1):.4f}" if values.size > 1 else ""
    return f"{values.mean():.4f}{spread}"


def show(options: argparse.Namespace) -> None:
    """Print a table of all results, and ratios over the streams that do not change."""
    cells: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in read_results(options.results):
        cells[record["stream"]][record["learner"]].append(record)
    names = sorted({learner for found in cells.values() for learner in found})
    ratios: dict[str, list[tuple[float, float]]] = defaultdict(list)
    print("| stream | learner | all rows | last quarter | log-loss | µs | back |")
    print("|---|---|---|---|---|---|---|")
    for stream, found in cells.items():
        for learner in names:
            records = found.get(learner)
            if not records:
                continue
            values = {key: np.array([r[key] for r in records]) for key in records[0]}
            shown = [with_spread(values[key]) for key in ("error", "last", "loss")]
            back = (
                f"{values['back'].mean():,.0f}" if stream.endswith("_change") else "—"
            )
            print(
                f"| {stream} | {learner} | {' | '.join(shown)} "
                f"| {values['us'].mean():.1f} | {back} |"
            )
            if learner != "before" and "before" in found:
                base = found["before"]
                ratios[learner] += [
                    tuple(
                        np.mean([r[key] for r in records])
                        / np.mean([r[key] for r in base])
                        for key in ("error", "last")
                    )
                ] * (not stream.endswith("_change"))
    for learner, pairs in ratios.items():
        mean = np.exp(np.log(np.array(pairs)).mean(axis=0))
        print(
            f"\n{learner} over before, geometric mean of {len(pairs)}: "
            f"all rows {mean[0]:.3f}, last quarter {mean[1]:.3f}"
        )


def main() -> None:
    """Run or show, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("run", "show"))
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--results", type=Path, default=Path("long_streams.jsonl"))
    parser.add_argument("--rows", type=int, default=105_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--names", nargs="*", help="only these streams")
    options = parser.parse_args()
    (run if options.action == "run" else show)(options)


if __name__ == "__main__":
    main()
