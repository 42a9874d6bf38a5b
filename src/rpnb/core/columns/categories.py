"""Columns of categories as features, in which a category is not an order.

A column of few categories becomes one column per category, which is 1 where the row has
it; a column of many becomes the frequencies of the classes among the rows before with
the same category. Which of the two, and for which categories, is found out from the
first rows: after 32, 128 and 512 labelled rows the layout is chosen again, and the
learner learns these rows again where it has changed. No result depends on how rows are
cut into calls, and memory is bounded whatever the values.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray

#: Labelled rows after which the layout of the features is chosen again.
LOOKS: Final = (32, 128, 512)
#: Categories of a column up to which each has its own column.
MOST_INDICATORS: Final = 12
#: Columns that all indicators may have together, about.
MOST_COLUMNS: Final = 512
#: Categories of a column that are told apart; others share places by their hash.
MOST_CATEGORIES: Final = 4096
SHARED_PLACES: Final = 1024
#: Groups of classes whose frequencies are counted: the first class seen, and the
#: others in turns.
GROUPS: Final = 5
#: Rows that the frequencies of the classes as a whole count as, beside a category's.
PRIOR_ROWS: Final = 1.0

#: In a layout: the number of the category itself, before any row is known.
NUMBER: Final = -1
#: In a layout: frequencies of the classes; more than that is a number of indicators.
FREQUENCIES: Final = 0

_NAN_KEY = int(np.array(np.nan).view(np.int64))


class Layout(NamedTuple):
    """What columns of categories become."""

    columns: tuple[int, ...]
    """for each of them NUMBER, FREQUENCIES, or how many categories have indicators"""
    frequencies: int
    """columns that FREQUENCIES stands for"""

    def width(self, j: int) -> int:
        """Return how many columns the column of categories j becomes."""
        kind = self.columns[j]
        if kind == FREQUENCIES:
            return self.frequencies
        return 1 if kind <= 2 else kind


class KeptRows(NamedTuple):
    """The first labelled rows, which are learned again in another layout."""

    X: FloatArray
    """(n, P)"""
    y: IntArray
    """(n,) numbers of their classes"""
    weight: FloatArray
    """(n,)"""


class Categories:
    """What is known about the categories of some columns, and their present layout.

    Parameters
    ----------
    places
        The columns of categories, ascending.
    P
        Number of columns of the rows.
    M
        Number of classes.
    layout
        What the columns become; by default, what they become before any row is known.
    """

    def __init__(
        self, places: Sequence[int], P: int, M: int, layout: Layout | None = None
    ) -> None:
        self.places, self.P = tuple(places), P
        k = len(self.places)
        self.layout = layout or Layout((NUMBER,) * k, 1)
        self.known: list[dict[int, int]] = [{} for _ in range(k)]
        """the categories of each column and their numbers, in order of appearance"""
        self.counts: list[dict[int, list[int]]] = [{} for _ in range(k)]
        """by column and category: rows of each group of classes; where they are used"""
        self.totals = [0] * GROUPS
        """rows of each group of classes"""
        self.ranks = np.full(M, -1)
        """(M,) the order in which classes were first seen; −1: not yet"""
        self.seen = 0
        """labelled rows"""
        self.kept: KeptRows | None = KeptRows(
            np.zeros((0, P)), np.zeros(0, np.int64), np.zeros(0)
        )
        """None once the layout is final"""

    @property
    def width(self) -> int:
        """Number of columns of the features."""
        own = sum(self.layout.width(j) for j in range(len(self.places)))
        return self.P - len(self.places) + own

    # Rows

    def encode(self, X: FloatArray) -> FloatArray:
        """Return the features (n, width) of rows (n, P); changes nothing."""
        y = np.full(X.shape[0], -1)
        return self._features(X, y, self.ranks)

    def learn(self, X: FloatArray, y: IntArray, weight: FloatArray) -> FloatArray:
        """Return the features of rows, each by the rows before it, and learn them.

        A row of class −1 is not learned. At most `rows_until_look` labelled rows.
        """
        labelled = np.flatnonzero(y >= 0)
        for number in y[labelled].tolist():
            if self.ranks[number] < 0:
                self.ranks[number] = self.ranks.max() + 1
        features = self._features(X, y, self.ranks)
        self.seen += labelled.shape[0]
        if self.kept is not None:
            X_kept, y_kept, w_kept = self.kept
            each = np.broadcast_to(weight, y.shape)[labelled]
            self.kept = KeptRows(
                np.concatenate([X_kept, X[labelled]]),
                np.concatenate([y_kept, y[labelled]]),
                np.concatenate([w_kept, each]),
            )
        return features

    def _features(self, X: FloatArray, y: IntArray, ranks: IntArray) -> FloatArray:
        """Return the features of rows; learn those of a class y ≥ 0."""
        n = X.shape[0]
        groups = [-1 if c < 0 else _group(int(ranks[c])) for c in y.tolist()]
        out = np.empty((n, self.width))
        at, j = 0, 0
        totals = self.totals
        for column in range(self.P):
            if j == len(self.places) or column != self.places[j]:
                out[:, at] = X[:, column]
                at += 1
                continue
            width = self.layout.width(j)
            part = out[:, at : at + width]
            numbers = self._numbers(j, X[:, column], groups)
            if self.layout.columns[j] == FREQUENCIES:
                self._frequencies(j, numbers, groups, part)
            else:
                _indicate(self.layout.columns[j], np.array(numbers, np.int64), part)
            at, j = at + width, j + 1
        for group in groups:
            if group >= 0:
                totals[group] += 1
        return out

    def _numbers(self, j: int, values: FloatArray, groups: list[int]) -> list[int]:
        """Return the number of each row's category; one not known has the next."""
        known = self.known[j]
        found = []
        for key, group in zip(_keys(values), groups, strict=True):
            number = known.get(key)
            if number is None:
                number = len(known)
                if number >= MOST_CATEGORIES:
                    number = MOST_CATEGORIES + _place(key)
                elif group >= 0:
                    known[key] = number
            found.append(number)
        return found

    def _frequencies(
        self, j: int, numbers: list[int], groups: list[int], out: FloatArray
    ) -> None:
        """Fill in the frequencies of groups 1 … B in a row's category.

        (c_g + a·π_g)/(c + a), with c_g rows of group g among the c rows of the category
        before, π_g their share of all rows and a = 1: Micci-Barreca, "A preprocessing
        scheme for high-cardinality categorical attributes", SIGKDD Explorations 3(1),
        2001, eq. 3, with λ = c/(c + a); by the rows before, as Prokhorenkova et al.,
        "CatBoost: unbiased boosting with categorical features", NeurIPS 2018, eq. 5.
        """
        counts, totals = self.counts[j], list(self.totals)
        n = sum(totals)
        B, a = out.shape[1], PRIOR_ROWS
        for i, (number, group) in enumerate(zip(numbers, groups, strict=True)):
            own = counts.get(number)
            rows = 0 if own is None else sum(own)
            for g in range(1, B + 1):
                share = (totals[g] + 1.0 / GROUPS) / (n + 1.0)
                c = 0 if own is None else own[g]
                out[i, g - 1] = (c + a * share) / (rows + a)
            if group >= 0:
                if own is None:
                    own = counts[number] = [0] * GROUPS
                own[group] += 1
                totals[group] += 1
                n += 1

    # Layouts

    def rows_until_look(self) -> int | None:
        """Return how many labelled rows there are before the layout is chosen again."""
        return next((rows - self.seen for rows in LOOKS if rows > self.seen), None)

    def looked(self) -> tuple["Categories", KeptRows | None]:
        """Return categories of the layout that fits the rows so far.

        To be called when `seen` is one of `LOOKS`. Where the layout is another one,
        they know nothing yet, and the rows that they and the learner are to learn
        again come along.
        """
        layout = self._fitting()
        last = self.seen >= LOOKS[-1]
        kept = self.kept
        if layout == self.layout or kept is None:
            if last:
                self.kept = None
            return self, None
        fresh = Categories(self.places, self.P, self.ranks.shape[0], layout)
        if last:
            fresh.kept = None
        return fresh, kept

    def _fitting(self) -> Layout:
        """Return the layout that fits the categories known so far."""
        k = max(len(self.places), 1)
        most = min(MOST_INDICATORS, max(2, MOST_COLUMNS // k))
        columns = tuple(
            len(known) if 0 < len(known) <= most else FREQUENCIES
            for known in self.known
        )
        classes = int((self.ranks >= 0).sum())
        return Layout(columns, min(max(classes - 1, 1), GROUPS - 1))

    # Classes

    def arrange_classes(self, source: IntArray) -> None:
        """Let class m be what class source[m] was, or new if −1."""
        old, known = self.ranks, source >= 0
        self.ranks = np.full(source.shape[0], -1)
        self.ranks[known] = old[source[known]]
        if self.kept is not None and old.shape[0] > 0:
            target = np.zeros(old.shape[0], np.int64)
            target[source[known]] = np.flatnonzero(known)
            self.kept = self.kept._replace(y=target[self.kept.y])


def _group(rank: int) -> int:
    """Return the group of a class: the first seen alone, the others in turns."""
    return 0 if rank == 0 else 1 + (rank - 1) % (GROUPS - 1)


def _keys(values: FloatArray) -> list[int]:
    """Return the bits of numbers, one pattern for all that are NaN, one for zeros."""
    bits = (values + 0.0).view(np.int64)
    found: list[int] = np.where(np.isnan(values), _NAN_KEY, bits).tolist()
    return found


def _place(key: int) -> int:
    """Return the shared place of a category that is not told apart."""
    return ((key * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF) >> 54


def _indicate(kind: int, numbers: IntArray, out: FloatArray) -> None:
    """Fill in the indicators of categories 0 … kind − 1, or what stands for them.

    Two categories are −1 and 1, and any other 0. Of three or more, a category that has
    no column of its own is a half in each of two columns: the first such pair, then the
    next, and after the last the first again.
    """
    if kind == NUMBER:
        out[:, 0] = numbers
    elif kind == 1:
        out[:, 0] = numbers > 0
    elif kind == 2:
        out[:, 0] = np.array([-1.0, 1.0, 0.0])[np.minimum(numbers, 2)]
    else:
        out[:] = numbers[:, None] == np.arange(kind)
        late = np.flatnonzero(numbers >= kind)
        if late.shape[0] > 0:
            first, second = np.triu_indices(kind, 1)
            pair = (numbers[late] - kind) % first.shape[0]
            out[late, first[pair]] = 0.5
            out[late, second[pair]] = 0.5
