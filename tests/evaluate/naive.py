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
        return sum(
            float(abs((w * (P - right))[group == g].sum() / w.sum())) for g in range(10)
        )
    assert name == "log_loss"
    losses = -np.log(np.maximum(probability[first:], np.finfo(float).eps))
    return float(np.average(losses, weights=w))


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
    """Process a scikit-learn estimator; before it has learnt it predicts None."""
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
