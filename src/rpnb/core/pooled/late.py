r"""Labels that come late: rows that members a few rows behind have not learnt yet.

Where the label of a row arrives d rows after its prediction, the members that predicted
it knew the labels up to d + 1 rows before it. The pool has to learn its weights from
such scores: members that live on the latest labels are worth less than those a row
later suggest. So there are two sets of members. One learns each labelled row at once
and predicts. The other learns the same rows d rows later: it scores a labelled row as
the first did when it predicted it, and these scores are what the pool learns from.

The members behind learn in blocks of g = min(64, d/4) rows, at least 1: when labelled
row s (from 0) is scored, they have learnt the first g·⌊(s − d)/g⌋ rows. This module
keeps the rows in between. Learning from the loss of a prediction when it arrives is
analysed by Joulani, György & Szepesvári, "Online learning under delayed feedback"
(2013); the members behind are our own.
"""

from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray


class Pending(NamedTuple):
    """A ring of the last d + g labelled rows."""

    rows: FloatArray
    """(d + g, p) raw rows; row s is at s mod (d + g)"""
    labels: IntArray
    """(d + g,)"""
    weight: FloatArray
    """(d + g,)"""
    seen: IntArray
    """(1,) labelled rows so far"""


def block_rows(delay: int) -> int:
    """Return g, the rows that the members behind learn at once."""
    return max(1, min(64, delay // 4))


def begin(delay: int, p: int) -> Pending:
    """Return an empty ring."""
    R = delay + block_rows(delay)
    return Pending(
        np.zeros((R, p)), np.zeros(R, np.int64), np.zeros(R), np.zeros(1, np.int64)
    )


def rows_until_due(pending: Pending, delay: int) -> int:
    """Return how many labelled rows are scored before the next block is learnt."""
    g = block_rows(delay)
    over = int(pending.seen[0]) - delay
    return g - over if over < 0 else g - over % g


def due_rows(pending: Pending, delay: int) -> IntArray:
    """Return the slots of the rows that the members behind learn now, maybe none."""
    g = block_rows(delay)
    over = int(pending.seen[0]) - delay
    if over < g or over % g != 0:
        return np.zeros(0, np.int64)
    return np.arange(over - g, over) % (delay + g)


def add_rows(
    pending: Pending, raw: FloatArray, y: IntArray, weight: FloatArray
) -> None:
    """Keep labelled rows, at most g of them."""
    n = y.shape[0]
    slots = np.arange(pending.seen[0], pending.seen[0] + n) % pending.labels.shape[0]
    pending.rows[slots] = raw
    pending.labels[slots] = y
    pending.weight[slots] = weight
    pending.seen[0] += n
