"""Expected and true error of rows that wait for labels, on drifting streams.

    python benchmarks/waiting_rows.py [--streams FOLDER] [--seeds 3]

Generated streams, and NAME.npz with X and y in FOLDER, if given. Labels come `--delay`
rows late. Every 500 rows the expected error of the rows that wait is compared with the
true one, which is known later. Each line, as mean over seeds (of the draws and of the
learners): stream, learner, error rate of all rows; mean over these windows of |expected
− true|, with its standard error over seeds, and of expected − true; share of windows
whose band contained the true error, of all windows and of those with a forecast; share
of windows with a forecast; mean width of their bands; alarms of inputs, predicted
classes and errors. The last line counts the lines with a mean |expected − true| of at
most 0.02 or a band that contained the true error in at least 95 % of the windows.

    python benchmarks/waiting_rows.py --figure docs/results/figures/waiting-rows.svg

draws the picture of the guide: inputs that leave, generated.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.datasets import streams
from rpnb.evaluate import prequential
from rpnb.evaluate.waiting import WaitingResult
from rpnb.report.charts.svg import standalone
from rpnb.report.sections.late_labels import waiting_panel

HEAD = (
    *("stream", "learner", "error", "difference", "bias", "coverage"),
    *("coverage, known", "known", "width", "alarms"),
)


def generated(rows: int, seed: int = 7) -> Iterator[tuple[str, Any, Any]]:
    """Yield names, rows and labels of generated streams, most of them drifting."""
    made = {
        "mixture (no drift)": streams.mixture(rows, M=3, seed=seed),
        "sea": streams.sea(rows, seed=seed),
        "hyperplane": streams.hyperplane(rows, seed=seed),
        "random_rbf": streams.random_rbf(rows, M=4, seed=seed),
        "led": streams.led(rows, seed=seed),
        "agrawal": streams.agrawal(rows, seed=seed),
    }
    for name, chunks in made.items():
        X, y = map(np.concatenate, zip(*chunks, strict=True))
        yield f"{name}, generated", X, y
    # Inputs that leave those with labels, and a changing class mix.
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, 6)) + 1.2 * y[:, None]
    X[2 * rows // 3 :, 0] += 4.0
    yield "inputs that leave, generated", X, y
    share = np.where(np.arange(rows) < rows // 2, 0.5, 0.1)
    y = (rng.random(rows) < share).astype(int)
    yield "class mix, generated", rng.normal(size=(rows, 6)) + 0.7 * y[:, None], y


def stored(folder: Path, rows: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield names, rows and labels of the streams in a folder."""
    for file in sorted(folder.glob("*.npz")):
        arrays = np.load(file)
        X = np.ascontiguousarray(arrays["X"][:rows], np.float64)
        yield file.stem, X, np.unique(arrays["y"][:rows], return_inverse=True)[1]


def cells(found: WaitingResult) -> tuple[float, ...]:
    """Return the figures of a line, after the error rate."""
    there = ~np.isnan(found.true)
    known = found.known & there
    held = (found.low <= found.true) & (found.true <= found.high)
    return (
        found.difference,
        float(np.nanmean(found.expected - found.true)),
        float(held[there].mean()),
        float(held[known].mean()) if known.any() else float("nan"),
        float(known[there].mean()),
        float((found.high - found.low)[known].mean()) if known.any() else 1.0,
    )


def measure(
    X: Any, y: Any, delay: int, seed: int
) -> Iterator[tuple[str, float, WaitingResult]]:
    """Yield each learner, its error rate, and its estimates for waiting rows."""
    models = {
        "Pooled": PooledClassifier(delay=delay, random_state=seed),
        "RPNB": RPNBClassifier(random_state=seed),
    }
    result = prequential(
        *(models, X, y),
        metrics=["error"],
        delay=delay,
        labels="late",
        references=False,
    )
    for name, found in result.waiting.items():
        yield name, result[name].last("error"), found


def draw(file: Path, rows: int, delay: int) -> None:
    """Draw the stream whose inputs leave, for a learner that is fast.

    A second picture, for narrow screens, has "-narrow" in its name.
    """
    made = {name: (X, y) for name, X, y in generated(rows)}
    result = prequential(
        *(baselines.GaussianNB(), *made["inputs that leave, generated"]),
        delay=delay,
        labels="late",
    )
    found = result.waiting["GaussianNB"]
    for name, width in ((file.stem, 720.0), (f"{file.stem}-narrow", 380.0)):
        panel = waiting_panel("GaussianNB", found, width)
        file.with_stem(name).write_text(standalone(panel), encoding="utf-8")


def main() -> None:
    """Print one line for each stream and learner."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=7)
    parser.add_argument("--delay", type=int, default=1000)
    options = parser.parse_args()
    if options.figure:
        draw(options.figure, options.rows, options.delay)
        return
    print("|", " | ".join(HEAD), "|")
    print("|" + "---|" * len(HEAD))
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for seed in range(options.seeds):
        all_streams = [*generated(options.rows, options.first_seed + seed)]
        if options.streams:
            all_streams += stored(options.streams, options.rows)
        for stream, X, y in all_streams:
            for name, error, result in measure(X, y, options.delay, seed):
                counts = [
                    sum(alarm.what == what for alarm in result.alarms)
                    for what in ("inputs", "predictions", "errors")
                ]
                line = (error, *cells(result), *counts)
                found.setdefault((stream, name), []).append(line)
    met = 0
    for (stream, name), lines in found.items():
        figures = np.nanmean(lines, axis=0)
        spread = ""
        if len(lines) > 1:
            deviation = np.std([line[1] for line in lines], ddof=1)
            spread = f" ± {deviation / np.sqrt(len(lines)):.3f}"
        error_text, difference, *rest = (f"{value:.3f}" for value in figures[:7])
        alarms = "/".join(f"{value:.0f}" for value in figures[7:])
        print(
            f"| {stream} | {name} | {error_text} | {difference}{spread} | "
            f"{' | '.join(rest)} | {alarms} |"
        )
        met += figures[1] <= 0.02 or figures[3] >= 0.95
    print(f"\n{met} of {len(found)} lines: difference ≤ 0.02 or coverage ≥ 0.95")


if __name__ == "__main__":
    main()
