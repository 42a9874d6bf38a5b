"""The learners to compare: ours, refitted batch learners, River's, CapyMOA's.

A learner is a function of a block of rows and its labels that returns the predicted
classes and, if available, the probabilities of all classes, each row before its label
is used. All classes are known from the start, all features are numbers, and every
parameter but the number of trees has its default value.
"""

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.model import MEMBERS

Found = tuple[IntArray, FloatArray | None]
Step = Callable[[FloatArray, IntArray], Found]
#: Functions of the number of features, the number of classes, and a seed.
Make = Callable[[int, int, int], Step]

CAPYMOA = ("SAMkNN", "ARF", "SRP", "SGBT", "ARF, last label", "SRP, last label")
BATCH = ("LightGBM, all rows", "ExtraTrees, all rows")
OWN = ("Pooled", "RPNB", "RPNB, scaled", "AROW", "OnlineBayes", "kNN")
WITHOUT = "Pooled without boosted_trees"
#: The learners for each part of the sources, fast ones first.
PARTS: Mapping[str, tuple[str, ...]] = {
    "field": (
        *("NoChange", "Majority", "RPNB", "RPNB, scaled", "Pooled"),
        *(*BATCH, "LightGBM, window", "AMF", *CAPYMOA[:4]),
    ),
    "runs": (
        *("Pooled", "NoChange", "RPNB"),
        *("ARF", "ARF, last label", "SRP", "SRP, last label"),
    ),
    "held out": (*OWN, "NoChange", *BATCH, "AMF", *CAPYMOA[:4]),
    "paper": OWN,
    "drifting": ("Pooled", "RPNB", "LightGBM, window", "NoChange"),
    "long": ("Pooled", WITHOUT, "LightGBM, all rows"),
}
#: Learners that run with every seed; the others run with the first only.
SEEDED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("field", "runs", "drifting"), ("Pooled", "RPNB")),
    "held out": (*OWN, *BATCH),
    "paper": OWN,
    "long": PARTS["long"],
}

_NEAREST, _WINDOW = 3, 1000
#: Rows of the window that a batch learner is refitted to, and between two fits.
WINDOW, EVERY = 5000, 1000
#: Factor by which the rows grow between two fits to all of them.
GROWTH = 1.5
_FIRST_FIT = 100
_FOREST, _PATCHES = "AdaptiveRandomForestClassifier", "StreamingRandomPatches"


def learners() -> Mapping[str, Make]:
    """Return the learners by name, without those whose package is not installed."""
    found: dict[str, Make] = {
        "Pooled": _native(lambda seed: PooledClassifier(random_state=seed)),
        WITHOUT: _native(
            lambda seed: PooledClassifier(
                [name for name in MEMBERS if name != "boosted_trees"],
                random_state=seed,
            )
        ),
        "RPNB": _native(lambda seed: RPNBClassifier(random_state=seed)),
        "RPNB, scaled": _native(
            lambda seed: RPNBClassifier(random_state=seed, scale="running")
        ),
        "AROW": _native(lambda seed: baselines.AROW(), scaled=True),
        "OnlineBayes": _native(lambda seed: baselines.OnlineBayes(), scaled=True),
        "kNN": _neighbours,
        "NoChange": _no_change,
        "Majority": _majority,
        "ExtraTrees, all rows": _refitted(_extra_trees),
    }
    if find_spec("lightgbm"):
        found["LightGBM, window"] = _refitted(lightgbm, window=WINDOW)
        found["LightGBM, all rows"] = _refitted(lightgbm)
    if find_spec("river"):
        found["AMF"] = _amf
    if find_spec("capymoa"):
        found |= {
            "SAMkNN": _of_capymoa("SAMkNN"),
            "ARF": _of_capymoa(_FOREST, ensemble_size=100),
            "SRP": _of_capymoa(_PATCHES, ensemble_size=100),
            "SGBT": _of_capymoa("StreamingGradientBoostedTrees"),
            "ARF, last label": _last_label(_of_capymoa(_FOREST, ensemble_size=100)),
            "SRP, last label": _last_label(_of_capymoa(_PATCHES, ensemble_size=100)),
        }
    return found


