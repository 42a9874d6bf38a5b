"""Ablation of the pooled classifier: each part is left out or replaced.

    cd benchmarks
    python pooled_ablation.py run --packages DIR --data DIR --files DIR --long [DIR ...]
    python pooled_ablation.py show

The folders are those of `python -m evidence`. Results are lines of JSON in `--results`;
finished runs are not repeated. The classes of a stream are known from its first row.
Members are independent of each other, so they score each stream once, and only the pool
is run again without one of them. With another number of projections, only the members
that use these score again. `--names` selects some of the data.

`show` prints three tables. The first has, for each setting, the geometric mean of the
ratios of its errors to those of the full classifier with the same seeds, minus 1, in
percent, with its standard error over the data: + is worse. The columns are the paper's
datasets, those of them with more than 32 features, the drifting streams, the held-out
datasets, the long streams, and rows in time order whose labels are autocorrelated. The
second table has the errors of the last quarter of the rows, and the µs per row on long
streams: processor time of the members, the projections and the pool. The third has the
mean log-loss of each setting, and its mean calibration error. Below is how many streams
are worse or better by more than 1 % and two standard errors over the seeds, then the
calibration errors of the full pool, and those of perfectly calibrated probabilities,
with labels drawn from them: they are not zero, since bins have few rows.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evidence.packages import Rows
from evidence.sources import sources
from pooled_accuracy import calibration_error
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled import pool as pooling
from rpnb.core.pooled.model import MEMBERS, first_weights, new_model

_USUAL = "as it is"
#: Members that are left out together: each of them pays on few streams.
_JOINT = (
    ("transitions", "binned_bayes"),
    ("neighbours", "binned_bayes"),
    ("transitions", "binned_bayes", "fading_covariance"),
)
_WIDE = 32
_BLOCK = 2048
_PROJECTIONS = 512
# Members that read the projections, `phi`.
_PROJECTED = ("shared_covariance", "fading_covariance")
# Rows that members learn at once, and labelled rows after which the scale is fixed.
_CHUNK = 256
_LAST_SCALE = 256
# Sets of drawn labels for the calibration error of perfect probabilities.
_DRAWS = 20
GROUPS = (
    "datasets",
    "wide datasets",
    "streams",
    "held out",
    "long streams",
    "time order",
)
_PARTS = {
    "paper": "datasets",
    "drifting": "streams",
    "held out": "held out",
    "long": "long streams",
    "runs": "time order",
}


class Task(NamedTuple):
    """A stream of one seed."""

    group: str
    name: str
    seed: int
    rows: Rows


def settings() -> dict[str, tuple[list[str], int]]:
    """Return members and projections of each setting; the first is the usual one."""
    found = {_USUAL: (list(MEMBERS), _PROJECTIONS)}
    for left_out in (*((name,) for name in MEMBERS), *_JOINT):
        rest = [name for name in MEMBERS if name not in left_out]
        found[f"without {', '.join(left_out)}"] = rest, _PROJECTIONS
    found["256 projections"] = list(MEMBERS), 256
    found["1,024 projections"] = list(MEMBERS), 1024
    found["2,048 projections"] = list(MEMBERS), 2048
    return found


def tasks(options: argparse.Namespace) -> Iterator[Task]:
    """Yield the streams, seed by seed, so that a stopped run has results for some."""
    found = sources(options.packages, options.data, options.files, options.long)
    for seed in range(options.seeds):
        for source in found:
            if options.names and source.name not in options.names:
                continue
            if source.part in _PARTS and not source.name.endswith("_change"):
                X, y = source.rows(seed)
                most = options.rows if source.shuffled else options.stream_rows
                if source.part == "long":
                    most = options.long_rows
                rows = X[:most], y[:most]
                yield Task(_PARTS[source.part], source.name, seed, rows)


class Scored(NamedTuple):
    """Scores of some members on a stream."""

    scores: dict[str, FloatArray]
    """scores (n, M) of each output, before each row is learned"""
    seconds: dict[str, float]
    """seconds of each member, and of `features`: scaling and projecting"""


def score(
    X: FloatArray, y: IntArray, seed: int, D: int, names: Sequence[str]
) -> Scored:
    """Let members score and learn rows, as `PooledModel.run` does."""
    n, M = len(y), int(y.max()) + 1
    active, ones = np.ones(M, np.bool_), np.ones(n)
    model = new_model(names, X.shape[1], D, 0, active, seed)
    scale, shape = model.scale, model.shape
    members = dict(zip(model.names, model.states, strict=True))
    scores = {output: np.zeros((n, M)) for output in model.outputs}
    seconds: dict[str, float] = defaultdict(float)

    def prepare(raw: FloatArray, labels: IntArray) -> tuple[Any, ...]:
        start = time.thread_time()
        z = np.empty(raw.shape, np.float32)
        scale.scale_rows(raw, labels, ones[: len(labels)], z)
        phi = np.empty((len(raw), shape.E), np.float32)
        low = np.empty((len(raw), shape.d), np.float32)
        model.features.fill(z, phi, low)
        seconds["features"] += time.thread_time() - start
        return raw, z, low, phi

    done, next_scale = 0, 2
    while done < n:
        stop = min(done + _CHUNK, next_scale, n)
        part = slice(done, stop)
        rows = prepare(X[part], y[part])
        for name, state in members.items():
            outputs = MEMBERS[name].OUTPUTS
            own = np.zeros((stop - done, len(outputs), M))
            start = time.thread_time()
            state.learn_rows(*rows, y[part], ones[part], own)
            seconds[name] += time.thread_time() - start
            for k, output in enumerate(outputs):
                scores[output][part] = own[:, k]
        done = stop
        if stop != next_scale:
            continue
        # The scale is recomputed, and everything that depends on it restarts.
        scale.fit_all()
        rows = prepare(X[:stop], y[:0])
        for name, state in members.items():
            module = MEMBERS[name]
            if module.USES_SCALE:
                fresh = state.begin_again(shape, active, seed)
                nothing = np.zeros((0, len(module.OUTPUTS), M))
                fresh.learn_rows(*rows, y[:stop], ones[:stop], nothing)
                members[name] = fresh
        next_scale = 2 * stop if stop < _LAST_SCALE else n + 1
    return Scored(scores, dict(seconds))


def score_again(X: FloatArray, y: IntArray, seed: int, D: int, usual: Scored) -> Scored:
    """Score with another number of projections; other members keep their scores."""
    projected = score(X, y, seed, D, _PROJECTED)
    return Scored(usual.scores | projected.scores, usual.seconds | projected.seconds)


def measure(
    outputs: Sequence[str], scores: dict[str, FloatArray], y: IntArray
) -> tuple[dict[str, float], FloatArray]:
    """Return errors, log-loss and seconds of a pool, and its log-probabilities."""
    n, M = len(y), scores[outputs[0]].shape[1]
    pool = pooling.begin(first_weights(outputs), np.ones(M, np.bool_))
    chosen, logs = np.empty(n, np.int64), np.empty((n, M))
    seconds = 0.0
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        block = np.stack([scores[output][part] for output in outputs], axis=1)
        weight = np.ones(len(block))
        begun = time.thread_time()
        pooling.pool_rows(
            pool, block, y[part], weight, chosen[part], logs[part], block[:0]
        )
        seconds += time.thread_time() - begun
    wrong = chosen != y
    late = wrong[3 * n // 4 :]
    found = {
        # Half a row is added, so that the logarithm is finite.
        "error": float((wrong.sum() + 0.5) / n),
        "late": float((late.sum() + 0.5) / len(late)),
        "loss": float(-np.maximum(logs[np.arange(n), y], np.log(1e-12)).mean()),
        "calibration": calibration_error(logs, chosen, y),
        "seconds": seconds,
    }
    return found, logs


def least_calibration_error(logs: FloatArray, rng: np.random.Generator) -> float:
    """Return the mean calibration error if labels are drawn from the probabilities."""
    most = logs.max(axis=1, keepdims=True)
    confidence = np.exp(most[:, 0])
    ones = np.ones(len(most), np.int64)
    drawn = ((rng.random(len(most)) < confidence).astype(int) for _ in range(_DRAWS))
    return float(np.mean([calibration_error(most, right, ones) for right in drawn]))


def run(options: argparse.Namespace) -> None:
    """Run all cases without a result."""
    done = {
        (r["group"], r["name"], r["seed"], r["setting"]) for r in read(options.results)
    }
    for task in tasks(options):
        X, y = np.ascontiguousarray(task.rows[0], np.float64), task.rows[1]
        y = np.ascontiguousarray(y, np.int64)
        scored: dict[int, Scored] = {}
        for setting, (names, D) in settings().items():
            if options.settings and setting not in options.settings:
                continue
            if (*task[:3], setting) in done:
                continue
            if not scored:
                usual = score(X, y, task.seed, _PROJECTIONS, list(MEMBERS))
                scored[_PROJECTIONS] = usual
            if D not in scored:
                scored = {_PROJECTIONS: usual}
                scored[D] = score_again(X, y, task.seed, D, usual)
            kept = [name for name in names if name in scored[D].seconds]
            outputs = [output for name in kept for output in MEMBERS[name].OUTPUTS]
            found, logs = measure(outputs, scored[D].scores, y)
            found["seconds"] += sum(scored[D].seconds[name] for name in kept)
            found["seconds"] += scored[D].seconds["features"]
            if setting == _USUAL:
                rng = np.random.default_rng(task.seed)
                found["floor"] = least_calibration_error(logs, rng)
            record = {"group": task.group, "name": task.name, "seed": task.seed}
            record |= {"setting": setting, "features": X.shape[1], "rows": len(y)}
            print(json.dumps(record | found), flush=True)
            with options.results.open("a") as file:
                file.write(json.dumps(record | found) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the results so far."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def show(options: argparse.Namespace) -> None:
    """Print the tables."""
    found: dict[str, dict[tuple[str, str], list[dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for record in read(options.results):
        if not options.names or record["name"] in options.names:
            found[record["setting"]][record["group"], record["name"]].append(record)
    usual = found[_USUAL]
    for figure, title in (("error", "setting"), ("late", "last quarter")):
        more = " µs per row |" if figure == "late" else ""
        print(f"| {title} |", " | ".join(GROUPS), "|" + more)
        print("|---|" + "---|" * (len(GROUPS) + bool(more)))
        for setting, streams in found.items():
            ratios: dict[str, list[float]] = defaultdict(list)
            for key, records in streams.items():
                seeds = {record["seed"] for record in records}
                same = [record for record in usual[key] if record["seed"] in seeds]
                ratio = np.log(mean_of(records, figure) / mean_of(same, figure))
                ratios[key[0]].append(ratio)
                if key[0] == "datasets" and records[0]["features"] > _WIDE:
                    ratios["wide datasets"].append(ratio)
                if options.each:
                    print(f"{setting} {key[1]}: {np.exp(ratio):.3f}")
            cells = " | ".join(cell(ratios[group]) for group in GROUPS)
            cost = f" {cost_of(streams):.1f} |" if more else ""
            print(f"| {setting} | {cells} |{cost}")
        print()
    print("| setting | streams | log-loss | calibration error |")
    print("|---|--:|--:|--:|")
    for setting, streams in found.items():
        means = [
            np.mean([mean_of(records, key) for records in streams.values()])
            for key in ("loss", "calibration")
        ]
        cells = " | ".join(f"{mean:.4f}" for mean in means)
        print(f"| {setting} | {len(streams)} | {cells} |")
    for setting, streams in found.items():
        if setting != _USUAL:
            worse, better = clear_changes(streams, usual)
            print(f"{setting}: {worse} of {len(streams)} worse, {better} better")
    for group in dict.fromkeys(key[0] for key in usual):
        some = [records for key, records in usual.items() if key[0] == group]
        off, floor = (
            np.mean([mean_of(records, key) for records in some])
            for key in ("calibration", "floor")
        )
        print(f"{group}: calibration error {off:.4f}, if calibrated {floor:.4f}")


def clear_changes(
    streams: dict[tuple[str, str], list[dict[str, Any]]],
    usual: dict[tuple[str, str], list[dict[str, Any]]],
) -> tuple[int, int]:
    """Return how many streams are worse and better than usual beyond noise.

    By more than 1 %, and two standard errors over the seeds.
    """
    worse = better = 0
    for key, records in streams.items():
        before = {record["seed"]: record["error"] for record in usual[key]}
        logs = [np.log(record["error"] / before[record["seed"]]) for record in records]
        if len(logs) > 1:
            least = max(0.01, 2.0 * np.std(logs, ddof=1) / np.sqrt(len(logs)))
            worse += int(np.mean(logs) > least)
            better += int(np.mean(logs) < -least)
    return worse, better


def cost_of(streams: dict[tuple[str, str], list[dict[str, Any]]]) -> float:
    """Return the mean of µs per row over the long streams."""
    costs = [
        1e6 * mean_of(records, "seconds") / mean_of(records, "rows")
        for (group, _), records in streams.items()
        if group == "long streams"
    ]
    return float(np.mean(costs)) if costs else float("nan")


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
    for folder in ("--packages", "--data", "--files"):
        parser.add_argument(folder, type=Path)
    parser.add_argument("--long", type=Path, nargs="*")
    parser.add_argument("--results", type=Path, default=Path("pooled_ablation.jsonl"))
    parser.add_argument("--settings", nargs="*", help="only these")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2500, help="of a dataset")
    parser.add_argument("--stream-rows", type=int, default=100_000)
    parser.add_argument("--long-rows", type=int, default=50_000)
    parser.add_argument("--names", nargs="*", help="only these data")
    parser.add_argument("--each", action="store_true", help="also print every stream")
    options = parser.parse_args()
    (run if options.action == "run" else show)(options)


if __name__ == "__main__":
    main()
