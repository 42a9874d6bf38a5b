"""The learners that RPNB is compared with: one list, one interface, by name."""

from typing import Any

from rpnb.estimators.checks.parameters import check_choice
from rpnb.estimators.learners import (
    confidence_weighted,
    ensembles,
    first_order,
    gaussian_nb,
    online_bayes,
    references,
    second_order,
)
from rpnb.estimators.learners.confidence_weighted import *
from rpnb.estimators.learners.ensembles import *
from rpnb.estimators.learners.first_order import *
from rpnb.estimators.learners.gaussian_nb import *
from rpnb.estimators.learners.online_bayes import *
from rpnb.estimators.learners.references import *
from rpnb.estimators.learners.second_order import *
from rpnb.estimators.registry import POOLED, RPNB, learners
from rpnb.estimators.stream.classifier import StreamClassifier

# A learner is added to `__all__` of its own module; here nothing has to be changed.
__all__ = ["make", "names"]
__all__ += confidence_weighted.__all__
__all__ += ensembles.__all__
__all__ += first_order.__all__
__all__ += gaussian_nb.__all__
__all__ += online_bayes.__all__
__all__ += references.__all__
__all__ += second_order.__all__


def names() -> list[str]:
    """Return the names of all learners."""
    return [name for name in learners() if name not in (RPNB, POOLED)]


def make(name: str, **parameters: Any) -> StreamClassifier[Any]:
    """Return a new learner by name, with the given parameters.

    >>> make("AROW", C=0.5).get_params()["C"]
    0.5
    """
    learner: Any = learners()[check_choice("name", name, names())].estimator
    made: StreamClassifier[Any] = learner(**parameters)
    return made
