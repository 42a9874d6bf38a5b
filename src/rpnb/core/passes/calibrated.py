"""Calibration by mini-batches, and probabilities from scores."""

import numpy as np

from rpnb._core.streams import CELL_WIDTH, write_codes
from rpnb.core.bayes.model import Model
from rpnb.core.calibration import (
    calibration_rows,
    learn_all_codes,
    mix_rows,
    smallest_temperature,
)
from rpnb.core.kernels.arrays import CodeArray, FloatArray, IntArray


def _smallest(model: Model) -> float:
    """Return the smallest temperature; the middle one is K, an average of members."""
    return smallest_temperature(float(model.projection.K))


def batch_codes(model: Model, labels: IntArray, scores: FloatArray) -> CodeArray:
    """Return the codes (r, M) of rows with these predictions (r,) and scores (r, M)."""
    codes = np.empty(scores.shape, np.int16)
    scale = 1.0 / (CELL_WIDTH * _smallest(model))
    write_codes(scores, model.classes.eligible, labels, scale, codes)
    return codes


def learn_batch_codes(model: Model, y: IntArray, codes: CodeArray) -> None:
    """Calibrate by the rows of a mini-batch, before they are counted as seen.

    `codes` are those that `batch_codes` gives the rows selected by `calibration_rows`.
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
