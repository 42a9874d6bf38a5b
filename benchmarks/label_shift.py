"""Label shift: log-loss and error with priors corrected before labels arrive.

    python benchmarks/label_shift.py [--data FOLDER] [--streams FOLDER] [--seeds 3]

Streams whose class mix jumps three times, moves in waves of 6,000 rows, or stays:
Gaussian classes, scikit-learn's digits, and tables NAME.csv.gz in `--data` (the class
in the last column), rows drawn with replacement. `--streams` holds NAME.npz with X and
y in their own order: real changes. Labels come 1,000 rows late, in groups of 100, to a
`PooledClassifier` that knows the delay. Each line, as mean over seeds (of the draws and
of the classifier): log-loss and error of the model; the changes of both, with standard
errors, by the correction as `PriorCorrection` chooses it; the share of rows that it
corrects; and the change of the log-loss if it is always applied in full.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from rpnb import PooledClassifier
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate.waiting.priors import PriorCorrection, corrected

TABLES = ("optdigits", "penbased", "waveform_w_noise", "nursery")
HEAD = (
    *("stream", "log-loss", "error", "log-loss, corrected", "error, corrected"),
    *("rows corrected", "log-loss, always"),
)
GROUP, DELAY = 100, 1000


def mixes(n: int, M: int, kind: str) -> FloatArray:
    """Return the shares (n, M) of the classes at each row of a stream."""
    shares = np.full((n, M), 1.0 / M)
    if kind == "jumps":
        for k in range(1, 4):
            part = slice(k * n // 4, (k + 1) * n // 4)
            shares[part] = 0.3 / (M - 1)
            shares[part, k % M] = 0.7
    elif kind == "waves":
        angles = 2.0 * np.pi * (np.arange(n)[:, None] / 6000 + np.arange(M) / M)
        shares = np.exp(1.5 * np.sin(angles))
        shares /= shares.sum(axis=1, keepdims=True)
    return shares


def drawn(shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return one class for each row."""
    below = shares.cumsum(axis=1) < rng.random(len(shares))[:, None]
    return np.minimum(below.sum(axis=1), shares.shape[1] - 1)


def simulated(
    rows: int, seed: int, folder: Path | None
) -> Iterator[tuple[str, Any, Any]]:
    """Yield streams whose class mix changes, and one whose mix is constant."""
    for kind in ("jumps", "waves", "constant"):
        rng = np.random.default_rng(seed)
        y = drawn(mixes(rows, 3, kind), rng)
        means = rng.normal(0.0, 0.6, (3, 6))
        yield f"Gaussian, {kind}", rng.normal(size=(rows, 6)) + means[y], y
    tables = {"digits": load_digits(return_X_y=True)}
    for name in TABLES if folder else ():
        tables[name] = _table(folder / f"{name}.csv.gz")  # type: ignore[operator]
    for name, (X, y) in tables.items():
        for kind in ("jumps", "waves", "constant"):
            rng = np.random.default_rng(seed)
            labels = drawn(mixes(rows, int(y.max()) + 1, kind), rng)
            places = [np.flatnonzero(y == m) for m in range(int(y.max()) + 1)]
            chosen = [places[m][rng.integers(len(places[m]))] for m in labels]
            yield f"{name}, {kind}", X[chosen].astype(np.float64), labels


def _table(file: Path) -> tuple[Any, Any]:
    """Return a table's features as numbers, and its classes."""
    import pandas as pd  # type: ignore[import-untyped]

    frame = pd.read_csv(file)
    columns = [
        values if values.dtype.kind in "iuf" else pd.factorize(values)[0]
        for _, values in frame.iloc[:, :-1].items()
    ]
    X = np.column_stack(columns).astype(np.float64)
    return X, np.unique(frame.iloc[:, -1], return_inverse=True)[1]


def real(folder: Path, rows: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield the streams in a folder."""
    for file in sorted(folder.glob("*.npz")):
        arrays = np.load(file)
        X = np.ascontiguousarray(arrays["X"][:rows], np.float64)
        yield file.stem, X, np.unique(arrays["y"][:rows], return_inverse=True)[1]


def measure(X: Any, y: Any, model: Any) -> tuple[float, ...]:
    """Return the figures of a line."""
    M = int(y.max()) + 1
    correction = PriorCorrection()
    losses: list[tuple[float, ...]] = []
    for start in range(0, len(y), GROUP):
        known = start - DELAY - GROUP
        if known < 0:
            continue
        late = slice(known, known + GROUP)
        classes = {"classes": np.arange(M)} if known == 0 else {}
        model.partial_fit(X[late], y[late], **classes)
        if known >= DELAY + GROUP:
            first = known - DELAY - GROUP
            correction.add_labelled(np.arange(first, first + GROUP), y[late])
        now, truth = X[start : start + GROUP], y[start : start + GROUP]
        P = model.predict_next_proba(now)
        Q = correction.correct(P)
        ratio = correction._now.log_ratio
        A = P if ratio is None else corrected(P, ratio, 1.0)
        places = np.arange(len(truth)), truth
        losses += zip(
            *(_log_loss(each[places]) for each in (P, Q, A)),
            *(each.argmax(axis=1) != truth for each in (P, Q)),
            (P != Q).any(axis=1),
            strict=True,
        )
    mean = np.mean(np.array(losses, np.float64), axis=0)
    loss, chosen, always, error, after, used = mean.tolist()
    return loss, error, chosen - loss, after - error, used, always - loss


def _log_loss(p: FloatArray) -> list[float]:
    return (-np.log(np.maximum(p, 1e-6))).tolist()


def main() -> None:
    """Print one line for each stream."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("|", " | ".join(HEAD), "|")
    print("|" + "---|" * len(HEAD))
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(options.seeds):
        streams = [*simulated(options.rows, 11 + seed, options.data)]
        if options.streams:
            streams += real(options.streams, options.rows)
        for name, X, y in streams:
            model = PooledClassifier(delay=DELAY, random_state=seed)
            found.setdefault(name, []).append(measure(X, y, model))
    for name, lines in found.items():
        loss, error, added, fewer, used, always = np.mean(lines, axis=0)
        spread = [""] * 6
        if len(lines) > 1:
            errors = np.std(lines, axis=0, ddof=1) / np.sqrt(len(lines))
            spread = [f" ± {value:.4f}" for value in errors]
        print(
            f"| {name} | {loss:.4f} | {error:.4f} | {added:+.4f}{spread[2]} | "
            f"{fewer:+.4f}{spread[3]} | {used:.2f} | {always:+.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
