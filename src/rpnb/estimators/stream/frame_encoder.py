"""Tables with categories, text and dates: their rows as features of a learner.

Text and dates become numbers row by row. How categories become features depends on the
rows before, and a better layout may be chosen after the first rows, which the learner
then learns again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rpnb.core.columns.categories import LOOKS, Categories
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.row_blocks import row_blocks
from rpnb.estimators.checks.columns import Columns
from rpnb.estimators.stream.learner import Learner


@dataclass
class FrameEncoder:
    """The kinds of a table's columns, and what was learned about its categories."""

    columns: Columns
    categories: Categories | None
    """None if no column holds categories"""

    @classmethod
    def begin(cls, columns: Columns, M: int) -> Self:
        """Return the encoder before the first row, for M classes."""
        if not columns.categories:
            return cls(columns, None)
        orders = columns.orders_of_categories
        categories = Categories(columns.categories, columns.width, M, orders=orders)
        return cls(columns, categories)

    @property
    def width(self) -> int:
        """Number of features of a row as the learner sees it."""
        return self.columns.width if self.categories is None else self.categories.width

    def refuse_numbers(self, X: Any) -> None:
        """Refuse numbers in a column whose categories so far are text."""
        if self.categories is not None:
            self.columns.refuse_numbers(X, self.categories.known)

    def encode(self, rows: Any) -> Any:
        """Return the features of coded rows; changes nothing."""
        return rows if self.categories is None else self.categories.encode(rows)

    def learn(self, rows: Any, y: IntArray, weight: FloatArray) -> Any:
        """Return the features of coded rows, each from those before, and learn them.

        The rows are one of the parts that `parts` returns.
        """
        if self.categories is None:
            return rows
        return self.categories.learn(rows, y, weight)

    def parts(self, y: IntArray) -> Iterator[slice]:
        """Split rows of classes y where the layout of the categories may change.

        Also splits into blocks, since there may be many more features than columns.
        Call `look` after each part.
        """
        if self.categories is None:
            yield slice(0, y.shape[0])
            return
        for block in row_blocks(y.shape[0]):
            start = block.start
            while start < block.stop:
                until = self.categories.rows_until_look()
                stop = block.stop
                if until is not None:
                    labelled = np.flatnonzero(y[start:stop] >= 0)
                    if labelled.shape[0] >= until:
                        stop = start + int(labelled[until - 1]) + 1
                yield slice(start, stop)
                start = stop

    def look(self, learner: Learner[Any], state: Any, classes: Any) -> Any:
        """Choose the layout of the categories; return the state to go on with.

        It is another one if the layout changes: the first rows are learned again. The
        counts of past predictions stay unchanged.
        """
        if self.categories is None or self.categories.seen not in LOOKS:
            return state
        self.categories, kept = self.categories.looked()
        if kept is None:
            return state
        fresh = learner.restart(state, self.categories.width, classes)
        features = self.categories.learn(*kept)
        learner.learn(fresh, features, kept.y, kept.weight, None)
        return learner.restarted(state, fresh)

    def arrange_classes(self, source: IntArray) -> None:
        """Renumber the classes: class m was class source[m], or is new if −1."""
        if self.categories is not None:
            self.categories.arrange_classes(source)


def code_table(
    columns: Columns, X: Any, *, allow_nan: bool
) -> tuple[Any, Sequence[Any] | None]:
    """Return a table as numbers, with text hashed, and the names of its columns.

    A missing category is one more category, also for learners that take no NaN.
    """
    coded = columns.code(X)
    if not allow_nan:
        coded = columns.with_missing(coded)
    return coded, columns.names_of(X)
