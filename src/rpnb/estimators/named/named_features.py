"""Observations as mappings from names to numbers, for a classifier that takes rows.

Features may appear at any time, be absent, and come in any order. A feature's row of
the projection is a function of the seed and the name, so a prediction does not depend
on which features appeared first: an observation is projected by the rows of the
features it has, in the order of their numbers. An absent feature is zero.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.projection.by_feature import add_features, draw_features, projection_of
from rpnb.core.projection.record import make_projection
from rpnb.estimators.checks.named_values import (
    check_column,
    check_values,
    values_of,
)
from rpnb.estimators.named.feature_numbers import feature_number
from rpnb.estimators.protocol import initialise
from rpnb.estimators.rpnb import RPNBClassifier

_LEARNER = RPNBClassifier.__name__
_ANY_NUMBER = 0  # of the placeholder for an observation without features


class NamedFeatures:
    """The features of a classifier by name: all known ones, and those in use now.

    The classifier must be new. It is initialised here with the features of the first
    observation, and then accepts rows with the features that `row` or `table` used
    last.
    """

    def __init__(self, classifier: RPNBClassifier, first: Iterable[Hashable]) -> None:
        names = list(first)
        numbers = {name: feature_number(name) for name in names}
        initialise(classifier, max(len(names), 1), np.zeros(0, np.int64))
        recipe = classifier._state.projection
        no_features = np.zeros(0, np.uint64)
        self.classifier = classifier
        self._rows = draw_features(
            recipe.distribution, recipe.seed, recipe.K, recipe.q, no_features
        )
        # A name's number, and the position of its row among those drawn.
        self._known: dict[Hashable, tuple[int, int]] = {}
        self._by_number: dict[int, tuple[Hashable]] = {}
        self._names: tuple[Hashable, ...] = ()
        self._values: Callable[[Any], tuple[Any, ...]] = values_of(())
        self._add_features(numbers)
        self._use_features(names)

    @property
    def names(self) -> list[Hashable]:
        """Features seen so far, in the order of their appearance."""
        return list(self._known)

    @property
    def row_names(self) -> tuple[Hashable, ...]:
        """Features of the rows that the classifier currently accepts, in order."""
        return self._names

    def row(self, x: Mapping[Hashable, Any]) -> FloatArray:
        """Return an observation as a row (p,) that the classifier now accepts."""
        if len(x) == len(self._names):
            try:
                values = self._values(x)
            except KeyError:
                pass
            else:
                return _numbers(self._names, values)
        names = tuple(x)
        _numbers(names, tuple(x.values()))  # before anything changes
        self._switch_to(names)
        return _numbers(self._names, self._values(x))

    def table(self, columns: Mapping[Hashable, NDArray[Any]], n: int) -> FloatArray:
        """Return columns of n rows as a table (n, p) that it now accepts."""
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
        # As plain values, whose type does not depend on the kind of series.
        self.classifier.partial_fit(self.table(columns, n), list(y))

    def _switch_to(self, names: tuple[Hashable, ...]) -> None:
        """Make the classifier accept rows of these features, known or new."""
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
                    f"the features {other[0]!r} and {name!r} have the same 64-bit hash "
                    "(very rare): rename one of them"
                )
            taken[number] = (name,)
        for name, number in numbers.items():
            self._by_number[number] = (name,)
            self._known[name] = number, len(self._known)
        add_features(self._rows, np.array(list(numbers.values()), np.uint64))

    def _use_features(self, names: Iterable[Hashable]) -> None:
        """Make the classifier accept rows of these known features, sorted by number."""
        ordered = sorted(names, key=self._known.__getitem__)
        if ordered:
            places = [self._known[name][1] for name in ordered]
            projection = projection_of(self._rows, np.array(places))
        else:
            rows, number = self._rows, np.array([_ANY_NUMBER], np.uint64)
            projection = make_projection(
                rows.distribution, rows.seed, number, rows.K, rows.q
            )
        # The statistics are those of projected rows and need no change: the rows of the
        # new projection are drawn from the same seed.
        self.classifier._state.projection = projection
        self.classifier.n_features_in_ = projection.features.shape[0]
        self._names = tuple(ordered)
        self._values = values_of(self._names)


def _numbers(names: tuple[Hashable, ...], values: tuple[Any, ...]) -> FloatArray:
    """Return the values of one observation as numbers, or raise naming a bad one."""
    return check_values(names, values, _LEARNER, missing=False)
