"""RPNB's parameters, checked, and the model that they make before it has classes."""

from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from rpnb.core.bayes.combining import COMBINERS
from rpnb.core.bayes.densities import Prior
from rpnb.core.bayes.model import Model, new_model
from rpnb.core.bayes.state import LEARN_ALL, LEARN_MISTAKES
from rpnb.core.kernels.running_scale import new_scale
from rpnb.core.projection.matrices import DISTRIBUTIONS, down_space_dimension
from rpnb.core.projection.record import make_projection
from rpnb.estimators.checks.jobs import check_jobs
from rpnb.estimators.checks.parameters import (
    check_choice,
    check_integer,
    check_real,
    draw_seed,
)
from rpnb.estimators.class_prior import fixed_prior, follows_counts
from rpnb.estimators.trust.probabilities import check_temperature, start_calibration

if TYPE_CHECKING:
    from rpnb.estimators.rpnb_learner import RPNBLearner

# Entries of a very sparse matrix, four bytes each, that are kept in memory.
_MOST_ENTRIES: Final = 1 << 27

#: The parameter `update`, and the kernels' code for it.
UPDATES = {"mistakes": LEARN_MISTAKES, "all": LEARN_ALL}


def ensemble_size(given: "RPNBLearner", p: int) -> tuple[int, int]:
    """Check and return K and q: the members, and the dimension of their projections."""
    K = check_integer("n_estimators", given.n_estimators, 1)
    if isinstance(given.n_components, str):
        check_choice("n_components", given.n_components, ("auto",))
        return K, down_space_dimension(p)
    return K, check_integer("n_components", given.n_components, 1)


def empty_model(given: "RPNBLearner", p: int, seed: int | None = None) -> Model:
    """Check the parameters and return a model of p features without classes.

    Its projections are drawn from `random_state`, or from the seed of a saved model.
    """
    K, q = ensemble_size(given, p)
    distribution = check_choice("projection", given.projection, DISTRIBUTIONS)
    combiner = check_choice("combiner", given.combiner, COMBINERS)
    prior = Prior(
        check_real("prior_mean", given.prior_mean, -1e150, high=1e150),
        check_real("prior_variance", given.prior_variance, 0, above=True, high=1e300),
        check_real("prior_weight", given.prior_weight, 0.0),
        check_real("var_floor", given.var_floor, 1e-300, high=1e300),
    )
    keep = 1.0
    if given.forgetting is not None:
        keep -= 1.0 / check_real("forgetting", given.forgetting, 1.0, above=True)
    if given.scale is not None and given.scale != "running":
        raise ValueError(f"scale must be None or 'running', got {given.scale!r}")
    check_changeable_parameters(given)
    fixed_prior(given.class_prior, None)
    features = np.arange(p, dtype=np.uint64)
    drawn = draw_seed(given.random_state)
    seed = drawn if seed is None else seed
    if distribution == "very_sparse" and sqrt(p) * K * q > _MOST_ENTRIES:
        raise ValueError(
            "projection='very_sparse' would keep about "
            f"{sqrt(p) * K * q:.2g} entries, and may keep {_MOST_ENTRIES}: take "
            "'hadamard', or fewer estimators or components"
        )
    projection = make_projection(distribution, seed, features, K, q)  # type: ignore[arg-type]
    prior_from_counts = follows_counts(given.class_prior)
    model = new_model(projection, combiner, prior, prior_from_counts, keep)  # type: ignore[arg-type]
    start_calibration(model, given.temperature)
    if given.scale is not None:
        model.scale = new_scale(p, centred=True)
    return model


def check_changeable_parameters(given: "RPNBLearner") -> None:
    """Check the parameters that may be changed between calls."""
    check_choice("update", given.update, tuple(UPDATES))
    if given.batch_size is not None:
        check_integer("batch_size", given.batch_size, 1)
    check_temperature(given.temperature)
    check_jobs(given.n_jobs)