def _native(make: Callable[[int], Any], *, scaled: bool = False) -> Make:
    def begin(p: int, M: int, seed: int) -> Step:
        model, classes, scale = make(seed), np.arange(M), Standardise()

        def step(X: FloatArray, y: IntArray) -> Found:
            rows = scale(X) if scaled else X
            if hasattr(model, "predict_proba"):
                labels, P = model.predict_then_learn(
                    rows, y, classes=classes, return_proba=True
                )
                return labels, P
            return model.predict_then_learn(rows, y, classes=classes), None

        return step

    return begin


class Standardise:
    """Standardises rows by mean and deviation of the rows so far, the row included."""

    def __init__(self) -> None:
        self._n = 0

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the next rows, standardised."""
        if self._n == 0:
            self._origin = X[0].copy()
            self._sum, self._squares = np.zeros((2, X.shape[1]))
        centred = X - self._origin
        counts = self._n + np.arange(1.0, len(X) + 1.0)[:, None]
        sums = self._sum + np.cumsum(centred, axis=0)
        squares = self._squares + np.cumsum(centred**2, axis=0)
        self._n, self._sum, self._squares = self._n + len(X), sums[-1], squares[-1]
        mean = sums / counts
        deviation = np.sqrt(np.maximum(squares / counts - mean**2, 0.0))
        scaled: FloatArray = (centred - mean) / np.where(
            deviation > 1e-12, deviation, 1.0
        )
        return scaled


def _neighbours(p: int, M: int, seed: int) -> Step:
    """Create the classifier by the 3 nearest of the last 1,000 rows, standardised."""
    kept, labels, scale = np.zeros((0, p)), np.zeros(0, np.int64), Standardise()

    def step(X: FloatArray, y: IntArray) -> Found:
        nonlocal kept, labels
        known = len(kept)
        kept, labels = np.concatenate([kept, scale(X)]), np.concatenate([labels, y])
        found = neighbours(kept, labels, M, 0, known)
        kept, labels = kept[-_WINDOW:], labels[-_WINDOW:]
        return found, None

    return step


def neighbours(
    X: FloatArray, y: IntArray, M: int, between: int, first: int = 0
) -> IntArray:
    """Predict the class that most of the 3 nearest of the last 1,000 rows have.

    Of those whose labels are known: `between` rows lie between a row and its label. Of
    rows at the same distance the earliest counts. Rows before `first` are not
    predicted.
    """
    columns = np.ascontiguousarray(X.T)
    labels = np.zeros(len(X) - first, np.int64)
    for i in range(first, len(X)):
        known = max(i - between, 0)
        oldest = max(0, known - _WINDOW)
        gaps = columns[:, oldest:known] - columns[:, i : i + 1]
        distances = np.square(gaps, out=gaps).sum(axis=0)
        nearest = np.arange(len(distances))
        if len(distances) > _NEAREST:
            bound = np.partition(distances, _NEAREST - 1)[_NEAREST - 1]
            nearest = np.flatnonzero(distances <= bound)
            order = np.argsort(distances[nearest], kind="stable")
            nearest = nearest[order[:_NEAREST]]
        labels[i - first] = np.bincount(y[oldest + nearest], minlength=M).argmax()
    return labels


def _no_change(p: int, M: int, seed: int) -> Step:
    last = 0

    def step(X: FloatArray, y: IntArray) -> Found:
        nonlocal last
        labels = np.concatenate([[last], y[:-1]])
        last = int(y[-1])
        return labels, None

    return step


def _majority(p: int, M: int, seed: int) -> Step:
    counts = np.ones(M)  # one row of each class before the first

    def step(X: FloatArray, y: IntArray) -> Found:
        seen = np.cumsum(np.eye(M)[y], axis=0)
        before = counts + np.concatenate([np.zeros((1, M)), seen[:-1]])
        counts[:] += seen[-1]
        P = before / before.sum(axis=1, keepdims=True)
        return P.argmax(axis=1), P

    return step


# Batch learners, refitted


def lightgbm(seed: int) -> Any:
    """Return LightGBM with its default numbers of trees and leaves."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=100, num_leaves=31, random_state=seed, n_jobs=1, verbose=-1
    )


