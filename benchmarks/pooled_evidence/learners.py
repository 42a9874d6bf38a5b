"""The learners compared: this package's, batch learners refitted, River's, CapyMOA's.

AROW, OnlineBayes, kNN and "RPNB, scaled" get rows that are standardised by the mean and
deviation of the rows so far, the row itself among them; "RPNB" and all others get rows
as they are. All classes are known from the start. Batch learners are fitted again to
all rows so far whenever these have grown by a fifth.
"""

import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

from long_streams import fit_then_predict, lightgbm, refit
from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.core.kernels.arrays import FloatArray, IntArray

Run = Callable[[FloatArray, IntArray, int, int], tuple[IntArray, float]]
_NEAREST, _WINDOW = 3, 1000
#: Seconds.
_SHORT = 1.0
_GROWTH = 1.2
# Rows between fits to a window, and of the window.
_REFIT, _REMEMBERED = 1000, 5000


def own_learners() -> Mapping[str, Run]:
    """Return the learners that need nothing but this package, by name."""
    return {
        "Pooled": _native(lambda seed: PooledClassifier(random_state=seed)),
        "RPNB": _native(lambda seed: RPNBClassifier(random_state=seed)),
        "RPNB, scaled": _native(
            lambda seed: RPNBClassifier(random_state=seed), scaled=True
        ),
        "AROW": _native(lambda seed: baselines.AROW(), scaled=True),
        "OnlineBayes": _native(lambda seed: baselines.OnlineBayes(), scaled=True),
        "kNN": _run_neighbours,
        "NoChange": _native(lambda seed: baselines.NoChange()),
    }


def other_learners() -> Mapping[str, Run]:
    """Return learners of other packages that are installed, by name."""
    found: dict[str, Run] = {"ExtraTrees": _refitted(_extra_trees)}
    if find_spec("lightgbm"):
        found["LightGBM"] = _refitted(lightgbm)
        found["LightGBM, window"] = _run_window
    if find_spec("river"):
        found["AMF"] = _run_amf
    return found


