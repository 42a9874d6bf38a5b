"""Categories in the pool: native, as codes, and as one-hot columns.

    python benchmarks/categories.py run --data FOLDER ... [--rows 10000]
    python benchmarks/categories.py show

Each FOLDER has some of the files below, NAME.csv or NAME.csv.gz with a header; sets
without a file are left out, and generated ones need none. Each set is run in five
permutations, predicted and then learned row by row: "native" is a frame of text,
"codes" has integers in order of first appearance, "one-hot" a column per category, for
which all rows must be known in advance. `--ways` accepts more: "beside-codes" and
"beside-frequencies" are designs that were tried, with codes, or class frequencies of
the category in earlier rows, in addition to native categories; "ordered" sorts
categories with a known order. Results are lines of JSON in `--results`; finished runs
are not repeated. `show` prints the error over all rows, as means with their standard
errors, and the ratios of the error of native to those of codes and one-hot, with the
standard error of the mean of their logarithms. Sets marked "held out" were not used for
any choice about the features of categories.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from rpnb import PooledClassifier

Table = tuple[Any, Any]
SEEDS = range(5)


@dataclass(frozen=True)
class Dataset:
    """A table with columns of categories."""

    target: str | None = None
    """None for the last column"""
    categories: tuple[str, ...] | None = None
    """numeric columns that hold categories; None for all"""
    held_out: bool = False
    make: Callable[[], Table] | None = None
    """function that generates the table, if there is no file"""
    orders: tuple[tuple[str, str], ...] = ()
    """columns whose categories have an order, and the categories"""


def sequences() -> Table:
    """Return 60 letters out of four; the middle eight determine three classes."""
    rng = np.random.default_rng(11)
    n, y = 3000, np.random.default_rng(12).choice(3, 3000, p=[0.25, 0.25, 0.5])
    letters = rng.choice(list("ACGT"), (n, 60))
    for label, motif in enumerate(("CAGGTAAG", "TTTCCAGG")):
        hit = (y == label)[:, None] & (rng.random((n, 8)) < 0.75)
        letters[:, 26:34] = np.where(hit, np.array(list(motif)), letters[:, 26:34])
    return pd.DataFrame(letters, columns=[f"p{j}" for j in range(60)]), y


def shops() -> Table:
    """Return 3,000 shops, each with its own rate of late parcels, and two features."""
    rng = np.random.default_rng(21)
    n = 10_000
    shop = np.minimum(rng.zipf(1.4, n), 3000)
    rate = np.random.default_rng(22).normal(scale=1.5, size=3001)
    weight, region = rng.normal(size=n), rng.choice(list("nesw"), n)
    odds = rate[shop] + weight + (region == "n") - 0.5 * (region == "w")
    y = rng.random(n) < 1 / (1 + np.exp(-odds))
    names = [f"shop {each}" for each in shop]
    return pd.DataFrame({"shop": names, "weight": weight, "region": region}), y


GRADES = "I1 SI2 SI1 VS2 VS1 VVS2 VVS1 IF"
PRICES = "low med high vhigh"
DATASETS: dict[str, Dataset] = {
    "adult": Dataset(categories=()),
    "car": Dataset(
        orders=(
            ("buying", PRICES),
            ("maint", PRICES),
            ("doors", "2 3 4 5more"),
            ("persons", "2 4 more"),
            ("lug_boot", "small med big"),
            ("safety", "low med high"),
        )
    ),
    "contraceptive": Dataset(categories=("x2", "x3", "x5", "x6", "x7", "x8", "x9")),
    "flights": Dataset(categories=("FlightNum",)),
    "mushroom": Dataset(),
    "nursery": Dataset(),
    "chess_krvk": Dataset(held_out=True),
    "diamonds": Dataset(
        "cut",
        (),
        held_out=True,
        orders=(("color", "J I H G F E D"), ("clarity", GRADES)),
    ),
    "soybean": Dataset(held_out=True),
    "splice": Dataset(held_out=True),
    "tic_tac_toe": Dataset(held_out=True),
    "sequences": Dataset(held_out=True, make=sequences),
    "shops": Dataset(categories=(), held_out=True, make=shops),
}


def load(name: str, folders: list[Path]) -> Table | None:
    """Return a table whose categories are text, and its labels; None without a file."""
    given = DATASETS[name]
    if given.make is not None:
        X, y = given.make()
    else:
        paths = [
            folder / f"{name}{end}" for folder in folders for end in (".csv", ".csv.gz")
        ]
        path = next((each for each in paths if each.exists()), None)
        if path is None:
            return None
        X = pd.read_csv(path, keep_default_na=False)
        y = X.pop(given.target or X.columns[-1]).to_numpy()
    chosen = X.columns if given.categories is None else given.categories
    return X.astype(dict.fromkeys(chosen, str)), np.asarray(y)


def native(X: Any, _y: Any, _given: Dataset) -> Any:
    """Return the frame as it is."""
    return X


def codes(X: Any, _y: Any, _given: Dataset) -> Any:
    """Return categories as integers in the order of their first appearance."""
    return X.assign(**_codes(X)).to_numpy(float)


def one_hot(X: Any, _y: Any, _given: Dataset) -> Any:
    """Return one column per category."""
    return pd.get_dummies(X).to_numpy(float)


def with_codes(X: Any, _y: Any, _given: Dataset) -> Any:
    """Return the frame with the codes of its categories added."""
    return X.assign(**{f"{name} code": code for name, code in _codes(X).items()})


def with_frequencies(X: Any, y: Any, _given: Dataset) -> Any:
    """Return the frame with the class frequencies of each category so far.

    They are for up to four classes, without the first to appear; the frequency among
    all rows counts as one more row of the category.
    """
    more = {}
    classes = list(dict.fromkeys(y.tolist()))[1:5]
    before = np.arange(len(y))
    for name, code in _codes(X).items():
        rows = pd.Series(before).groupby(code).cumcount().to_numpy()
        for c, label in enumerate(classes):
            hit = (y == label).astype(float)
            share = (np.cumsum(hit) - hit + 0.2) / (before + 1.0)
            own = pd.Series(hit).groupby(code).cumsum().to_numpy() - hit
            more[f"{name} {c}"] = (own + share) / (rows + 1.0)
    return pd.concat([X, pd.DataFrame(more, index=X.index)], axis=1)


def ordered(X: Any, _y: Any, given: Dataset) -> Any:
    """Return the frame with known orders of categories; None without any."""
    if not given.orders:
        return None
    return X.assign(
        **{
            name: pd.Categorical(X[name], order.split(), ordered=True)
            for name, order in given.orders
        }
    )


def _codes(X: Any) -> dict[str, Any]:
    texts = [name for name in X if X[name].dtype.kind not in "fiub"]
    return {name: pd.factorize(X[name])[0] for name in texts}


WAYS: dict[str, Callable[[Any, Any, Dataset], Any]] = {
    "native": native,
    "codes": codes,
    "one-hot": one_hot,
}
DESIGNS = {
    "beside-codes": with_codes,
    "beside-frequencies": with_frequencies,
    "ordered": ordered,
}


def run(arguments: argparse.Namespace) -> None:
    """Run all cases without a result."""
    results = arguments.results
    done = {(r["set"], r["way"], r["seed"]) for r in read(results)}
    for name in arguments.sets:
        table = load(name, arguments.data)
        if table is None:
            print(f"{name}: no file")
            continue
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(len(table[1]))
            order = order[: arguments.rows]
            X, y = table[0].iloc[order].reset_index(drop=True), table[1][order]
            for way in arguments.ways:
                if (name, way, seed) in done:
                    continue
                rows = {**WAYS, **DESIGNS}[way](X, y, DATASETS[name])
                if rows is None:
                    continue
                start = time.process_time()
                model = PooledClassifier(random_state=seed)
                found = model.predict_then_learn(rows, y, classes=np.unique(y))
                seconds = time.process_time() - start
                record = {
                    "set": name,
                    "way": way,
                    "seed": seed,
                    "rows": len(y),
                    "error": float(np.mean(found != y)),
                    "seconds": seconds,
                }
                with results.open("a") as file:
                    file.write(json.dumps(record) + "\n")


def read(results: Path) -> list[dict[str, Any]]:
    """Return the results so far."""
    if not results.exists():
        return []
    return [json.loads(line) for line in results.read_text().splitlines()]


def show(arguments: argparse.Namespace) -> None:
    """Print the table of the results."""
    errors: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    rows: dict[str, int] = {}
    for record in read(arguments.results):
        errors[record["set"], record["way"]][record["seed"]] = record["error"]
        rows[record["set"]] = record["rows"]
    compared = {f"native / {way}": ("native", way) for way in ("codes", "one-hot")} | {
        f"{way} / native": (way, "native") for way in arguments.ways if way in DESIGNS
    }
    heads = ["dataset", "rows", *WAYS, *compared]
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads))
    ratios: dict[tuple[bool, str], list[float]] = defaultdict(list)
    for name, given in DATASETS.items():
        if name not in rows:
            continue
        cells = [f"{name}{' (held out)' if given.held_out else ''}", f"{rows[name]:,}"]
        cells += [_mean([*errors[name, way].values()]) for way in WAYS]
        for head, (way, other) in compared.items():
            both = sorted({*errors[name, way]} & {*errors[name, other]})
            if not both:
                cells.append("")
                continue
            logs = [
                np.log(_positive(errors[name, way][seed], rows[name]))
                - np.log(_positive(errors[name, other][seed], rows[name]))
                for seed in both
            ]
            ratios[given.held_out, head].append(float(np.mean(logs)))
            cells.append(f"{np.exp(np.mean(logs)):.3f} ± {_se(logs):.3f}")
        print("| " + " | ".join(cells) + " |")
    for held_out in (False, True):
        sets = "held out" if held_out else "not held out"
        cells = [f"geometric mean, {sets}", "", "", "", ""]
        found = [ratios[held_out, head] for head in compared]
        cells += [f"{np.exp(np.mean(each)):.3f}" if each else "" for each in found]
        print("| " + " | ".join(cells) + " |")


def _positive(error: float, rows: int) -> float:
    """Return an error with half a row added, so that it has a logarithm."""
    return error + 0.5 / rows


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.4f} ± {_se(values):.4f}" if values else ""


def _se(values: list[float]) -> float:
    return (
        float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    )


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "show"))
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--ways", nargs="+", choices=[*WAYS, *DESIGNS], default=[*WAYS])
    parser.add_argument("--sets", nargs="+", choices=DATASETS, default=[*DATASETS])
    parser.add_argument("--results", type=Path, default=Path("categories.jsonl"))
    arguments = parser.parse_args()
    {"run": run, "show": show}[arguments.command](arguments)


if __name__ == "__main__":
    main()
