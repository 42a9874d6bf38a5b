"""Quality of probabilities and prediction sets, test then train.

    python benchmarks/trust.py --data FOLDER --streams FOLDER [--rows N] [--peers]

`--data` holds NAME.csv.gz, a header and the label last, whose rows are permuted once;
`--streams` holds NAME.npz with X and y, in their own order. The mixture of Gaussians of
the paper is drawn in addition. Each line has the log-loss, Brier score and calibration
error (ten bins) of the probabilities predicted before each row was learned: with
temperature K, with the best fixed temperature among K·2^g, g = −9 … 10 (by log-loss, in
hindsight), and with a temperature learned online; then coverage and mean size of the 90
% prediction sets. `--peers` adds scikit-learn's GaussianNB and River's Hoeffding tree,
which take much longer. `--speed` prints instead µs of processor time per row of
`predict_then_learn`, with the temperature fixed, learned, and learned with
`return_proba`, and the ratios of the second and the third to the first: medians of
`--repeats` turns, of which the first does not count.
"""

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pooled_accuracy import read_stream, read_table
from rpnb import RPNBClassifier
from rpnb.core.conformal import new_thresholds
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.passes.engine import run_scored
from rpnb.datasets.drawn import gaussian_mixture
from rpnb.estimators.protocol import initialise
from rpnb.estimators.trust.sets import following_sets

_EPS = float(np.finfo(np.float64).eps)
_BINS = 10
_COVERAGE = 0.9
# Besides the paper's 33 datasets and six streams generated with a known drift: the true
# Monk-2, and two streams of measurements.
_FURTHER = {"monk_2_uci", "~elec2", "~weather"}


class Figures(NamedTuple):
    """Log-loss, Brier score and calibration error."""

    log_loss: float
    brier: float
    calibration: float

    def __str__(self) -> str:
        return f"{self.log_loss:6.3f} {self.brier:5.3f} {self.calibration:5.3f}"


def figures_of(P: FloatArray, y: IntArray) -> Figures:
    """Return the figures of probabilities (n, M) for rows of classes y."""
    rows = np.arange(len(y))
    truth = P[rows, y]
    brier = (P * P).sum(axis=1) - 2.0 * truth + 1.0
    confidence, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((confidence * _BINS).astype(np.int64), _BINS - 1)
    gap = np.abs(np.bincount(bins, confidence - right, _BINS)).sum()
    loss = -np.log(np.maximum(truth, _EPS)).mean()
    return Figures(float(loss), float(brier.mean()), float(gap / len(y)))


def softmax(scores: FloatArray, T: float) -> FloatArray:
    """Return the probabilities of scores (n, M) at a temperature."""
    P = np.exp((scores - scores.max(axis=1, keepdims=True)) / T)
    total: FloatArray = P.sum(axis=1, keepdims=True)
    return P / total


def scores_before(X: FloatArray, y: IntArray, M: int) -> FloatArray:
    """Return the scores (n, M) of rows before each was learned."""
    model = RPNBClassifier(temperature=None, random_state=0)
    initialise(model, X.shape[1], np.arange(M))
    out, labels = np.empty((len(y), M)), np.empty(len(y), np.int64)
    run_scored(model._state, X, y, np.ones(1), 1, labels, out)
    return out


def rpnb_line(X: FloatArray, y: IntArray) -> tuple[list[Figures], float, float]:
    """Return figures with T = K, the best T and "auto"; coverage and size of sets."""
    M = int(y.max()) + 1
    scores = scores_before(X, y, M)
    fixed = [figures_of(softmax(scores, 200.0 * 2.0**g), y) for g in range(-9, 11)]
    model = RPNBClassifier(random_state=0)
    initialise(model, X.shape[1], np.arange(M))
    _, P = model.predict_then_learn(X, y, return_proba=True)
    sets = following_sets(P, y, new_thresholds(), _COVERAGE)
    covered = float(sets[np.arange(len(y)), y].mean())
    best = min(fixed, key=lambda figures: figures.log_loss)
    found = [fixed[9], best, figures_of(P, y)]
    return found, covered, float(sets.sum(axis=1).mean())


def naive_bayes(X: FloatArray, y: IntArray, M: int) -> FloatArray:
    """Return the probabilities of scikit-learn's GaussianNB before each row."""
    from sklearn.naive_bayes import GaussianNB

    model, P = GaussianNB(), np.full((len(y), M), 1.0 / M)
    for i in range(len(y)):
        if i > 0:
            with np.errstate(all="ignore"):
                given = model.predict_proba(X[i : i + 1])[0]
            # After one row all variances are zero, and it returns NaN: no prediction.
            if np.isfinite(given).all():
                P[i] = given
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.arange(M))
    return P


