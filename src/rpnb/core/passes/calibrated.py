"""Calibration along a pass: the cells that it writes, and learning from them."""

import numpy as np

from rpnb.core.bayes.model import Model
from rpnb.core.bayes.state import KernelState
from rpnb.core.calibration.cells import (
    calibration_rows,
    is_calibration_row,
    new_cells,
    smallest_temperature,
    write_codes,
)
from rpnb.core.calibration.mixture import learn_all_codes, mix_rows, mix_then_learn
from rpnb.core.conformal import COVERAGES
from rpnb.core.kernels.arrays import CodeArray, FloatArray, IntArray
from rpnb.core.passes.blocks import count_labelled


def base_temperature(model: Model) -> float:
    """Return the temperature in the middle of the grid: K, as members are averaged."""
    return float(model.projection.K)


def with_cells(model: Model, learner: KernelState, y: IntArray) -> KernelState:
    """Return the kernels' state for a pass over rows of classes y.

    If the model is calibrated, the pass writes the cells of some of the rows.
    """
    if model.calibration is None:
        return learner
    if y.shape[0] == 1 and not is_calibration_row(model.n_seen):
        return learner
    n = count_labelled(y)
    cells = new_cells(model.M, model.n_seen, n, base_temperature(model))
    return learner._replace(cells=cells)


def learn_cells(model: Model, learner: KernelState, y: IntArray) -> None:
    """Let calibration learn from the cells that a pass over rows of classes y wrote.

    To be called before the rows are counted as seen.
    """
    if model.calibration is not None and learner.cells.codes.shape[0] > 0:
        used = _used_labels(model, y)
        learn_all_codes(model.calibration, learner.cells.codes, used)


def mix_then_learn_cells(
    model: Model,
    learner: KernelState,
    y: IntArray,
    scores: FloatArray,
    P: FloatArray,
    thresholds: FloatArray,
) -> None:
    """Do what `learn_cells` does; write probabilities and thresholds before each row.

    `scores` (n, M) are those before each row was learnt.
    """
    assert model.calibration is not None  # noqa: S101 - the caller has asked
    mix_then_learn(
        model.calibration,
        scores,
        smallest_temperature(base_temperature(model)),
        learner.cells.codes,
        model.n_seen,
        y,
        P,
        thresholds,
    )


def batch_codes(model: Model, labels: IntArray, scores: FloatArray) -> CodeArray:
    """Return the cells (r, M) of rows with these predictions (r,) and scores (r, M)."""
    codes = np.empty(scores.shape, np.int16)
    scale = new_cells(model.M, 0, 0, base_temperature(model)).scale
    for row, label in enumerate(labels.tolist()):
        write_codes(scores[row], model.classes.eligible, label, scale, codes[row])
    return codes


def learn_batch_codes(model: Model, y: IntArray, codes: CodeArray) -> None:
    """Let calibration learn from rows of a mini-batch, before they count as seen.

    `codes` are those of `batch_codes`, of the rows that it learns from.
    """
    assert model.calibration is not None  # noqa: S101 - the caller has asked
    used = calibration_rows(model.n_seen, y.shape[0])
    learn_all_codes(model.calibration, codes, y[used])


def mixed(model: Model, scores: FloatArray) -> FloatArray:
    """Return the probabilities (n, M) of rows with these scores (n, M)."""
    assert model.calibration is not None  # noqa: S101 - the caller has asked
    P = np.empty_like(scores)
    smallest = smallest_temperature(base_temperature(model))
    mix_rows(model.calibration.weights, scores, smallest, P)
    return P


def empty_thresholds(n: int) -> FloatArray:
    """Return an array for the thresholds before each of n rows."""
    return np.empty((n, COVERAGES.shape[0]))


def _used_labels(model: Model, y: IntArray) -> IntArray:
    """Return the classes of the rows that calibration learns from."""
    labelled = y[y >= 0]
    return labelled[calibration_rows(model.n_seen, labelled.shape[0])]
