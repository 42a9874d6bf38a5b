"""The learners that RPNB is compared with: one list, one interface, by name."""

from typing import Any

from sklearn.base import BaseEstimator

from rpnb.estimators.checks.parameters import check_choice
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
from rpnb.estimators.learners.online_bayes import OnlineBayes
from rpnb.estimators.learners.references import GaussianNB, MajorityClass, NoChange
from rpnb.estimators.learners.second_order import (
    AROW,
    CW,
    IELLIP,
    NAROW,
    NHERD,
    SCW1,
    SCW2,
    SOP,
)
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

_LEARNERS: dict[str, type[BaseEstimator]] = {
    learner.__name__: learner
    for learner in (
        Perceptron,
        OGD,
        PA,
        PA1,
        PA2,
        ROMMA,
        AggressiveROMMA,
        ALMA,
        CW,
        SCW1,
        SCW2,
        AROW,
        NAROW,
        NHERD,
        SOP,
        IELLIP,
        OnlineBagging,
        OnlineBoosting,
        OnlineBayes,
        GaussianNB,
        MajorityClass,
        NoChange,
    )
}


def names() -> list[str]:
    """Return the names of all learners."""
    return list(_LEARNERS)


def make(name: str, **parameters: Any) -> StreamClassifier[Any]:
    """Return a new learner by name, with the given parameters.

    >>> make("AROW", C=0.5).get_params()["C"]
    0.5
    """
    learner: Any = _LEARNERS[check_choice("name", name, _LEARNERS)]
    made: StreamClassifier[Any] = learner(**parameters)
    return made
