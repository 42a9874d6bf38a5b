"""Baseline learners that RPNB is compared with, all with the same interface."""

from typing import Any

from rpnb.estimators.checks.parameters import check_choice
from rpnb.estimators.learners.confidence_weighted import CW, SCW1, SCW2
from rpnb.estimators.learners.ensembles import OnlineBagging, OnlineBoosting
from rpnb.estimators.learners.first_order import (
    ALMA,
    OGD,
    PA,
    PA1,
    PA2,
    ROMMA,
    AggressiveROMMA,
    Perceptron,
)
from rpnb.estimators.learners.gaussian_nb import GaussianNB
from rpnb.estimators.learners.online_bayes import OnlineBayes
from rpnb.estimators.learners.references import MajorityClass, NoChange
from rpnb.estimators.learners.second_order import AROW, IELLIP, NAROW, NHERD, SOP
from rpnb.estimators.registry import POOLED, RPNB, learners
from rpnb.estimators.stream.classifier import StreamClassifier

__all__ = [
    "ALMA",
    "AROW",
    "CW",
    "IELLIP",
    "NAROW",
    "NHERD",
    "OGD",
    "PA",
    "PA1",
    "PA2",
    "ROMMA",
    "SCW1",
    "SCW2",
    "SOP",
    "AggressiveROMMA",
    "GaussianNB",
    "MajorityClass",
    "NoChange",
    "OnlineBagging",
    "OnlineBayes",
    "OnlineBoosting",
    "Perceptron",
    "make",
    "names",
]


def names() -> list[str]:
    """Return the names of all baseline learners.

    Returns
    -------
    list of str
        Names that `make` accepts.

    Examples
    --------
    >>> from rpnb import baselines
    >>> baselines.names()[:3]
    ['Perceptron', 'OGD', 'PA']
    """
    return [name for name in learners() if name not in (RPNB, POOLED)]


def make(name: str, **parameters: Any) -> StreamClassifier:
    """Create a baseline learner by name.

    Parameters
    ----------
    name : str
        Name of the learner, one of `names`.
    **parameters
        Parameters of the learner's constructor.

    Returns
    -------
    estimator
        A new learner that has seen no data.

    Examples
    --------
    >>> from rpnb import baselines
    >>> baselines.make("AROW", C=0.5)
    AROW(C=0.5)
    """
    learner: Any = learners()[check_choice("name", name, names())].estimator
    made: StreamClassifier = learner(**parameters)
    return made
