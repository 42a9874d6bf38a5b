"""Features of a row's categories, computed only from the rows before it.

What `rpnb.core.columns.categories` keeps in tables is recomputed for each row.
"""

from itertools import combinations

import numpy as np

from rpnb.core.columns.categories import (
    FREQUENCIES,
    GROUPS,
    NUMBER,
    PRIOR_ROWS,
    Layout,
)

Row = list[float]


def appeared(values: Row) -> list[float]:
    """Return different values in the order of their first appearance."""
    found: list[float] = []
    for value in values:
        if not any(same(value, other) for other in found):
            found.append(value)
    return found


def same(a: float, b: float) -> bool:
    return a == b or (np.isnan(a) and np.isnan(b))


def number(value: float, before: Row) -> int:
    known = appeared(before)
    return next((i for i, each in enumerate(known) if same(each, value)), len(known))


def group(label: int, before: list[int]) -> int:
    rank = appeared([float(each) for each in before]).index(float(label))
    return 0 if rank == 0 else 1 + (rank - 1) % (GROUPS - 1)


def frequencies(value: float, before: Row, labels: list[int], B: int) -> Row:
    of_class = {label: group(label, labels) for label in set(labels)}
    groups = [of_class[label] for label in labels]
    own = [g for each, g in zip(before, groups, strict=True) if same(each, value)]
    found = []
    for b in range(1, B + 1):
        share = (groups.count(b) + 1 / GROUPS) / (len(groups) + 1)
        found.append((own.count(b) + PRIOR_ROWS * share) / (len(own) + PRIOR_ROWS))
    return found


def indicators(value: float, before: Row, k: int) -> Row:
    place = number(value, before)
    if k == NUMBER:
        return [float(place)]
    if k == 1:
        return [float(place > 0)]
    if k == 2:
        return [{0: -1.0, 1: 1.0}.get(place, 0.0)]
    row = [0.0] * k
    if place < k:
        row[place] = 1.0
        return row
    pairs = list(combinations(range(k), 2))
    for each in pairs[(place - k) % len(pairs)]:
        row[each] = 0.5
    return row


def features(
    row: Row, rows: list[Row], labels: list[int], places: list[int], layout: Layout
) -> Row:
    """Return the features of a row after `rows` with these labels."""
    found: Row = []
    for column, value in enumerate(row):
        if column not in places:
            found.append(value)
            continue
        before = [each[column] for each in rows]
        kind = layout.columns[places.index(column)]
        if kind == FREQUENCIES:
            found += frequencies(value, before, labels, layout.frequencies)
        else:
            found += indicators(value, before, kind)
    return found
