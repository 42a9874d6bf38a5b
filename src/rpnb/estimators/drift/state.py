"""The state of a learner with a drift detector, and learning up to each alarm."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse, vstack

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.drift.detectors import Detector, first_alarm
from rpnb.estimators.saving.schema import StateSchema, ValueSchema, indices, reals
from rpnb.estimators.stream.learner import Learner, Shapes

# Rows learned between two checks for an alarm. Rows learned after an alarm have to be
# undone, so pieces are short after an alarm and grow while there is none.
_SHORTEST = 64
_LONGEST = 4096


@dataclass(slots=True)
class RecentRows:
    """The last rows seen, the oldest first."""

    X: Any
    y: IntArray
    weight: FloatArray


@dataclass(slots=True)
class DriftState:
    """A learner and its state, the detector of its errors, and the alarms so far."""

    learner: Learner[Any]
    inner: Any
    detector: Detector
    known: BoolArray
    """(M,) whether the class has been declared or seen"""
    p: int
    """number of features"""
    classes: LabelArray
    """(M,) labels of the classes"""
    n_seen: int = 0
    forgotten_updates: int = 0
    """updates before the last reset"""
    drifts: list[int] = field(default_factory=list)
    recent: RecentRows | None = None


def copy_drift_state(state: DriftState) -> DriftState:
    """Return a writable copy; recent rows are shared, since they never change."""
    return replace(
        state,
        inner=state.learner.copy(state.inner),
        detector=copy.deepcopy(state.detector),
        known=state.known.copy(),
        drifts=list(state.drifts),
    )


def rearrange_drift_classes(
    state: DriftState, source: IntArray, classes: LabelArray, declared: IntArray
) -> DriftState:
    """Return a state whose class m is class source[m] of `state`, or new if −1."""
    old = source >= 0
    known = np.zeros(source.shape[0], np.bool_)
    known[old] = state.known[source[old]]
    known[declared] = True
    recent = state.recent
    if recent is not None:
        moved = np.empty(state.known.shape[0], np.int64)
        moved[source[old]] = np.flatnonzero(old)
        recent = replace(recent, y=moved[recent.y])
    return replace(
        copy_drift_state(state),
        inner=state.learner.grow(state.inner, source, classes, declared),
        known=known,
        classes=classes,
        recent=recent,
    )


def learn_until_alarms(
    state: DriftState,
    X: NDArray[Any],
    y: IntArray,
    weight: FloatArray,
    labels: IntArray | None,
    warm: int,
) -> Iterator[None]:
    """Learn all rows; yield after the row of each alarm, before the next is learned.

    Rows are learned piece by piece. If the detector gives an alarm within a piece, the
    state before the piece is restored and the rows up to the alarm are learned again.
    Predictions go to `labels`. The last `warm` rows are kept in the state.
    """
    n = X.shape[0]
    if labels is None:
        labels = np.empty(n, np.int64)
    if weight.shape[0] == 1:
        weight = np.repeat(weight, n)
    learner = state.learner
    start, size = 0, _SHORTEST
    while start < n:
        stop = min(start + size, n)
        rows = slice(start, stop)
        # An alarm at the last row of a piece leaves nothing to undo.
        before = learner.copy(state.inner) if stop - start > 1 else None
        learner.learn(state.inner, X[rows], y[rows], weight[rows], labels[rows])
        errors = prediction_errors(state.known, y[rows], labels[rows])
        alarm = first_alarm(state.detector, errors)
        size = min(2 * size, _LONGEST)
        if alarm >= 0:
            rows = slice(start, start + alarm + 1)
            if rows.stop < stop:
                state.inner = before
                again = np.empty(alarm + 1, np.int64)
                learner.learn(before, X[rows], y[rows], weight[rows], again)
            size = _SHORTEST
        state.n_seen += rows.stop - start
        if warm > 0:
            _remember(state, X[rows], y[rows], weight[rows], warm)
        if alarm >= 0:
            yield
        start = rows.stop


def prediction_errors(
    known: BoolArray, y: IntArray, labels: IntArray
) -> Iterator[bool]:
    """Yield for each row whether its prediction was wrong; mark its class as known.

    A row of a class that was not known is an error, whatever was predicted: some
    learners predict it only after the class has been added.
    """
    for m, label in zip(y.tolist(), labels.tolist(), strict=True):
        wrong = label != m or not known[m]
        known[m] = True
        yield wrong


def _remember(
    state: DriftState, X: Any, y: IntArray, weight: FloatArray, most: int
) -> None:
    """Keep the last rows in the state, at most `most`."""
    held = state.recent
    if held is not None:
        sparse = issparse(X) or issparse(held.X)
        both = (held.X, X)
        X = vstack(both, "csr") if sparse else np.concatenate(both)
        y = np.concatenate((held.y, y))
        weight = np.concatenate((held.weight, weight))
    # Copies: a view would keep all rows of the call.
    state.recent = RecentRows(X[-most:].copy(), y[-most:].copy(), weight[-most:].copy())


# Files: dense rows as they are, sparse ones as the positions and values of their
# entries


def recent_to_arrays(
    recent: RecentRows | None, p: int
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the recent rows as arrays for a model file."""
    if recent is None:
        recent = RecentRows(np.zeros((0, p)), np.zeros(0, np.int64), np.zeros(0))
    sparse = bool(issparse(recent.X))
    arrays: dict[str, NDArray[Any]] = {
        "recent.y": recent.y.astype(np.int64),
        "recent.weight": recent.weight.astype(np.float64),
    }
    if sparse:
        entries = recent.X.tocoo()
        arrays["recent.rows"] = entries.row.astype(np.int64)
        arrays["recent.columns"] = entries.col.astype(np.int64)
        arrays["recent.values"] = entries.data.astype(np.float64)
    else:
        arrays["recent.X"] = np.ascontiguousarray(recent.X, np.float64)
    return {"sparse": sparse}, arrays


def recent_schema(
    state: Mapping[str, Any], shapes: Shapes, M: int, p: int, warm: int
) -> StateSchema:
    """Return the schema of the recent rows, at most `warm`, in a model file."""
    n = min(shapes.get("recent.y", (0,))[0], warm)
    arrays = {
        "recent.y": indices(n, below=M),
        "recent.weight": reals(n, low=0.0),
    }
    if state.get("sparse") is True:
        size = min(shapes.get("recent.values", (0,))[0], n * p)
        arrays["recent.rows"] = indices(size, below=n)
        arrays["recent.columns"] = indices(size, below=p)
        arrays["recent.values"] = reals(size)
    else:
        arrays["recent.X"] = reals(n, p, nan=True)
    return StateSchema(arrays, {"sparse": ValueSchema(bool)})


def recent_from_arrays(
    metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], p: int
) -> RecentRows | None:
    """Return the recent rows of a model file, None if there are none."""
    y, weight = arrays["recent.y"], arrays["recent.weight"]
    if y.shape[0] == 0:
        return None
    if not metadata["sparse"]:
        return RecentRows(arrays["recent.X"], y, weight)
    places = arrays["recent.rows"], arrays["recent.columns"]
    X = coo_array((arrays["recent.values"], places), shape=(y.shape[0], p)).tocsr()
    return RecentRows(X, y, weight)