def hoeffding_tree(X: FloatArray, y: IntArray, M: int) -> FloatArray:
    """Return the probabilities of River's Hoeffding tree before each row."""
    from river.tree import HoeffdingTreeClassifier

    model: Any = HoeffdingTreeClassifier()
    P = np.zeros((len(y), M))
    for i, (x, m) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row = dict(enumerate(x))
        given = model.predict_proba_one(row)
        P[i] = [given.get(k, 0.0) for k in range(M)] if given else 1.0 / M
        model.learn_one(row, m)
    return P


def sources(data: Path | None, streams: Path | None, rows: int) -> Any:
    """Yield name, rows and classes of all datasets and streams."""
    if data is not None:
        for path in sorted(data.glob("*.csv.gz")):
            X, y = read_table(path)
            order = np.random.default_rng(0).permutation(len(y))[:rows]
            yield path.name.removesuffix(".csv.gz"), X[order], y[order]
        drawn, labels = gaussian_mixture(np.random.default_rng(0))
        y = np.unique(labels, return_inverse=True)[1]
        yield "gm", np.ascontiguousarray(drawn, np.float64), y
    if streams is not None:
        for path in sorted(streams.glob("*.npz")):
            X, y = read_stream(path)
            yield "~" + path.stem, X[:rows], y[:rows]


def print_speed(name: str, X: FloatArray, y: IntArray, repeats: int) -> None:
    """Print processor time per row: temperature fixed, learned, with probabilities.

    The first two take turns, and their ratio is the median over the turns.
    """

    def used(temperature: Any, proba: bool) -> float:
        model = RPNBClassifier(temperature=temperature, random_state=0)
        initialise(model, X.shape[1], np.unique(y))
        start = time.process_time()
        if proba:
            model.predict_then_learn(X, y, return_proba=True)
        else:
            model.predict_then_learn(X, y)
        return (time.process_time() - start) / len(y) * 1e6

    # The first turn, which reads code and data into memory, does not count.
    turns = np.array([(used(None, False), used("auto", False)) for _ in range(repeats)])
    fixed, learned = np.median(turns[1:], axis=0)
    ratio = np.median(turns[1:, 1] / turns[1:, 0])
    proba = np.median([used("auto", True) for _ in range(3)])
    print(
        f"{name:18}{len(y):7} {fixed:8.2f} {learned:8.2f} {proba:8.2f} µs "
        f"{ratio:6.2f} {proba / fixed:6.2f}",
        flush=True,
    )


def main() -> None:
    """Print one line per dataset and stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--streams", type=Path)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    lines = []
    within = long = 0
    for name, X, y in sources(given.data, given.streams, given.rows):
        if given.only and name not in given.only:
            continue
        if given.speed:
            print_speed(name, X, y, given.repeats)
            continue
        (at_K, best, auto), covered, size = rpnb_line(X, y)
        line = (
            f"{name:18}{len(y):7} | {at_K} | {best} | {auto} | {covered:.3f} {size:.2f}"
        )
        if given.peers:
            M = int(y.max()) + 1
            line += f" | {figures_of(naive_bayes(X, y, M), y)}"
            line += f" | {figures_of(hoeffding_tree(X, y, M), y)}"
        print(line, flush=True)
        near = auto.log_loss <= 1.02 * best.log_loss
        lines.append((name, near, auto.calibration <= 0.06))
        long += len(y) >= 5000
        within += len(y) >= 5000 and abs(covered - _COVERAGE) <= 0.01
    if lines:
        print_counts("all", lines)
        print_counts(
            f"without {', '.join(sorted(_FURTHER))}",
            [line for line in lines if line[0] not in _FURTHER],
        )
        print(f"coverage within 0.01 on 5,000 rows and more: {within} of {long}")


def print_counts(which: str, lines: list[tuple[str, bool, bool]]) -> None:
    """Print the number of lines whose probabilities are as good as required."""
    for wish, column in (
        ("log-loss at most 1.02 of the best temperature's", 1),
        ("calibration error at most 0.06", 2),
    ):
        missed = [str(line[0]) for line in lines if not line[column]]
        n = len(lines)
        print(f"{which}: {wish}: {n - len(missed)} of {n}; not {', '.join(missed)}")


if __name__ == "__main__":
    main()
