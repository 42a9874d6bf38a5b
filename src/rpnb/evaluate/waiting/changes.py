r"""What changed between two windows of rows: columns, their cells, errors in them.

The counts $o_{wc}$ of window w and cell c are compared with those expected from both
windows together, $e_{wc} = o_{\cdot c}\, n_w / n$. Cells with fewer than 10 rows in
both together are merged into one. Pearson's

$$χ^2 = \sum_{wc} (o_{wc} - e_{wc})^2 / e_{wc}$$

has k − 1 degrees of freedom. The distance of a column is the total variation distance
$½ \sum_c |p_c - q_c|$ minus its expectation by chance. Single cells, and the errors
within a cell, are tested by the 2 × 2 table with Yates' correction. The p-values of
columns, of cells and of errors are each adjusted for their number by Holm's method
(Scandinavian Journal of Statistics 6, 1979). Rows are assumed to be independent; in a
stream whose rows depend on each other, small changes are found too often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.special import chdtrc

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.evaluate.waiting.table_columns import CategoryNames, Cells, unnamed

Kind: TypeAlias = Literal["feature", "class", "error"]
# Cells with fewer rows in both windows are merged.
_FEWEST = 10
# Largest number of cells of a column that are named.
_NAMED = 5


class CellChange(NamedTuple):
    """Share of rows, or error rate, of a cell in two windows.

    Examples
    --------
    >>> from rpnb.baselines import GaussianNB
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> X, y = next(streams.mixture(6000, chunk=6000, seed=0))
    >>> X[3000:, 0] += 4.0
    >>> result = prequential(GaussianNB(), X, y, delay=500, labels="late")
    >>> change = result.waiting["GaussianNB"].alarms[0].changes[0]
    >>> change.cells[0].cell, change.cells[0].before, change.cells[0].after
    ('above 4.27059', 0.0, 0.704)
    """

    cell: str
    before: float
    after: float
    p_value: float
    """p-value adjusted for the number of cells"""


@dataclass(frozen=True, slots=True)
class Change:
    """A column that changed between two windows.

    Attributes
    ----------
    kind
        "feature"; "class" for true or predicted classes; or "error" for the error rate
        by cell of a column.
    name
        Name of the column.
    distance
        Share of the distribution that moved, from 0 to 1, beyond chance; for errors,
        the largest change of the error rate.
    p_value
        p-value, adjusted for the number of columns.
    cells
        Cells that moved most, the largest change first.

    Examples
    --------
    >>> from rpnb.baselines import GaussianNB
    >>> from rpnb.datasets import streams
    >>> from rpnb.evaluate import prequential
    >>> X, y = next(streams.mixture(6000, chunk=6000, seed=0))
    >>> X[3000:, 0] += 4.0
    >>> result = prequential(GaussianNB(), X, y, delay=500, labels="late")
    >>> change = result.waiting["GaussianNB"].alarms[0].changes[0]
    >>> change.kind, change.name, round(change.distance, 2)
    ('feature', 'x1', 0.83)
    """

    kind: Kind
    name: str
    distance: float
    p_value: float
    cells: tuple[CellChange, ...]

    def __str__(self) -> str:
        what = {"feature": "", "class": "", "error": "error by "}[self.kind]
        parts = [f"{c.cell} {c.before:.1%} → {c.after:.1%}" for c in self.cells[:3]]
        cells = f": {', '.join(parts)}" if parts else ""
        return f"{what}{self.name} moved by {self.distance:.3f}{cells}"


class ColumnCounts(NamedTuple):
    """Rows of two windows by the cells of a column.

    `other` is the value of more than half of the second window's other values, or NaN.
    """

    kind: Kind
    name: str
    cells: Cells
    before: IntArray
    after: IntArray
    labels: CategoryNames | None = None
    other: float = np.nan


class ErrorCounts(NamedTuple):
    """Rows, and wrong ones, of two windows by the cells of a column."""

    name: str
    cells: Cells
    before: tuple[IntArray, IntArray]
    after: tuple[IntArray, IntArray]
    labels: CategoryNames | None = None


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values adjusted for their number by Holm's method, in the same order.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    n = len(p_values)
    order = np.argsort(p_values, kind="stable")
    steps = np.maximum.accumulate(p_values[order] * np.arange(n, 0, -1))
    out = np.empty(n)
    out[order] = np.minimum(steps, 1.0)
    return out


def distance_of(before: IntArray, after: IntArray) -> float:
    """Return the total variation distance of two counts, beyond that of chance."""
    n, m = int(before.sum()), int(after.sum())
    if n == 0 or m == 0:
        return 0.0
    pooled = (before + after) / (n + m)
    chance = np.sqrt(2.0 / np.pi * pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m))
    apart = np.abs(before / n - after / m)
    return max(0.5 * float(apart.sum() - chance.sum()), 0.0)


def column_p_value(before: IntArray, after: IntArray) -> float:
    """Return the p-value that two windows have the same distribution over cells."""
    n, m = int(before.sum()), int(after.sum())
    rare = before + after < _FEWEST
    table = np.stack([before, after]).astype(np.float64)
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0.0]
    if table.shape[1] < 2 or n == 0 or m == 0:
        return 1.0
    expected = table.sum(axis=0) * np.array([[n], [m]]) / (n + m)
    statistic = float(((table - expected) ** 2 / expected).sum())
    return float(chdtrc(table.shape[1] - 1, statistic))


def share_p_values(a: IntArray, n: IntArray, b: IntArray, m: IntArray) -> FloatArray:
    """Return the p-values that a of n and b of m are equal shares, for each entry."""
    n, m = np.broadcast_arrays(np.asarray(n, np.float64), np.asarray(m, np.float64))
    total, hits = n + m, np.asarray(a + b, np.float64)
    spread = n * m * hits * (total - hits)
    apart = np.maximum(np.abs(a * (m - b) - b * (n - a)) - total / 2.0, 0.0)
    statistic = np.divide(
        total * apart**2, spread, out=np.zeros(spread.shape), where=spread > 0.0
    )
    return np.asarray(chdtrc(1, statistic), np.float64)


def find_changes(
    columns: Sequence[ColumnCounts],
    errors: Sequence[ErrorCounts] = (),
    *,
    alpha: float = 0.001,
) -> tuple[Change, ...]:
    """Return the columns that changed significantly, the largest distance first.

    Of columns with the same name, the parts of a text, only the first is returned.
    `alpha` bounds the probability that any column is named by chance, and likewise for
    cells and for errors.
    """
    found: list[Change] = []
    if columns:
        adjusted = holm(np.array([column_p_value(c.before, c.after) for c in columns]))
        cells = _cell_changes(columns, alpha)
        found += [
            Change(c.kind, c.name, distance_of(c.before, c.after), float(p), shown)
            for c, p, shown in zip(columns, adjusted, cells, strict=True)
            if p < alpha
        ]
        found.sort(key=lambda change: change.distance)
        found = [*{(each.kind, each.name): each for each in found}.values()]
        found.sort(key=lambda change: -change.distance)
    if errors:
        found += _error_changes(errors, alpha)
    return tuple(found)


def _cell_changes(
    columns: Sequence[ColumnCounts], alpha: float
) -> list[tuple[CellChange, ...]]:
    tests = [
        share_p_values(c.before, c.before.sum(), c.after, c.after.sum())
        for c in columns
    ]
    adjusted = np.split(
        holm(np.concatenate(tests)), np.cumsum([len(t) for t in tests])[:-1]
    )
    found = []
    for c, p in zip(columns, adjusted, strict=True):
        before = c.before / max(int(c.before.sum()), 1)
        after = c.after / max(int(c.after.sum()), 1)
        found.append(_named(c.cells, c.labels, before, after, p, p < alpha, c.other))
    return found


def _error_changes(errors: Sequence[ErrorCounts], alpha: float) -> list[Change]:
    tests = [
        share_p_values(e.before[1], e.before[0], e.after[1], e.after[0]) for e in errors
    ]
    adjusted = np.split(
        holm(np.concatenate(tests)), np.cumsum([len(t) for t in tests])[:-1]
    )
    found = []
    for e, p in zip(errors, adjusted, strict=True):
        if p.min() >= alpha:
            continue
        before = e.before[1] / np.maximum(e.before[0], 1)
        after = e.after[1] / np.maximum(e.after[0], 1)
        shown = _named(e.cells, e.labels, before, after, p, p < alpha)
        largest = max(abs(cell.after - cell.before) for cell in shown)
        found.append(Change("error", e.name, largest, float(p.min()), shown))
    return sorted(found, key=lambda change: -change.distance)


def _named(
    cells: Cells,
    labels: CategoryNames | None,
    before: FloatArray,
    after: FloatArray,
    p: FloatArray,
    there: BoolArray,
    other: float = np.nan,
) -> tuple[CellChange, ...]:
    """Return the cells that moved, the largest change first."""
    if labels is unnamed:
        return ()
    order = np.argsort(-np.abs(after - before), kind="stable")
    chosen = [int(cell) for cell in order if there[cell]][:_NAMED]
    return tuple(
        CellChange(
            cells.text(cell, labels, other),
            float(before[cell]),
            float(after[cell]),
            float(p[cell]),
        )
        for cell in chosen
    )
