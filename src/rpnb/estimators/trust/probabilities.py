"""Probabilities of an RPNB model: a mixture of temperatures, or a fixed one."""

from typing import Any

import numpy as np

from rpnb.core.bayes.model import Model
from rpnb.core.calibration import new_calibration
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import log
from rpnb.core.passes.calibrated import mixed
from rpnb.estimators.checks.parameters import check_real
from rpnb.estimators.posteriors import log_posteriors

#: The rules whose scores are sums of the members' log posteriors.
_SUMS = ("log_sum", "product")


def check_temperature(temperature: Any) -> None:
    """Refuse what is neither "auto", None nor a positive number."""
    if isinstance(temperature, str):
        if temperature != "auto":
            raise ValueError(
                "temperature must be 'auto', None or a finite number above 0, got "
                f"{temperature!r}"
            )
    elif temperature is not None:
        check_real("temperature", temperature, 0.0, above=True)


def is_calibrated(temperature: Any, rule: str) -> bool:
    """Whether a model of this rule learns its probabilities online."""
    return isinstance(temperature, str) and rule in _SUMS


def start_calibration(state: Model, temperature: Any) -> None:
    """Start or stop learning probabilities as `temperature` requires."""
    if not is_calibrated(temperature, state.rule):
        state.calibration = None
    elif state.calibration is None:
        state.calibration = new_calibration()


def fixed_temperature(state: Model, temperature: Any) -> float:
    """Return the divisor of the scores if the temperature is not learned."""
    if temperature is None or isinstance(temperature, str):
        return float(state.projection.K)
    return check_real("temperature", temperature, 0.0, above=True)


def log_probabilities(state: Model, scores: FloatArray, temperature: Any) -> FloatArray:
    """Return the log probabilities of rows with these scores (n, M).

    A class whose score is −∞ gets −∞, and so do all classes if none has a score.
    """
    with np.errstate(divide="ignore"):
        if state.calibration is not None and is_calibrated(temperature, state.rule):
            return log(mixed(state, scores))
        if state.rule == "vote":
            return log(np.maximum(scores, 0.0))
    if state.rule in _SUMS:
        scores = scores / fixed_temperature(state, temperature)
    known = np.isfinite(scores).any(axis=1)
    if known.all():
        return log_posteriors(scores)
    out = np.full(scores.shape, -np.inf)
    out[known] = log_posteriors(scores[known])
    return out
