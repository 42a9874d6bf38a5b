"""Oracles: metrics from the whole history, and events processed one by one."""

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics as reference
from sklearn.base import BaseEstimator

from rpnb.core.kernels.arrays import FloatArray


def measure(
    name: str,
    truth: Sequence[Any],
    predicted: Sequence[Any],
    weight: FloatArray,
    probability: FloatArray | None = None,
    first: int = 0,
) -> float:
    """A metric of the rows from `first` on, by scikit-learn where it has it.

    The true class of the row before is looked up in the history.
    """
    t = [str(label) for label in truth][first:]
    a = [str(label) for label in predicted][first:]
    w = weight[first:]
    right = np.array([x == y for x, y in zip(t, a, strict=True)])
    labels = sorted(({*t, *a}) - {"None"})
    if name == "accuracy":
        return float(reference.accuracy_score(t, a, sample_weight=w))
    if name == "error":
        return float(reference.zero_one_loss(t, a, sample_weight=w))
    if name == "macro_f1":
        return float(
            reference.f1_score(
                t, a, labels=labels, average="macro", sample_weight=w, zero_division=0.0
            )
        )
    if name == "balanced_accuracy":
        recalls = [
            float(w[here & right].sum() / w[here].sum())
            for here in (np.array(t) == label for label in sorted(set(t)))
        ]
        return float(np.mean(recalls))
    if name == "kappa":
        everything = sorted({*t, *a})
        if len(everything) == 1:
            return float("nan")
        return float(
            reference.cohen_kappa_score(t, a, labels=everything, sample_weight=w)
        )
    if name == "kappa_temporal":
        before = [None, *truth][first : first + len(t)]
        same = np.array([x == y for x, y in zip(truth[first:], before, strict=True)])
        plain = float(np.average(same, weights=w))
        p = float(np.average(right, weights=w))
        return (p - plain) / (1.0 - plain) if plain < 1.0 else float("nan")
    assert probability is not None
    P = probability[first:]
    if name == "brier":
        return float(np.average((1.0 - P) ** 2, weights=w))
    if name == "coverage":
        return float(np.average(P > 0.5, weights=w))
    if name == "calibration_error":
        group = np.minimum(np.floor(10.0 * P), 9.0)
        # A row without a prediction has no probability of it.
        group[[label == "None" for label in a]] = -1
        return sum(
            float(abs((w * (P - right))[group == g].sum() / w.sum())) for g in range(10)
        )
    if name == "auc":
        given = [
            {c: float(p * (k + 2) % 1.0) for k, c in enumerate("abcde")} for p in P
        ]
        return auc(t, given, w)
    if name in ("average_precision", "best_f1"):
        given = [
            {c: float(p * (k + 2) % 1.0) for k, c in enumerate("abcde")} for p in P
        ]
        return at_thresholds(name, t, given, w)
    assert name == "log_loss"
    losses = -np.log(np.maximum(probability[first:], np.finfo(float).eps))
    return float(np.average(losses, weights=w))


def score_bin(p: float) -> tuple[int, int, int]:
    """Return what orders probabilities by their bins: halvings of s, and a sixteenth.

    s is the distance from 0 or 1, whichever is nearer; the first number says which.
    """
    s, halvings = min(p, 1.0 - p), 0
    if s < 2.0**-33:
        return (1, 99, 0) if p > 0.5 else (-1, -99, 0)
    while s < 0.5:
        s, halvings = 2.0 * s, halvings + 1
    sixteenth = int((s - 0.5) * 32)
    if p == 0.5:
        return (0, 0, 0)
    return (1, halvings, -sixteenth) if p > 0.5 else (-1, -halvings, sixteenth)


def auc(
    truth: Sequence[Any], given: Sequence[dict[Any, float]], weight: FloatArray
) -> float:
    """Return the mean over classes of the share of pairs in the right order.

    A pair is a row of the class and a row of another; a tie of bins counts as a half.
    Slow: all pairs of rows.
    """
    areas = []
    for label in dict.fromkeys(truth):
        wins = pairs = 0.0
        for i, a in enumerate(truth):
            for j, b in enumerate(truth):
                if a == label != b:
                    own = score_bin(given[i].get(label, 0.0))
                    other = score_bin(given[j].get(label, 0.0))
                    pair = weight[i] * weight[j]
                    pairs += pair
                    wins += pair * (1.0 if own > other else 0.5 * (own == other))
        if pairs > 0.0:
            areas.append(wins / pairs)
    return float(np.mean(areas)) if areas else float("nan")


def at_thresholds(
    name: str,
    truth: Sequence[Any],
    given: Sequence[dict[Any, float]],
    weight: FloatArray,
) -> float:
    """Return "average_precision" or "best_f1" by scikit-learn, of ranks of the bins.

    Of two classes that of the rarer one, of more the mean.
    """
    there = dict.fromkeys(truth)
    if len(there) < 2:
        return float("nan")
    w = np.asarray(weight)[: len(truth)]
    rows = {label: w[np.array(truth) == label].sum() for label in there}
    found = {}
    for label in there:
        own = np.array([label == each for each in truth])
        bins = [score_bin(each.get(label, 0.0)) for each in given]
        ranks = np.array([sorted(set(bins)).index(each) for each in bins])
        if name == "average_precision":
            found[label] = reference.average_precision_score(
                own, ranks, sample_weight=w
            )
        else:
            found[label] = max(
                reference.f1_score(own, ranks >= rank, sample_weight=w)
                for rank in set(ranks.tolist())
            )
    if len(found) == 2 and len(set(rows.values())) == 2:
        return float(found[min(rows, key=lambda label: rows[label])])
    return float(np.mean(list(found.values())))


def process(
    predict: Callable[[int], Any],
    learn: Callable[[int], None],
    moment: Sequence[Any],
    arrival: Sequence[Any],
    *,
    leftover: bool = True,
) -> list[Any]:
    """Predict and learn rows one by one, as labels arrive; inf is never."""
    heap: list[tuple[Any, int]] = []
    predictions = []
    for t, now in enumerate(moment):
        while heap and heap[0][0] <= now:
            learn(heapq.heappop(heap)[1])
        predictions.append(predict(t))
        if arrival[t] != np.inf:
            heapq.heappush(heap, (arrival[t], t))
    # Labels that came with the last row have arrived; the rest is left over.
    while heap and (leftover or heap[0][0] <= moment[-1]):
        learn(heapq.heappop(heap)[1])
    return predictions


def process_late(
    model: Any,
    X: NDArray[Any],
    y: NDArray[Any],
    moment: Sequence[Any],
    arrival: Sequence[Any],
    *,
    leftover: bool = True,
    classes: Any = None,
) -> list[Any]:
    """Process a scikit-learn estimator; before it has learned it predicts None."""
    fitted = False

    def predict(t: int) -> Any:
        return model.predict(X[t : t + 1])[0] if fitted else None

    def learn(t: int) -> None:
        nonlocal fitted
        if fitted:
            model.partial_fit(X[t : t + 1], y[t : t + 1])
        else:
            model.partial_fit(X[t : t + 1], y[t : t + 1], classes=classes)
        fitted = True

    assert isinstance(model, BaseEstimator)
    return process(predict, learn, moment, arrival, leftover=leftover)
