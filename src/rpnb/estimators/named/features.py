"""Observations as mappings from names to numbers, for a classifier that takes rows.

Features may appear at any time, be absent, and come in any order. The projection's row
of a feature is a function of the seed and the name, so a prediction does not depend on
which features came first: an observation is projected by the rows of its own features,
in the order of their numbers. A feature that is absent is zero.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.by_feature import add_features, draw_features, projection_of
from rpnb.core.projection.record import make_projection
from rpnb.estimators.checks.feature_names import feature_number
from rpnb.estimators.checks.named_values import check_column, check_values
from rpnb.estimators.classifier import RPNBClassifier

_LEARNER = RPNBClassifier.__name__
_ANY_NUMBER = 0  # of the feature that stands in where an observation has none


class NamedFeatures:
    """The features of a classifier by name: all known ones, and those in use now.

    The classifier has seen nothing. It begins here, for the features of the first
    observation, and then takes rows of whatever features `row` or `table` made last.
    """

    def __init__(self, classifier: RPNBClassifier, first: Iterable[Hashable]) -> None:
        names = list(first)
        numbers = {name: feature_number(name) for name in names}
        classifier._initialise(max(len(names), 1), np.zeros(0, np.int64))
        recipe = classifier._state.projection
        no_features = np.zeros(0, np.uint64)
        self.classifier = classifier
        self._rows = draw_features(
            recipe.distribution, recipe.seed, recipe.K, recipe.q, no_features
        )
        # A name's number, and the place of its row among those drawn.
        self._known: dict[Hashable, tuple[int, int]] = {}
        self._by_number: dict[int, tuple[Hashable]] = {}
        self._names: tuple[Hashable, ...] = ()
        self._values: Callable[[Any], tuple[Any, ...]] = _no_values
        self._add_features(numbers)
        self._use_features(names)

    @property
    def names(self) -> list[Hashable]:
        """The features seen so far, in the order of their appearance."""
        return list(self._known)

    @property
    def row_names(self) -> tuple[Hashable, ...]:
        """The features of the rows that the classifier now takes, in their order."""
        return self._names

    def row(self, x: Mapping[Hashable, Any]) -> FloatArray:
        """Return an observation as the row (p,) that the classifier now takes."""
        if len(x) == len(self._names):
            try:
                values = self._values(x)
            except KeyError:
                pass
            else:
                return _numbers(self._names, values)
        names = tuple(x)
        _numbers(names, tuple(x.values()))  # before anything is remembered
        self._switch_to(names)
        return _numbers(self._names, self._values(x))

    def table(self, columns: Mapping[Hashable, NDArray[Any]], n: int) -> FloatArray:
        """Return columns of n rows as the table (n, p) that is now taken."""
        numbers = {
            name: check_column(name, values, _LEARNER, missing=False)
            for name, values in columns.items()
        }
        if len(numbers) != len(self._names) or any(
            name not in numbers for name in self._names
        ):
            self._switch_to(tuple(numbers))
        if not numbers:
            return np.zeros((n, 1))
        return np.column_stack([numbers[name] for name in self._names])

    def learn_one(self, x: Mapping[Hashable, Any], y: Any) -> None:
        """Learn an observation of class y."""
        self.classifier.learn_one(self.row(x), y)

    def learn_many(
        self, columns: Mapping[Hashable, NDArray[Any]], n: int, y: NDArray[Any]
    ) -> None:
        """Learn n observations, given as columns, with labels y (n,)."""
        # As plain values, whose type does not depend on the kind of the series.
        self.classifier.partial_fit(self.table(columns, n), list(y))

    def _switch_to(self, names: tuple[Hashable, ...]) -> None:
        """Let the classifier accept rows of these features, known or new."""
        new = [name for name in names if name not in self._known]
        if new:
            self._add_features({name: feature_number(name) for name in new})
        self._use_features(names)

    def _add_features(self, numbers: Mapping[Hashable, int]) -> None:
        """Draw the rows of new features."""
        taken = dict.fromkeys(numbers.values())
        for name, number in numbers.items():
            other = self._by_number.get(number, taken[number])
            if other is not None:
                raise ValueError(
                    f"the features {other[0]!r} and {name!r} have the same 64-bit "
                    "number, which happens once in many millions: rename one of them"
                )
            taken[number] = (name,)
        for name, number in numbers.items():
            self._by_number[number] = (name,)
            self._known[name] = number, len(self._known)
        add_features(self._rows, np.array(list(numbers.values()), np.uint64))

    def _use_features(self, names: Iterable[Hashable]) -> None:
        """Let the classifier accept rows of these known features, ordered by number."""
        ordered = sorted(names, key=self._known.__getitem__)
        if ordered:
            places = [self._known[name][1] for name in ordered]
            projection = projection_of(self._rows, np.array(places))
        else:
            rows, number = self._rows, np.array([_ANY_NUMBER], np.uint64)
            projection = make_projection(
                rows.distribution, rows.seed, number, rows.K, rows.q
            )
        self.classifier._set_projection(projection)
        self._names = tuple(ordered)
        self._values = _getter(self._names)


def _getter(names: tuple[Hashable, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that takes these names' values out of a mapping."""
    if len(names) > 1:
        return itemgetter(*names)
    return _no_values if not names else _OneValue(names[0])


def _no_values(_x: Any) -> tuple[Any, ...]:
    # Of a feature that is not there, which leaves no trace.
    return (0.0,)


class _OneValue:
    """What itemgetter would be if it gave a tuple also of one value."""

    def __init__(self, name: Hashable) -> None:
        self._name = name

    def __call__(self, x: Any) -> tuple[Any, ...]:
        return (x[self._name],)


def _numbers(names: tuple[Hashable, ...], values: tuple[Any, ...]) -> FloatArray:
    """Return the values of one observation as numbers, or name the one that is none."""
    return check_values(names, values, _LEARNER, missing=False)
