"""Features from categorical columns, learned online.

A column with few categories is one-hot encoded; a column with many becomes the class
frequencies among earlier rows of the same category (target encoding); a column of
ordered categories becomes their ranks. The layout is chosen from the first rows and
again after 32, 128 and 512 labelled ones; if it changes, the learner learns these rows
again. No result depends on how rows are divided into calls, and memory is bounded for
any values.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray

#: Labelled rows after which the layout of the features is chosen again.
LOOKS: Final = (32, 128, 512)
#: Most categories of a column that is one-hot encoded.
MOST_INDICATORS: Final = 12
#: About the most columns of all one-hot encodings together.
MOST_COLUMNS: Final = 512
#: Most categories of a column with separate counts; others share counts by their hash.
MOST_CATEGORIES: Final = 4096
SHARED_PLACES: Final = 1024
#: Groups of classes whose frequencies are counted: the first class seen alone, the
#: others assigned round-robin.
GROUPS: Final = 5
#: Weight of the overall class frequencies beside those of a category, in rows.
PRIOR_ROWS: Final = 1.0

# Entries of a layout; a positive entry is a number of indicators.
#: The rank of the category in a given order.
ORDERED: Final = -2
#: The number of the category itself, before any row was seen.
NUMBER: Final = -1
#: Class frequencies.
FREQUENCIES: Final = 0

_NAN_KEY = int(np.array(np.nan).view(np.int64))


class Layout(NamedTuple):
    """How categorical columns are encoded."""

    columns: tuple[int, ...]
    """for each column ORDERED, NUMBER, FREQUENCIES, or its number of indicators"""
    frequencies: int
    """columns that each FREQUENCIES column becomes"""

    def width(self, j: int) -> int:
        """Return how many columns categorical column j becomes."""
        kind = self.columns[j]
        if kind == FREQUENCIES:
            return self.frequencies
        return 1 if kind <= 2 else kind


class KeptRows(NamedTuple):
    """The first labelled rows, which are learned again if the layout changes."""

    X: FloatArray
    """(n, P)"""
    y: IntArray
    """(n,) numbers of their classes"""
    weight: FloatArray
    """(n,)"""


class Categories:
    """What was learned about categorical columns, and their present layout.

    Parameters
    ----------
    places
        Indices of the categorical columns, ascending.
    P
        Number of columns of the rows.
    M
        Number of classes.
    layout
        How the columns are encoded; by default, the layout before the first row.
    orders
        For each categorical column its categories in ascending order, or an empty
        sequence if they have no order.
    """

    def __init__(
        self,
        places: Sequence[int],
        P: int,
        M: int,
        layout: Layout | None = None,
        orders: Sequence[Sequence[float]] = (),
    ) -> None:
        self.places, self.P = tuple(places), P
        k = len(self.places)
        self.orders = tuple(orders) or ((),) * k
        self._steps = [_steps(order) for order in self.orders]
        self.layout = layout or Layout(
            tuple(ORDERED if order else NUMBER for order in self.orders), 1
        )
        self.known: list[dict[int, int]] = [{} for _ in range(k)]
        """the categories of each column and their numbers, in order of appearance"""
        self.counts: list[dict[int, list[int]]] = [{} for _ in range(k)]
        """by column and category: rows of each class group; FREQUENCIES columns only"""
        self.totals = [0] * GROUPS
        """rows of each class group"""
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
        return self._features(X, np.full(X.shape[0], -1))

    def learn(self, X: FloatArray, y: IntArray, weight: FloatArray) -> FloatArray:
        """Return the features of rows, each from the rows before it, and learn them.

        A row of class −1 is not learned. Give at most `rows_until_look` labelled rows.
        """
        labelled = np.flatnonzero(y >= 0)
        for number in y[labelled].tolist():
            if self.ranks[number] < 0:
                self.ranks[number] = self.ranks.max() + 1
        features = self._features(X, y)
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

    def _features(self, X: FloatArray, y: IntArray) -> FloatArray:
        """Return the features of rows; learn those of a class y ≥ 0."""
        groups = [-1 if c < 0 else _group(int(self.ranks[c])) for c in y.tolist()]
        out = np.empty((X.shape[0], self.width))
        at, j = 0, 0
        for column in range(self.P):
            if j == len(self.places) or column != self.places[j]:
                out[:, at] = X[:, column]
                at += 1
                continue
            width = self.layout.width(j)
            self._encode(j, X[:, column], groups, out[:, at : at + width])
            at, j = at + width, j + 1
        for group in groups:
            if group >= 0:
                self.totals[group] += 1
        return out

    def _encode(
        self, j: int, values: FloatArray, groups: list[int], out: FloatArray
    ) -> None:
        """Fill in the features of categorical column j; learn rows of a group ≥ 0."""
        kind = self.layout.columns[j]
        if kind == ORDERED:
            # Missing and unknown values are in the middle of the order.
            middle = 0.5 * (len(self.orders[j]) - 1)
            out[:, 0] = [self._steps[j].get(key, middle) for key in _keys(values)]
            return
        numbers = self._numbers(j, values, groups)
        if kind == FREQUENCIES:
            self._frequencies(j, numbers, groups, out)
        else:
            _indicate(kind, np.array(numbers, np.int64), out)

    def _numbers(self, j: int, values: FloatArray, groups: list[int]) -> list[int]:
        """Return the number of each row's category; a new category gets the next."""
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
        """Fill in the frequencies of class groups 1 … B in each row's category.

        (c_g + a·π_g)/(c + a), with c_g rows of group g among the c earlier rows of the
        category, π_g their share of all rows and a = 1: Micci-Barreca, "A preprocessing
        scheme for high-cardinality categorical attributes", SIGKDD Explorations 3(1),
        2001, eq. 3, with λ = c/(c + a). Only earlier rows count, as in Prokhorenkova et
        al., "CatBoost: unbiased boosting with categorical features", NeurIPS 2018,
        eq. 5.
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
        """Return how many more labelled rows there are before the next look."""
        return next((rows - self.seen for rows in LOOKS if rows > self.seen), None)

    def looked(self) -> tuple["Categories", KeptRows | None]:
        """Choose the layout again; return the categories to use from now on.

        Call this when `seen` is one of `LOOKS`. If the layout changes, the result is a
        new object that has learned nothing, with the rows that it and the learner have
        to learn again.
        """
        layout = self._best_layout()
        last = self.seen >= LOOKS[-1]
        kept = self.kept
        if layout == self.layout or kept is None:
            if last:
                self.kept = None
            return self, None
        M = self.ranks.shape[0]
        fresh = Categories(self.places, self.P, M, layout, self.orders)
        if last:
            fresh.kept = None
        return fresh, kept

    def _best_layout(self) -> Layout:
        """Return the layout that suits the categories seen so far."""
        k = max(len(self.places), 1)
        most = min(MOST_INDICATORS, max(2, MOST_COLUMNS // k))
        columns = tuple(
            (len(known) if 0 < len(known) <= most else FREQUENCIES)
            if kind != ORDERED
            else ORDERED
            for kind, known in zip(self.layout.columns, self.known, strict=True)
        )
        classes = int((self.ranks >= 0).sum())
        return Layout(columns, min(max(classes - 1, 1), GROUPS - 1))

    # Classes

    def arrange_classes(self, source: IntArray) -> None:
        """Renumber the classes: class m was class source[m], or is new if −1."""
        old, known = self.ranks, source >= 0
        self.ranks = np.full(source.shape[0], -1)
        self.ranks[known] = old[source[known]]
        if self.kept is not None and old.shape[0] > 0:
            target = np.zeros(old.shape[0], np.int64)
            target[source[known]] = np.flatnonzero(known)
            self.kept = self.kept._replace(y=target[self.kept.y])


def _group(rank: int) -> int:
    """Return the group of the class that was seen `rank`-th."""
    return 0 if rank == 0 else 1 + (rank - 1) % (GROUPS - 1)


def _keys(values: FloatArray) -> list[int]:
    """Return the bits of numbers, the same for all NaNs and for both zeros."""
    bits = (values + 0.0).view(np.int64)
    found: list[int] = np.where(np.isnan(values), _NAN_KEY, bits).tolist()
    return found


def _steps(order: Sequence[float]) -> dict[int, float]:
    """Return the ranks of ordered categories by their keys."""
    keys = _keys(np.array(order, np.float64))
    return {key: float(step) for step, key in enumerate(keys)}


def _place(key: int) -> int:
    """Return the shared slot, of 1,024, of a category beyond `MOST_CATEGORIES`.

    The highest ten bits of a product with 2⁶⁴/φ: Knuth, "The art of computer
    programming", volume 3, section 6.4.
    """
    return ((key * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF) >> 54


def _indicate(kind: int, numbers: IntArray, out: FloatArray) -> None:
    """Encode category numbers by `kind` indicators, or as NUMBER.

    Two categories are −1 and 1 in one column, and any later one 0. With three or more,
    a category without its own column is 0.5 in each of two columns: each such category
    takes the next pair of columns, starting over after the last pair.
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
