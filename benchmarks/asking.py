"""Error by share of labels: samples chosen by `ask`, compared with random ones.

    python benchmarks/asking.py run [--streams FOLDER] [--rows 20000] [--late 0]
    python benchmarks/asking.py show [--late 0]
    python benchmarks/asking.py test [--names mixture --budgets 0.2 --first 10]
    python benchmarks/asking.py draw --figure docs/results/figures/asking.svg

FOLDER has NAME.npz with X and y, in their own order; five streams are generated and
need no file. Rows come in chunks of 20: those of a chunk are predicted, labels of some
of them are requested, and learned `--late` rows after the chunk; the pool then has
delays="varying". Results are lines of JSON in `--results`; finished runs are not
repeated. `show` prints, for each stream and budget, the error on all rows as mean over
seeds with its standard error, for random choice (random_share=1) and for `ask`. Then,
for each budget: the mean over streams of the difference, ask less random, of the same
seed; streams on which `ask` is better; those on which it is worse by more than two
standard errors of the difference over seeds, with their names; and the mean deviation
of the error estimated from the requested labels, with the share of runs within two of
its standard errors. `test` prints, for each stream and budget, the mean difference with
its 95 % interval by Student's t over the seeds, and its p-value after Holm's correction
for all lines. `--names`, `--budgets` and `--first` (seed) choose some of the cases for
`run` and `test`. `draw` draws the differences of `PooledClassifier`.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp

from rpnb import PooledClassifier, RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets import streams
from rpnb.evaluate import estimate_error
from rpnb.evaluate.waiting.changes import holm
from rpnb.report.charts.axes import x_axis
from rpnb.report.charts.drawing import Dot, Drawing, Label, Line, Mark, Scale, Shape
from rpnb.report.charts.svg import standalone

Stream = tuple[FloatArray, IntArray]
CHUNK = 20
BUDGETS = (0.01, 0.05, 0.2, 1.0)
STORED = ("elec2", "weather", "chessboard", "rbf_drift", "agrawal_drift")
GENERATED = ("mixture", "sea", "hyperplane", "random_rbf", "led")
LEARNERS = {"Pooled": PooledClassifier, "RPNB": RPNBClassifier}
SHARES = {"random": 1.0, "ask": 0.2}


def generated(name: str, n: int, seed: int) -> Stream:
    """Return a generated stream: rows, and labels from 0 on."""
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
    """Return the error of a model that learns requested labels, and the estimate."""
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
    """Yield all cases."""
    names = [*GENERATED, *(STORED if options.streams else ())]
    for learner in options.learners:
        for name in options.names or names:
            for budget in options.budgets or BUDGETS:
                for strategy in SHARES:
                    if budget == 1.0 and strategy == "random":
                        continue  # all labels are requested
                    for seed in range(options.first, options.first + options.seeds):
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
    """Run all cases without a result."""
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
    """Return the results so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def grouped(options: argparse.Namespace) -> dict[Any, list[dict[str, Any]]]:
    """Return the results by learner, stream, budget and strategy; one per seed."""
    found: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in results(options.results):
        if row["late"] == options.late and row["rows"] == options.rows:
            key = (row["learner"], row["stream"], row["budget"], row["strategy"])
            found[key].append(row)
    for rows in found.values():
        rows.sort(key=lambda row: int(row["seed"]))
    return found


def difference(
    random: list[dict[str, Any]], chosen: list[dict[str, Any]]
) -> tuple[float, float]:
    """Return the mean difference of errors, ask less random, and its standard error."""
    pairs = zip(random, chosen, strict=True)
    return mean([b["error"] - a["error"] for a, b in pairs])


def mean(values: list[float]) -> tuple[float, float]:
    """Return the mean over seeds and its standard error."""
    if len(values) < 2:
        return float(np.mean(values)), 0.0
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def show(options: argparse.Namespace) -> None:
    """Print two tables for each learner."""
    found = grouped(options)
    for learner in options.learners:
        names = list(dict.fromkeys(key[1] for key in found if key[0] == learner))
        print(f"\n{learner}, labels {options.late:,} rows late\n")
        heads = [f"{100 * b:g} %: random | ask" for b in BUDGETS[:-1]]
        print(f"| stream | {' | '.join(heads)} | 100 % |")
        print("|---|" + "---:|" * (2 * len(BUDGETS) - 1))
        for name in names:
            line = [name]
            for budget in BUDGETS:
                for strategy in SHARES:
                    rows = found.get((learner, name, budget, strategy))
                    if rows is not None:
                        value, error = mean([row["error"] for row in rows])
                        line.append(f"{value:.3f} ± {error:.3f}")
            print("|", " | ".join(line), "|")
        print(
            "\n| budget | difference | better | worse | estimate off | within 2 s.e. |"
        )
        print("|---:|---:|---:|---|---:|---:|")
        for budget in BUDGETS[:-1]:
            gains = {
                name: difference(
                    found[learner, name, budget, "random"],
                    found[learner, name, budget, "ask"],
                )
                for name in names
            }
            worse = [
                f"{name} {gain:+.3f} ± {error:.3f}"
                for name, (gain, error) in gains.items()
                if gain > 2.0 * error
            ]
            runs = [
                row for name in names for row in found[learner, name, budget, "ask"]
            ]
            off = [abs(row["estimate"] - row["error"]) for row in runs]
            within = [
                each <= 2.0 * row["deviation"]
                for each, row in zip(off, runs, strict=True)
            ]
            total = np.mean([gain for gain, _ in gains.values()])
            better = sum(gain < 0.0 for gain, _ in gains.values())
            print(
                f"| {100 * budget:g} % | {total:+.4f} | {better} of {len(names)} | "
                f"{', '.join(worse) or 'none'} | {np.mean(off):.3f} | "
                f"{100.0 * np.mean(within):.0f} % |"
            )


