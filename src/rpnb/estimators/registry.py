"""The learners of this package by name: one list for baselines, studies and commands.

Besides `RPNBClassifier` and `PooledClassifier`, a learner is any class that a module of
`rpnb.estimators.learners` exports in its `__all__`; there is nothing to register. Its
description is the first sentence of its docstring.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

from rpnb.estimators.stream.classifier import StreamClassifier

Family = Literal[
    "rpnb", "pooled", "first order", "second order", "ensemble", "Bayes", "reference"
]

#: The name of `RPNBClassifier` among the learners.
RPNB = "RPNB"
#: The name of `PooledClassifier` among the learners.
POOLED = "Pooled"
#: Other names of learners.
ALIASES: Mapping[str, str] = {
    "SCW": "SCW1",
    "RPNBClassifier": RPNB,
    "PooledClassifier": POOLED,
}
#: The learners that `rpnb compare` compares if none are named.
COMPARED = (RPNB, POOLED, "AROW", "SCW", "PA", "GaussianNB")

# The order of these modules, and of the classes in them, is that of the names.
_MODULES: tuple[tuple[str, Family], ...] = (
    ("learners.first_order", "first order"),
    ("learners.confidence_weighted", "second order"),
    ("learners.second_order", "second order"),
    ("learners.ensembles", "ensemble"),
    ("learners.online_bayes", "Bayes"),
    ("learners.gaussian_nb", "Bayes"),
    ("learners.references", "reference"),
)


# "Take it …"
_WHEN: Mapping[str, str] = {
    RPNB: "for a stream of numbers and classes of any shape: few updates, merges, late "
    "classes; scale the columns",
    POOLED: "where the fewest errors matter more than speed; scales rows itself",
    "Perceptron": "as the simplest linear learner, for sparse rows too",
    "ROMMA": "for two or more classes that a plane separates, with few updates",
    "AggressiveROMMA": "as ROMMA, where a margin is worth more updates",
    "ALMA": "for two classes that a plane with a margin separates",
    "OGD": "for a linear learner whose steps shrink, for sparse rows too",
    "PA": "for sparse rows, such as words, and very high speed; labels without noise",
    "PA1": "as PA, where some labels are wrong: steps are bounded by C",
    "PA2": "as PA, where some labels are wrong: steps are damped by C",
    "CW": "for sparse signals in clean labels; one wrong label costs much",
    "SCW1": "as a linear learner with confidence that bears wrong labels",
    "SCW2": "as SCW1, with another penalty for wrong labels",
    "SOP": "for two classes, where columns are strongly correlated",
    "IELLIP": "for two classes, where columns are strongly correlated",
    "NHERD": "for two classes and a linear learner that bears noise",
    "AROW": "as the first linear learner to try: quick, and bears wrong labels",
    "NAROW": "for two classes, as AROW with bounded mistakes",
    "OnlineBagging": "for rules such as a > 3 and b = red; slower",
    "OnlineBoosting": "for rules where labels are clean; slower",
    "OnlineBayes": "for few columns with strong correlations",
    "GaussianNB": "where columns are independent within a class: small and fast",
    "MajorityClass": "as a reference: what beats it has learnt something",
    "NoChange": "as a reference: where labels come in runs it is hard to beat",
}


@dataclass(frozen=True, slots=True)
class RegisteredLearner:
    """A learner that can be found by name."""

    name: str
    estimator: type[StreamClassifier[Any]]
    family: Family

    @property
    def description(self) -> str:
        """What it is, in a sentence."""
        paragraph = (inspect.getdoc(self.estimator) or "").split("\n\n")[0]
        return " ".join(paragraph.split())

    @property
    def when(self) -> str:
        """When to take it: the end of a sentence that begins with "take it"."""
        return _WHEN[self.name]

    @property
    def seeded(self) -> bool:
        """Whether it draws random numbers, and has a `random_state`."""
        return "random_state" in inspect.signature(self.estimator).parameters


@cache
def learners() -> Mapping[str, RegisteredLearner]:
    """Return all learners by name, RPNB first, then Pooled.

    >>> learners()["AROW"].family
    'second order'
    >>> [name for name, learner in learners().items() if learner.seeded]
    ['RPNB', 'Pooled', 'OnlineBagging', 'OnlineBoosting']
    """
    from rpnb.estimators.classifier import RPNBClassifier
    from rpnb.estimators.pooled import PooledClassifier

    found = {
        RPNB: RegisteredLearner(RPNB, RPNBClassifier, "rpnb"),
        POOLED: RegisteredLearner(POOLED, PooledClassifier, "pooled"),
    }
    for module_name, family in _MODULES:
        module = import_module(f"rpnb.estimators.{module_name}")
        for name, value in vars(module).items():
            if name in module.__all__:
                found[name] = RegisteredLearner(name, value, family)
    return MappingProxyType(found)


def find_learner(name: str) -> RegisteredLearner | None:
    """Return a learner by its name or another name of it, None if there is none."""
    return learners().get(ALIASES.get(name, name))
