"""Two versions of the pooled classifier, compared on the same rows and seeds.

So the ratios of their errors vary less than the errors.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from evidence.sources import sources
from peers.worker_process import Worker, worker
from pooled_accuracy import calibration_error
from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.confusion import log_losses

Record = Mapping[str, Any]

PARTS = ("paper", "held out", "drifting", "long")
#: Parts whose data are shuffled datasets, of which `--rows` are taken.
_DATASETS = ("paper", "held out")
THIS, OTHER = "this", "other"
#: Added to errors before ratios are taken, since some are 0.
_LEAST_ERROR = 1e-4
_WORKER = Path(__file__).parents[1] / "versions_worker.py"


def compare(
    folders: Sequence[Any],
    other: str,
    results: Path,
    seeds: int,
    rows: int,
    parts: Sequence[str] | None,
    names: Sequence[str] | None,
) -> None:
    """Run both versions where results are missing, and add a line for each run.

    `folders` are the arguments of `sources`, `other` is the interpreter of the other
    version, `rows` the number of rows of a dataset.
    """
    done = {_key(record) for record in read(results)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = {
            version: stack.enter_context(worker(version, python, _WORKER))
            for version, python in ((THIS, sys.executable), (OTHER, other))
        }
        for seed in range(seeds):
            for source in sources(*folders):
                if source.part not in (parts or PARTS):
                    continue
                if names and source.name not in names:
                    continue
                key = source.part, source.name, seed
                if key in done:
                    continue
                X, y = source.rows(seed, rows if source.part in _DATASETS else None)
                path = folder / "rows.npz"
                np.savez(path, X=X, y=y)
                record: dict[str, Any] = dict(
                    zip(("part", "stream", "seed"), key, strict=True)
                )
                for version, each in workers.items():
                    record[version] = _measured(each, path, y, seed)
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
                errors = [record[version]["error"] for version in workers]
                print(*key, *(f"{error:.4f}" for error in errors), flush=True)


def _measured(version: Worker, path: Path, y: Any, seed: int) -> dict[str, Any]:
    version.request("load", rows=str(path), members=None)
    arrays = version.request("score", learner="Pooled", seed=seed)["arrays"]
    P, wrong = arrays["P"], arrays["labels"] != y
    n = len(y)
    with np.errstate(divide="ignore"):
        calibration = calibration_error(np.log(P), arrays["labels"], y)
    return {
        "rows": n,
        "error": float(wrong.mean()),
        "last_quarter": float(wrong[3 * n // 4 :].mean()),
        "log_loss": float(log_losses(P[np.arange(n), y], n).mean()),
        "calibration": calibration,
        "floor": _floor(P),
    }


def _floor(P: FloatArray) -> float:
    """Return the calibration error of the same probabilities if they were right.

    Labels are drawn from them. It is not zero, since bins have few rows.
    """
    rng = np.random.default_rng(0)
    confidence = P.max(axis=1)
    labels = np.zeros(len(P), np.int64)
    found = []
    with np.errstate(divide="ignore"):
        log_P = np.log(P)
    for _ in range(10):
        drawn = (rng.random(len(P)) >= confidence).astype(np.int64)
        found.append(calibration_error(log_P, labels, drawn))
    return float(np.mean(found))


def read(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file; none without a file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _key(record: Record) -> tuple[Any, ...]:
    return record["part"], record["stream"], record["seed"]


def show(records: Sequence[Record]) -> None:
    """Print ratios of errors by part, probabilities, and streams that became worse."""
    print("| data | streams | error | last quarter | log-loss | calibration error "
          "| its floor |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|")
    for part, found in _by_part(records):
        cells = [_geometric(found, measure) for measure in ("error", "last_quarter")]
        for measure in ("log_loss", "calibration"):
            means = (_mean(found, version, measure) for version in (THIS, OTHER))
            cells.append("{:.4f} ({:.4f})".format(*means))
        cells.append(f"{_mean(found, THIS, 'floor'):.4f}")
        streams = len({record["stream"] for record in found})
        print(f"| {part} | {streams} |", " | ".join(cells), "|")
    for part, found in _by_part(records):
        _print_worse(part, found)


def _by_part(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    for part in PARTS:
        found = [record for record in records if record["part"] == part]
        if found:
            yield part, found


def _ratios(records: Sequence[Record], measure: str) -> dict[str, FloatArray]:
    """Return the logarithms of this / other by stream, one for each seed."""
    found: dict[str, list[float]] = {}
    for record in records:
        this, other = (record[v][measure] + _LEAST_ERROR for v in (THIS, OTHER))
        found.setdefault(record["stream"], []).append(float(np.log(this / other)))
    return {stream: np.array(values) for stream, values in found.items()}


def _geometric(records: Sequence[Record], measure: str) -> str:
    """Return the geometric mean of the ratios, and its standard error over streams."""
    means = [values.mean() for values in _ratios(records, measure).values()]
    ratio = float(np.exp(np.mean(means)))
    if len(means) < 2:
        return f"{ratio:.3f}"
    spread = float(np.std(means, ddof=1) / np.sqrt(len(means)))
    return f"{ratio:.3f} ± {ratio * spread:.3f}"


def _mean(records: Sequence[Record], version: str, measure: str) -> float:
    return float(np.mean([record[version][measure] for record in records]))


def _print_worse(part: str, records: Sequence[Record]) -> None:
    """Print the streams whose error rose by more than two standard errors.

    The standard error is that of the mean difference over the seeds. So few seeds
    exceed two of them by chance as well; the expected number follows Student's t.
    """
    found, seeds = [], set()
    ratios = _ratios(records, "error")
    for stream, logs in ratios.items():
        runs = [record for record in records if record["stream"] == stream]
        gaps = np.array([r[THIS]["error"] - r[OTHER]["error"] for r in runs])
        seeds.add(len(gaps))
        if len(gaps) > 1 and gaps.mean() > 2.0 * np.std(gaps, ddof=1) / np.sqrt(
            len(gaps)
        ):
            error = np.mean([record[OTHER]["error"] for record in runs])
            found.append((float(np.exp(logs.mean())), stream, error, gaps.mean()))
    least = min(seeds)
    if least < 2:
        return
    chance = len(ratios) * float(student.sf(2.0, least - 1))
    print(
        f"\n{part}: {len(found)} of {len(ratios)} worse by more than two standard "
        f"errors ({least} seeds; {chance:.1f} are expected by chance)"
    )
    for ratio, stream, error, gap in sorted(found, reverse=True):
        print(f"- {stream}: {ratio:.3f} ({error:.4f} {gap:+.4f})")
