"""What a file holds of an RPNB model: the seed and the statistics, no projection."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.bayes.model import Model, arrange_classes, refresh_all
from rpnb.core.projection.record import fingerprint, make_projection
from rpnb.estimators.saving.files import ModelFileError, checked_array


def model_to_arrays(state: Model) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a model's state as JSON values and arrays."""
    metadata = {
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
    state = fill_model(template, metadata, arrays, M)
    if fingerprint(state.projection) != metadata["fingerprint"]:
        raise ModelFileError(
            "the projections drawn from the file's seed are not those it was saved "
            "with: the file is damaged, or from a version of rpnb that draws them "
            "otherwise"
        )
    return state


def fill_model(
    template: Model, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int
) -> Model:
    """Return a model of M classes with the template's projections and these arrays."""
    state = arrange_classes(template, np.full(M, -1))
    F = state.F
    state.moments.weight[:] = checked_array(arrays, "weight", np.float64, (M,))
    state.moments.mean[:] = checked_array(arrays, "mean", np.float64, (M, F))
    state.moments.scatter[:] = checked_array(arrays, "scatter", np.float64, (M, F))
    state.classes.eligible[:] = checked_array(arrays, "eligible", np.bool_, (M,))
    state.classes.seen[:] = checked_array(arrays, "seen", np.float64, (M,))
    state.n_seen = int(metadata["n_seen"])
    state.n_updates = int(metadata["n_updates"])
    refresh_all(state)
    return state