def _extra_trees(seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(random_state=seed)


def _refitted(make: Callable[[int], Any]) -> Run:
    def run(X: FloatArray, y: IntArray, M: int, seed: int) -> tuple[IntArray, float]:
        start = time.process_time()
        P = refit(lambda: make(seed), X, y, _GROWTH)
        return P.argmax(axis=1), time.process_time() - start

    return run


def _run_window(
    X: FloatArray, y: IntArray, M: int, seed: int
) -> tuple[IntArray, float]:
    """Run LightGBM, fitted every 1,000 rows to the last 5,000; to all before that."""
    begin = time.process_time()
    early = min(len(y), _REFIT)
    parts = [
        refit(lambda: lightgbm(seed), X[:early], y[:early], _GROWTH).argmax(axis=1)
    ]
    for start in range(_REFIT, len(y), _REFIT):
        known = slice(max(0, start - _REMEMBERED), start)
        new = X[start : start + _REFIT]
        P = fit_then_predict(lambda: lightgbm(seed), X[known], y[known], new, M)
        parts.append(P.argmax(axis=1))
    return np.concatenate(parts), time.process_time() - begin


def _run_amf(X: FloatArray, y: IntArray, M: int, seed: int) -> tuple[IntArray, float]:
    """Run aggregated Mondrian forests, River's, with its ten trees."""
    from river.forest import AMFClassifier

    model = AMFClassifier(seed=seed)
    labels = np.empty(len(y), np.int64)
    start = time.thread_time()
    for i, (values, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        row: dict[Any, Any] = dict(enumerate(values))
        found = model.predict_one(row)
        labels[i] = -1 if found is None else found
        model.learn_one(row, label)
    return labels, time.thread_time() - start


def capymoa_learners() -> Mapping[str, Run]:
    """Return CapyMOA's learners by name; none where it is not installed."""
    try:
        from capymoa import classifier
    except ImportError:
        return {}
    forest, patches = (
        classifier.AdaptiveRandomForestClassifier,
        classifier.StreamingRandomPatches,
    )
    return {
        "ARF100": _of_capymoa(lambda schema: forest(schema, ensemble_size=100)),
        "SRP100": _of_capymoa(lambda schema: patches(schema, ensemble_size=100)),
        "SGBT": _of_capymoa(classifier.StreamingGradientBoostedTrees),
        "SAMkNN": _of_capymoa(classifier.SAMkNN),
        "KNN": _of_capymoa(classifier.KNN),
        "ARF100, last label": _of_capymoa(
            lambda schema: forest(schema, ensemble_size=100), last_label=True
        ),
        "SRP100, last label": _of_capymoa(
            lambda schema: patches(schema, ensemble_size=100), last_label=True
        ),
    }


def standardised(X: FloatArray) -> FloatArray:
    """Return rows less the mean, over the deviation, of the rows so far."""
    centred = X - X[0]
    counts = np.arange(1.0, len(X) + 1.0)[:, None]
    mean = np.cumsum(centred, axis=0) / counts
    variance = np.cumsum(centred**2, axis=0) / counts - mean**2
    deviation = np.sqrt(np.maximum(variance, 0.0))
    scaled: FloatArray = (centred - mean) / np.where(deviation > 1e-12, deviation, 1.0)
    return scaled


def _native(make: Callable[[int], Any], *, scaled: bool = False) -> Run:
    def run(X: FloatArray, y: IntArray, M: int, seed: int) -> tuple[IntArray, float]:
        rows = standardised(X) if scaled else X
        classes = np.arange(M)
        used: list[float] = []
        # The time is the median of three runs if they are short.
        while len(used) < (3 if seed == 0 else 1) and sum(used) < _SHORT:
            model = make(seed)
            start = time.thread_time()
            labels = model.predict_then_learn(rows, y, classes=classes)
            used.append(time.thread_time() - start)
        return labels, sorted(used)[len(used) // 2]

    return run


def _run_neighbours(
    X: FloatArray, y: IntArray, M: int, seed: int
) -> tuple[IntArray, float]:
    rows = standardised(X)
    start = time.thread_time()
    labels = neighbours(rows, y, M, 0)
    return labels, time.thread_time() - start


def neighbours(X: FloatArray, y: IntArray, M: int, between: int) -> IntArray:
    """Predict the class that most of the 3 nearest of the last 1,000 rows have.

    Of those whose labels are known: `between` rows lie between a row and its label. Of
    rows at the same distance the earliest counts.
    """
    columns = np.ascontiguousarray(X.T)
    labels = np.zeros(len(X), np.int64)
    for i in range(len(X)):
        known = max(i - between, 0)
        first = max(0, known - _WINDOW)
        gaps = columns[:, first:known] - columns[:, i : i + 1]
        distances = np.square(gaps, out=gaps).sum(axis=0)
        nearest = np.arange(len(distances))
        if len(distances) > _NEAREST:
            bound = np.partition(distances, _NEAREST - 1)[_NEAREST - 1]
            nearest = np.flatnonzero(distances <= bound)
            order = np.argsort(distances[nearest], kind="stable")
            nearest = nearest[order[:_NEAREST]]
        labels[i] = np.bincount(y[first + nearest], minlength=M).argmax()
    return labels


def _of_capymoa(make: Callable[[Any], Any], *, last_label: bool = False) -> Run:
    is_warm = False

    def run(X: FloatArray, y: IntArray, M: int, seed: int) -> tuple[IntArray, float]:
        from capymoa.evaluation import prequential_evaluation
        from capymoa.stream import NumpyStream

        nonlocal is_warm
        if not is_warm:  # so that Java has compiled what is called often
            is_warm = True
            run(X[:5000], y[:5000], M, seed)
        rows = X
        if last_label:
            rows = np.column_stack([X, np.concatenate(([0], y[:-1]))])
        stream = NumpyStream(rows, y, target_type="categorical")
        learner = make(stream.get_schema())
        start = time.thread_time()
        result = prequential_evaluation(
            stream, learner, max_instances=len(y), store_predictions=True
        )
        used = time.thread_time() - start
        # A learner that has learned nothing has no prediction.
        found = [-1 if label is None else label for label in result.predictions()]
        return np.array(found, np.int64), used

    return run
