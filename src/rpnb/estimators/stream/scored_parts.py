"""Probabilities of rows learned in parts, between which classes were added."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.stream.learner import ScoredRows
from rpnb.labels import LabelIndex


class ScoredPart(NamedTuple):
    """Rows that were predicted with the same classes."""

    classes: LabelArray
    """(M,) the classes then"""
    rows: ScoredRows


def join_scored(parts: Sequence[ScoredPart], index: LabelIndex) -> ScoredRows:
    """Return all rows, with the classes of the index; 0 for a class not known yet."""
    if len(parts) == 1 and parts[0].classes.shape[0] == len(index):
        return parts[0].rows
    sizes = [part.rows.probabilities.shape[0] for part in parts]
    P = np.zeros((sum(sizes), len(index)))
    for part, stop in zip(parts, np.cumsum(sizes), strict=True):
        own = part.rows.probabilities
        columns = index.find_all(part.classes.tolist())
        P[stop - own.shape[0] : stop, columns] = own
    # Learners that add classes at their first row track no thresholds themselves.
    return ScoredRows(P)