def _extra_trees(seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(random_state=seed)


def _refitted(make: Callable[[int], Any], window: int | None = None) -> Make:
    """Create a batch learner that is refitted to all rows, or to the last ones.

    First to 100 rows, then whenever they have grown by half; to a window, every 1,000
    rows once there are that many. Before the first fit all classes have the same
    probability.
    """

    def begin(p: int, M: int, seed: int) -> Step:
        rows: list[tuple[FloatArray, IntArray]] = []
        n, next_fit, model = 0, _FIRST_FIT, None

        def fit() -> Any:
            X = np.concatenate([X for X, _ in rows])[-(window or n) :]
            y = np.concatenate([y for _, y in rows])[-(window or n) :]
            rows[:] = [(X, y)]
            # LightGBM treats one class as two.
            return int(y[0]) if np.all(y == y[0]) else make(seed).fit(X, y)

        def predict(X: FloatArray) -> FloatArray:
            P = np.zeros((len(X), M))
            if model is None:
                P += 1.0 / M
            elif isinstance(model, int):
                P[:, model] = 1.0
            else:
                P[:, model.classes_] = model.predict_proba(X)
            return P

        def step(X: FloatArray, y: IntArray) -> Found:
            nonlocal n, next_fit, model
            parts, at = [], 0
            while at < len(y):
                stop = min(len(y), at + next_fit - n)
                parts.append(predict(X[at:stop]))
                rows.append((X[at:stop], y[at:stop]))
                n, at = n + stop - at, stop
                if n == next_fit:
                    model = fit()
                    next_fit = int(np.ceil(n * GROWTH))
                    if window is not None and next_fit > EVERY:
                        next_fit = (n // EVERY + 1) * EVERY
            P = np.concatenate(parts)
            return P.argmax(axis=1), P

        return step

    return begin


# River's and CapyMOA's


def _amf(p: int, M: int, seed: int) -> Step:
    """Create River's aggregated Mondrian forest, with its ten trees."""
    from river.forest import AMFClassifier

    model = AMFClassifier(seed=seed)

    def step(X: FloatArray, y: IntArray) -> Found:
        P = np.zeros((len(y), M))
        for i, (values, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
            row: dict[Any, Any] = dict(enumerate(values))
            for found, probability in model.predict_proba_one(row).items():
                P[i, int(found)] = probability
            model.learn_one(row, label)
        return P.argmax(axis=1), _normalised(P)

    return step


def _of_capymoa(name: str, **parameters: Any) -> Make:
    def begin(p: int, M: int, seed: int) -> Step:
        from capymoa import classifier
        from capymoa.core import LabeledInstance
        from capymoa.stream import Schema

        schema = Schema.from_custom(
            features=[f"x{j}" for j in range(p)] + ["class"],
            target="class",
            categories={"class": [str(c) for c in range(M)]},
            name="rows",
        )
        model = getattr(classifier, name)(schema, random_seed=seed + 1, **parameters)

        def step(X: FloatArray, y: IntArray) -> Found:
            P = np.zeros((len(y), M))
            for i, (row, label) in enumerate(zip(X, y.tolist(), strict=True)):
                instance = LabeledInstance.from_array(schema, row, label)
                votes = model.predict_proba(instance)
                if votes is not None:
                    P[i, : len(votes)] = votes
                model.train(instance)
            return P.argmax(axis=1), _normalised(P)

        return step

    return begin


def _last_label(make: Make) -> Make:
    """Give a learner the previous label as one more feature."""

    def begin(p: int, M: int, seed: int) -> Step:
        inner, last = make(p + 1, M, seed), 0

        def step(X: FloatArray, y: IntArray) -> Found:
            nonlocal last
            before = np.concatenate([[last], y[:-1]])
            last = int(y[-1])
            return inner(np.column_stack([X, before]), y)

        return step

    return begin


def _normalised(P: FloatArray) -> FloatArray:
    """Return rows that add up to 1; all classes alike where there are no votes."""
    total = P.sum(axis=1, keepdims=True)
    return np.where(
        total > 0.0, P / np.where(total > 0.0, total, 1.0), 1.0 / P.shape[1]
    )
