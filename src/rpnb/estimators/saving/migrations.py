"""Model files of older versions: their states are brought up to date one by one.

Each estimator class has a `_state_version`, which its model files carry; files without
one are of version 1. Whoever changes what a class writes raises its version by one and
adds to `MIGRATIONS` a function that turns a file of the version before into one of the
new version. Functions are never removed, so that any older file can be read.
"""

from collections.abc import Callable, Mapping

import numpy as np

from rpnb.core.pooled.pool import first_class_terms
from rpnb.estimators.saving.estimator import SavedEstimator
from rpnb.estimators.saving.files import ModelFileError

Migration = Callable[[SavedEstimator], SavedEstimator]
# Scores that the pool of a file of version 1 had at most.
_MOST_SCORES = 9


def _add_no_calibration(saved: SavedEstimator) -> SavedEstimator:
    """RPNBClassifier, 1 to 2: probabilities were not learnt; the temperature stays."""
    state = {**saved.state, "calibrated": False, "calibrated_rows": 0}
    return saved._replace(state=state)


def _add_no_mixture(saved: SavedEstimator) -> SavedEstimator:
    """FrozenRPNB, 1 to 2: the temperature was a number, now it may be a mixture."""
    return saved._replace(state={**saved.state, "mixture": False})


def _add_class_terms(saved: SavedEstimator) -> SavedEstimator:
    """PooledClassifier, 1 to 2: half of the projections were dense; no class terms."""
    D = saved.parameters.get("n_projections")
    state = {**saved.state, "dense": D // 2 if isinstance(D, int) else 0}
    delay = saved.parameters.get("delay")
    between = max(delay - 1, 0) if isinstance(delay, int) else 0
    arrays = dict(saved.arrays)
    for pool in ("pool", "late.pool"):
        weights = saved.arrays.get(f"{pool}.weights", np.zeros(0))
        # Of a damaged file the number is not believed; it is refused later on.
        K = weights.shape[0] if weights.ndim == 1 else 0
        if 0 < K <= _MOST_SCORES:
            M = saved.classes.shape[0]
            terms, curvature, ridge = first_class_terms(K, M, between)
            arrays[f"{pool}.class_terms"] = terms
            arrays[f"{pool}.class_curvature"] = curvature
            arrays[f"{pool}.class_ridge"] = ridge
    return saved._replace(state=state, arrays=arrays)


#: By the estimator's class and the version that is left behind.
MIGRATIONS: Mapping[tuple[str, int], Migration] = {
    ("RPNBClassifier", 1): _add_no_calibration,
    ("FrozenRPNB", 1): _add_no_mixture,
    ("PooledClassifier", 1): _add_class_terms,
}


def migrate(
    saved: SavedEstimator,
    version: int,
    migrations: Mapping[tuple[str, int], Migration] = MIGRATIONS,
) -> SavedEstimator:
    """Run the migrations that bring the content of a file up to `version`, in order.

    Raises
    ------
    ModelFileError
        If the file is of a later version.
    """
    if saved.state_version > version:
        raise ModelFileError(
            f"the model file holds a {saved.estimator} of state version "
            f"{saved.state_version}, written by rpnb {saved.rpnb_version}; this rpnb "
            f"reads versions up to {version}: upgrade rpnb"
        )
    while saved.state_version < version:
        step = migrations[saved.estimator, saved.state_version]
        saved = step(saved)._replace(state_version=saved.state_version + 1)
    return saved
