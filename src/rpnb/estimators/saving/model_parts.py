"""RPNB models in files: the seed and the statistics, but no projections."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.bayes.model import Model, arrange_classes, refresh_all
from rpnb.core.calibration import Calibration, new_calibration
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.record import fingerprint
from rpnb.estimators.saving.files import ModelFileError
from rpnb.estimators.saving.schema import (
    CHECKSUM,
    COUNT,
    SEED,
    ArraySchema,
    StateSchema,
    ValueSchema,
    flags,
    reals,
)
from rpnb.estimators.scaling import scale_from_arrays, scale_to_arrays


def model_to_arrays(state: Model) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a model's state as JSON values and arrays."""
    metadata: dict[str, Any] = {
        "seed": state.projection.seed,
        "q": state.projection.q,
        "fingerprint": fingerprint(state.projection),
        "n_seen": state.n_seen,
        "n_updates": state.n_updates,
    }
    arrays = {
        "weight": state.moments.weight,
        "mean": state.moments.mean,
        "scatter": state.moments.scatter,
        "eligible": state.classes.eligible,
        "seen": state.classes.seen,
    }
    calibration = state.calibration
    metadata["calibrated"] = calibration is not None
    metadata["calibrated_rows"] = 0
    if calibration is not None:
        metadata["calibrated_rows"] = int(calibration.rows[0])
        arrays["expert_weights"] = calibration.weights
        arrays["set_thresholds"] = calibration.thresholds
    if state.scale is not None:
        arrays |= scale_to_arrays(state.scale)
    return metadata, arrays


def model_schema(K: int, q: int, M: int, *, calibrated: bool) -> StateSchema:
    """Return the schema of a file with K members of dimension q and M classes."""
    values = {
        "seed": SEED,
        "q": ValueSchema(int, q, q),
        "fingerprint": CHECKSUM,
        "n_seen": COUNT,
        "n_updates": COUNT,
        "calibrated": ValueSchema(bool),
        "calibrated_rows": COUNT,
    }
    arrays = {
        "weight": reals(M, low=0.0),
        "mean": reals(M, K * q),
        # Squares of large values, times large weights, are beyond double precision.
        "scatter": reals(M, K * q, low=0.0, infinite=True),
        "eligible": flags(M),
        "seen": reals(M, low=0.0),
    }
    if calibrated:
        arrays["expert_weights"] = expert_weights()
        arrays["set_thresholds"] = reals(new_calibration().thresholds.shape[0])
    return StateSchema(arrays, values)


def model_from_arrays(
    template: Model, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int
) -> Model:
    """Return the model of M classes from the arrays of `model_to_arrays`.

    `template` has the parameters and the seed of the model, but no classes.
    """
    state = arrange_classes(template, np.full(M, -1))
    state.moments.weight[:] = arrays["weight"]
    state.moments.mean[:] = arrays["mean"]
    state.moments.scatter[:] = arrays["scatter"]
    state.classes.eligible[:] = arrays["eligible"]
    state.classes.seen[:] = arrays["seen"]
    state.n_seen = metadata["n_seen"]
    state.n_updates = metadata["n_updates"]
    if fingerprint(state.projection) != metadata["fingerprint"]:
        raise ModelFileError(
            "the projections drawn from the file's seed are not those of the saved "
            "model: the file is damaged, or from a version of rpnb that draws them "
            "differently"
        )
    if state.scale is not None:
        state.scale = scale_from_arrays(arrays)
    refresh_all(state)
    state.calibration = None
    if metadata["calibrated"]:
        check_weights(arrays["expert_weights"])
        state.calibration = Calibration(
            arrays["expert_weights"].copy(),
            arrays["set_thresholds"].copy(),
            np.array([metadata["calibrated_rows"]]),
        )
    return state


def expert_weights() -> ArraySchema:
    """Return the schema of the weights of a mixture of temperatures."""
    smallest = float(np.finfo(np.float64).tiny)
    return reals(*new_calibration().weights.shape, low=smallest, high=1.0)


def check_weights(weights: FloatArray) -> None:
    """Refuse weights of a mixture that do not add up to 1."""
    if not abs(weights.sum() - 1.0) < 1e-9:
        raise ModelFileError(
            "the model file is damaged: its 'expert_weights' do not add up to 1"
        )
