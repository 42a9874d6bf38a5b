"""What each part of the pooled classifier is worth: it is left out, or made otherwise.

    cd benchmarks
    python pooled_ablation.py run --data DIR --streams DIR --keel DIR [--long DIR]
    python pooled_ablation.py show

The folders are those of `python -m pooled_evidence`, and of `long_streams.py`, whose
generated streams need none. Results are lines of JSON in `--results`; what is there is
not run again. The classes of a stream are known from its first row.

`show` prints two tables. For each setting: the geometric mean of its errors over those
of the classifier as it is, minus 1, in per cent, with the standard error of that mean
over the data: + is worse. The columns are the paper's datasets, those of them with more
than 32 features, the drifting streams, the held-out datasets, and the long streams.
Then the mean log-loss and the mean calibration error of each setting.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import long_streams
from pooled_accuracy import calibration_error
from pooled_evidence.sources import Rows, sources
from rpnb import PooledClassifier
from rpnb.core.pooled.model import MEMBERS

_WIDE = 32
_BLOCK = 2048
GROUPS = ("datasets", "wide datasets", "streams", "held out", "long streams")
_PARTS = {"permutations": "datasets", "streams": "streams", "aside": "held out"}


class Task(NamedTuple):
    """A stream of one seed."""

    group: str
    name: str
    seed: int
    rows: Rows


def settings() -> dict[str, dict[str, Any]]:
    """Return the parameters of each setting by its name; the first is the usual one."""
    found: dict[str, dict[str, Any]] = {"as it is": {}}
    for name in MEMBERS:
        rest = [other for other in MEMBERS if other != name]
        found[f"without {name}"] = {"members": rest}
    found["256 projections"] = {"n_projections": 256}
    found["1,024 projections"] = {"n_projections": 1024}
    return found


def tasks(options: argparse.Namespace) -> Iterator[Task]:
    """Yield the streams, seed after seed, so that a run that is stopped has some."""
    for seed in range(options.seeds):
        for source in sources(options.data, options.streams, options.keel):
            if source.part in _PARTS:
                X, y = source.rows(seed)
                most = options.rows if source.shuffled else options.stream_rows
                rows = X[:most], y[:most]
                yield Task(_PARTS[source.part], source.name, seed, rows)
        folders = [options.long] if options.long else []
        for name, load in long_streams.streams(folders, options.long_rows, seed):
            if not name.endswith("_change"):
                yield Task("long streams", name, seed, load())


def measure(parameters: dict[str, Any], task: Task) -> dict[str, float]:
    """Return the error of a setting, its log-loss and its calibration error."""
    X, y = task.rows
    model = PooledClassifier(**parameters, random_state=task.seed)
    classes = np.arange(int(y.max()) + 1)
    labels, parts = [], []
    for start in range(0, len(y), _BLOCK):
        block = slice(start, start + _BLOCK)
        found, P = model.predict_then_learn(
            X[block], y[block], classes, return_proba=True
        )
        labels.append(found)
        parts.append(P)
    chosen, P = np.concatenate(labels), np.maximum(np.concatenate(parts), 1e-12)
    return {
        # Half a row more, so that no logarithm is of zero.
        "error": float((np.sum(chosen != y) + 0.5) / len(y)),
        "loss": float(-np.log(P[np.arange(len(y)), y]).mean()),
        "calibration": calibration_error(np.log(P), chosen, y),
    }


def run(options: argparse.Namespace) -> None:
    """Run what is missing."""
    done = {
        (r["group"], r["name"], r["seed"], r["setting"])
        for r in long_streams.read_results(options.results)
    }
    for task in tasks(options):
        for setting, parameters in settings().items():
            if options.settings and setting not in options.settings:
                continue
            if (*task[:3], setting) in done:
                continue
            record = {"group": task.group, "name": task.name, "seed": task.seed}
            record |= {"setting": setting, "features": task.rows[0].shape[1]}
            record |= measure(parameters, task)
            print(json.dumps(record), flush=True)
            with options.results.open("a") as file:
                file.write(json.dumps(record) + "\n")


def show(options: argparse.Namespace) -> None:
    """Print the tables of what was measured."""
    found: dict[str, dict[tuple[str, str], list[dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in long_streams.read_results(options.results):
        found[record["setting"]][record["group"], record["name"]].append(record)
    usual = found["as it is"]
    print("| setting |", " | ".join(GROUPS), "|")
    print("|---|" + "---|" * len(GROUPS))
    for setting, streams in found.items():
        ratios: dict[str, list[float]] = defaultdict(list)
        for key, records in streams.items():
            ratio = np.log(mean_of(records, "error") / mean_of(usual[key], "error"))
            ratios[key[0]].append(ratio)
            if key[0] == "datasets" and records[0]["features"] > _WIDE:
                ratios["wide datasets"].append(ratio)
            if options.each:
                print(f"{setting} {key[1]}: {np.exp(ratio):.3f}")
        print(f"| {setting} |", " | ".join(cell(ratios[g]) for g in GROUPS), "|")
    print("\n| setting | streams | log-loss | calibration error |\n|---|--:|--:|--:|")
    for setting, streams in found.items():
        loss, off = (
            np.mean([mean_of(records, key) for records in streams.values()])
            for key in ("loss", "calibration")
        )
        print(f"| {setting} | {len(streams)} | {loss:.4f} | {off:.4f} |")


def mean_of(records: list[dict[str, Any]], key: str) -> float:
    """Return the mean of a figure over seeds."""
    return float(np.mean([record[key] for record in records]))


def cell(logs: list[float]) -> str:
    """Return the geometric mean of ratios as a change, with its standard error."""
    if len(logs) < 2:
        return "—"
    error = np.std(logs, ddof=1) / np.sqrt(len(logs))
    return f"{np.expm1(np.mean(logs)):+.1%} ± {error:.1%}"


def main() -> None:
    """Run or show, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("action", choices=("run", "show"))
    for folder in ("--data", "--streams", "--keel", "--long"):
        parser.add_argument(folder, type=Path)
    parser.add_argument("--results", type=Path, default=Path("pooled_ablation.jsonl"))
    parser.add_argument("--settings", nargs="*", help="only these")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2500, help="of a dataset")
    parser.add_argument("--stream-rows", type=int, default=100_000)
    parser.add_argument("--long-rows", type=int, default=50_000)
    parser.add_argument("--each", action="store_true", help="show every stream, too")
    options = parser.parse_args()
    (run if options.action == "run" else show)(options)


if __name__ == "__main__":
    main()
