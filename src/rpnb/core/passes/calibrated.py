"""Calibration of mini-batches, and probabilities from scores."""

import numpy as np

from rpnb._core.streams import CELL_WIDTH, write_codes
from rpnb.core.bayes.model import Model
from rpnb.core.calibration.cells import calibration_rows, smallest_temperature
from rpnb.core.calibration.mixture import learn_all_codes, mix_rows
from rpnb.core.conformal import COVERAGES
from rpnb.core.kernels.arrays import CodeArray, FloatArray, IntArray


def _smallest(model: Model) -> float:
    """Return the smallest temperature; in the middle is K, as members are averaged."""
    return smallest_temperature(float(model.projection.K))


def batch_codes(model: Model, labels: IntArray, scores: FloatArray) -> CodeArray:
    """Return the cells (r, M) of rows with these predictions (r,) and scores (r, M)."""
    codes = np.empty(scores.shape, np.int16)
    scale = 1.0 / (CELL_WIDTH * _smallest(model))
    write_codes(scores, model.classes.eligible, labels, scale, codes)
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
    mix_rows(model.calibration.weights, scores, _smallest(model), P)
    return P


def empty_thresholds(n: int) -> FloatArray:
    """Return an array for the thresholds before each of n rows."""
    return np.empty((n, COVERAGES.shape[0]))
