"""Which probabilities a run has to compute."""

import argparse

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.evaluate.drivers.driver import Predictions, Probabilities
from rpnb.evaluate.metrics import OF_PROBABILITIES


def wants_probabilities(arguments: argparse.Namespace) -> bool:
    """Return whether the file of predictions has probabilities."""
    return bool(arguments.predictions) and not arguments.no_probabilities


def needed_probabilities(arguments: argparse.Namespace) -> Probabilities:
    """Return which probabilities the metrics, the report and the file need."""
    asked = not OF_PROBABILITIES.isdisjoint(arguments.metrics)
    if asked or (arguments.report and not arguments.no_probabilities):
        return "truth"
    return "prediction" if wants_probabilities(arguments) else "none"


def of_predictions(found: Predictions) -> FloatArray | None:
    """Return the probability of each prediction; NaN for none."""
    if found.details is None:
        return found.probability
    confidence = found.details.confidence
    return np.where(confidence > 0.0, confidence, np.nan)
