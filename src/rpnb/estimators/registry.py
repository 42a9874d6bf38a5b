"""Registry of learners by name, for baselines, studies and commands.

Besides `PooledClassifier` and `RPNBClassifier`, a learner is any class that a module of
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

from rpnb.estimators.state_sizes import (
    Size,
    of_matrices,
    of_one_matrix,
    of_pool,
    of_projections,
    of_trees,
    of_vectors,
    parameter,
    rows_of_pool,
)
from rpnb.estimators.stream.classifier import StreamClassifier

Family = Literal[
    "rpnb", "pooled", "first order", "second order", "ensemble", "Bayes", "reference"
]

#: The name of `RPNBClassifier` among the learners.
RPNB = "RPNB"
#: The name of `PooledClassifier` among the learners.
POOLED = "Pooled"
#: The default learner of commands, client and service.
DEFAULT = POOLED
#: Other names of learners.
ALIASES: Mapping[str, str] = {
    "SCW": "SCW1",
    "PooledClassifier": POOLED,
    "RPNBClassifier": RPNB,
}

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

# How large the state of a learner is, by family; of the others, two vectors per class.
_SIZES: Mapping[Family, Size] = {
    "rpnb": of_projections,
    "pooled": of_pool,
    "second order": of_one_matrix,
    "ensemble": of_trees,
}
_MATRIX_PER_CLASS = "OnlineBayes"

# "Use it …"
_WHEN: Mapping[str, str] = {
    POOLED: "first: the lowest error on most data; scales features itself, takes "
    "missing values, nothing to tune (the default)",
    RPNB: "where speed, exact merging or reasons for each prediction matter more than "
    "the error; the paper's; scale the features",
    "Perceptron": "as the simplest linear learner, for sparse rows too",
    "ROMMA": "for two or more classes that a plane separates, with few updates",
    "AggressiveROMMA": "as ROMMA, where a margin is worth more updates",
    "ALMA": "for two classes that a plane with a margin separates",
    "OGD": "for a linear learner whose steps shrink, for sparse rows too",
    "PA": "for sparse rows, such as words, and very high speed; labels without noise",
    "PA1": "as PA, where some labels are wrong: steps are bounded by C",
    "PA2": "as PA, where some labels are wrong: steps are damped by C",
    "CW": "for sparse signals in clean labels; one wrong label costs much",
    "SCW1": "as a linear learner with confidence weights, robust to label noise",
    "SCW2": "as SCW1, with another penalty for wrong labels",
    "SOP": "for two classes, where columns are strongly correlated",
    "IELLIP": "for two classes, where columns are strongly correlated",
    "NHERD": "for two classes and a linear learner that is robust to noise",
    "AROW": "as the first linear learner to try: fast and robust to label noise",
    "NAROW": "for two classes, as AROW with bounded mistakes",
    "OnlineBagging": "for rules such as a > 3 and b = red; slower",
    "OnlineBoosting": "for rules where labels are clean; slower",
    "OnlineBayes": "for few columns with strong correlations",
    "GaussianNB": "where columns are independent within a class: small and fast",
    "MajorityClass": "as a reference: what beats it has learned something",
    "NoChange": "as a reference: hard to beat where labels are autocorrelated",
}


@dataclass(frozen=True, slots=True)
class RegisteredLearner:
    """A learner that can be found by name."""

    name: str
    estimator: type[StreamClassifier]
    family: Family

    @property
    def description(self) -> str:
        """What it is, in a sentence."""
        paragraph = (inspect.getdoc(self.estimator) or "").split("\n\n")[0]
        return " ".join(paragraph.split())

    @property
    def when(self) -> str:
        """When to use it: completes a sentence that begins with "use it"."""
        return _WHEN[self.name]

    @property
    def seeded(self) -> bool:
        """Whether it draws random numbers, and has a `random_state`."""
        return "random_state" in inspect.signature(self.estimator).parameters

    def state_numbers(
        self,
        parameters: Mapping[str, Any],
        p: int,
        classes: int,
        *,
        kept_rows: bool = True,
    ) -> float:
        """Estimate, from above, how many numbers a state holds.

        Parameters
        ----------
        parameters
            Parameters that differ from the defaults. Invalid ones are ignored.
        p, classes
            Numbers of features and of classes.
        kept_rows
            Whether to count the rows that boosted trees keep. A new state has none, and
            learning a row changes few of them.
        """
        number = parameter(self.estimator, parameters)
        size = _SIZES.get(self.family, of_vectors)
        if self.name == _MATRIX_PER_CLASS:
            size = of_matrices
        found = size(parameters, number, p, classes)
        if kept_rows and self.family == "pooled":
            found += rows_of_pool(parameters, number, p, classes)
        return found

    def class_steps(self, p: int) -> float:
        """Estimate the steps of adding a class, besides those of its row."""
        return float(p) ** 3 if self.name == _MATRIX_PER_CLASS else 0.0


@cache
def learners() -> Mapping[str, RegisteredLearner]:
    """Return all learners by name, Pooled first, then RPNB.

    >>> learners()["AROW"].family
    'second order'
    >>> [name for name, learner in learners().items() if learner.seeded]
    ['Pooled', 'RPNB', 'OnlineBagging', 'OnlineBoosting']
    """
    from rpnb.estimators.pooled import PooledClassifier
    from rpnb.estimators.rpnb import RPNBClassifier

    found = {
        POOLED: RegisteredLearner(POOLED, PooledClassifier, "pooled"),
        RPNB: RegisteredLearner(RPNB, RPNBClassifier, "rpnb"),
    }
    for module_name, family in _MODULES:
        module = import_module(f"rpnb.estimators.{module_name}")
        for name, value in vars(module).items():
            if name in module.__all__:
                found[name] = RegisteredLearner(name, value, family)
    return MappingProxyType(found)


def stream_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters of a model that learns samples in the order they arrive.

    All but `shuffle`, which concerns `fit` alone.
    """
    given: dict[str, Any] = model.get_params(deep=False)
    return {name: value for name, value in given.items() if name != "shuffle"}


@cache
def _spellings() -> Mapping[str, str]:
    """Return the spelling of each name and alias, by the name in lower case.

    Names that differ in case alone would be ambiguous, and are left out.
    """
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys((*learners(), *ALIASES)):
        found.setdefault(name.casefold(), []).append(name)
    return {key: names[0] for key, names in found.items() if len(names) == 1}


def spelled(name: str) -> str | None:
    """Return a learner's name in its canonical spelling, None if there is none.

    Case does not matter. A class name becomes the short name of its learner; other
    aliases stay.

    >>> [spelled(name) for name in ("pooled", "RPNBClassifier", "scw", "forest")]
    ['Pooled', 'RPNB', 'SCW', None]
    """
    if name not in learners() and name not in ALIASES:
        found = _spellings().get(name.casefold())
        if found is None:
            return None
        name = found
    return ALIASES[name] if name.endswith("Classifier") else name


def find_learner(name: str) -> RegisteredLearner | None:
    """Return a learner by its name or alias in any case, None if there is none."""
    found = spelled(name)
    return None if found is None else learners()[ALIASES.get(found, found)]
