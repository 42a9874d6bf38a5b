"""What a file holds of an RPNB model: the seed and the statistics, no projection."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.bayes.model import Model, arrange_classes, refresh_all
from rpnb.core.calibration.mixture import Calibration, new_calibration
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.record import fingerprint, make_projection
from rpnb.estimators.saving.files import ModelFileError, checked_array


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
    metadata["calibrated_rows"] = None
    if calibration is not None:
        metadata["calibrated_rows"] = int(calibration.rows[0])
        arrays["expert_weights"] = calibration.weights
        arrays["set_thresholds"] = calibration.thresholds
    return metadata, arrays


def model_from_arrays(
    template: Model, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int
) -> Model:
    """Return the model of M classes that `model_to_arrays` made arrays of.

    `template` has the parameters of the model and no class.
    """
    recipe = template.projection
    template.projection = make_projection(
        recipe.distribution, int(metadata["seed"]), recipe.features, recipe.K, recipe.q
    )
    state = arrange_classes(template, np.full(M, -1))
    F = state.F
    state.moments.weight[:] = checked_array(arrays, "weight", np.float64, (M,))
    state.moments.mean[:] = checked_array(arrays, "mean", np.float64, (M, F))
    state.moments.scatter[:] = checked_array(arrays, "scatter", np.float64, (M, F))
    state.classes.eligible[:] = checked_array(arrays, "eligible", np.bool_, (M,))
    state.classes.seen[:] = checked_array(arrays, "seen", np.float64, (M,))
    state.n_seen = int(metadata["n_seen"])
    state.n_updates = int(metadata["n_updates"])
    if fingerprint(state.projection) != metadata["fingerprint"]:
        raise ModelFileError(
            "the projections drawn from the file's seed are not those it was saved "
            "with: the file is damaged, or from a version of rpnb that draws them "
            "otherwise"
        )
    refresh_all(state)
    state.calibration = _calibration_from_arrays(metadata["calibrated_rows"], arrays)
    return state


def _calibration_from_arrays(
    rows: int | None, arrays: dict[str, NDArray[Any]]
) -> Calibration | None:
    """Return what a file holds of calibration; None if the model has none."""
    if rows is None:
        return None
    weights = expert_weights_from_arrays(arrays)
    shape = new_calibration().thresholds.shape
    thresholds = checked_array(arrays, "set_thresholds", np.float64, shape).copy()
    if not np.isfinite(thresholds).all():
        raise ModelFileError(
            "the model file is damaged: the thresholds of its prediction sets must be "
            "finite"
        )
    return Calibration(weights, thresholds, np.array([int(rows)]))


def expert_weights_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> FloatArray:
    """Return the weights of a mixture of temperatures, which must add up to 1."""
    shape = new_calibration().weights.shape
    weights = checked_array(arrays, "expert_weights", np.float64, shape).copy()
    if not ((weights > 0.0).all() and abs(weights.sum() - 1.0) < 1e-9):
        raise ModelFileError(
            "the model file is damaged: its expert weights must be above 0 and add up "
            "to 1"
        )
    return weights