def test(options: argparse.Namespace) -> None:
    """Print the differences with intervals and adjusted p-values."""
    found: dict[Any, dict[int, float]] = defaultdict(dict)
    for row in results(options.results):
        if row["late"] == options.late and row["rows"] == options.rows:
            key = (row["learner"], row["stream"], row["budget"], row["strategy"])
            found[key][row["seed"]] = row["error"]
    seeds = range(options.first, options.first + options.seeds)
    lines, p_values = [], []
    for learner, name, budget, strategy in [*found]:
        chosen = found[learner, name, budget, "ask"]
        random = found.get((learner, name, budget, "random"), {})
        wanted = not options.names or name in options.names
        wanted &= not options.budgets or budget in options.budgets
        both = [seed for seed in seeds if seed in chosen and seed in random]
        if strategy != "ask" or not wanted or len(both) < 2:
            continue
        gains = [chosen[seed] - random[seed] for seed in both]
        tested = ttest_1samp(gains, 0.0)
        low, high = tested.confidence_interval(0.95)
        p_values.append(float(tested.pvalue))
        lines.append(
            f"| {learner} | {name} | {100 * budget:g} % | {len(both)} | "
            f"{np.mean(gains):+.4f} | {low:+.4f} to {high:+.4f} |"
        )
    print("| learner | stream | budget | seeds | difference | 95 % interval | p |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for line, p in zip(lines, holm(np.array(p_values)), strict=True):
        print(f"{line} {p:.2g} |")


def draw(options: argparse.Namespace) -> None:
    """Draw the differences of the pool: a line per stream, a mark per budget."""
    found = grouped(options)
    names = list(dict.fromkeys(key[1] for key in found if key[0] == "Pooled"))
    shapes: tuple[Shape, ...] = ("circle", "square", "triangle")
    left, top, step, width = 110.0, 44.0, 26.0, 640.0
    gains = {
        (name, budget): difference(
            found["Pooled", name, budget, "random"],
            found["Pooled", name, budget, "ask"],
        )
        for name in names
        for budget in BUDGETS[:-1]
    }
    ends = [gain + sign * 2.0 * se for gain, se in gains.values() for sign in (-1, 1)]
    x = Scale(min(*ends, -0.01), max(*ends, 0.01), left, width - 20.0)
    bottom = top + step * len(names)
    unit = "error of ask less error of random rows, ± 2 standard errors"
    marks: list[Mark] = [*x_axis(x, top, bottom, unit)]
    marks.append(Line(((x(0.0), top), (x(0.0), bottom)), "ink", 1.5))
    for k, budget in enumerate(BUDGETS[:-1]):
        place = left + 150.0 * k
        marks.append(Dot(place, 18.0, shapes[k], f"s{k}", 4.0))
        marks.append(Label(place + 10.0, 22.0, f"{100 * budget:g} % of the labels"))
    for i, name in enumerate(names):
        middle = top + step * (i + 0.5)
        marks.append(Label(left - 8.0, middle + 4.0, name, anchor="end"))
        for k, budget in enumerate(BUDGETS[:-1]):
            gain, se = gains[name, budget]
            y = middle + 6.0 * (k - 1)
            low, high = x(gain - 2.0 * se), x(gain + 2.0 * se)
            marks.append(Line(((low, y), (high, y)), f"s{k}", 1.2))
            marks.append(
                Dot(x(gain), y, shapes[k], f"s{k}", 3.2, f"{name} {gain:+.4f}")
            )
    title = "Error of ask less error of random rows, by stream and share of labels"
    drawing = Drawing(width, bottom + 42.0, title, tuple(marks))
    options.figure.write_text(standalone(drawing), encoding="utf-8")


def main() -> None:
    """Run missing cases, print the tables, or draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["run", "show", "test", "draw"])
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--results", type=Path, default=Path("asking.jsonl"))
    parser.add_argument("--figure", type=Path, default=Path("asking.svg"))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--late", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--names", nargs="*")
    parser.add_argument("--budgets", nargs="*", type=float)
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS))
    options = parser.parse_args()
    if options.command == "run":
        run_all(options)
    elif options.command == "show":
        show(options)
    elif options.command == "test":
        test(options)
    else:
        draw(options)


if __name__ == "__main__":
    main()
