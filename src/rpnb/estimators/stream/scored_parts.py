"""Probabilities of rows learned in parts, between which classes were added."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.labels import LabelIndex


class ScoredPart(NamedTuple):
    """Rows that were predicted with the same classes."""

    classes: LabelArray
    """(M,) the classes then"""
    P: FloatArray
    """(n, M) the probabilities before each row"""


class ScoredRows(NamedTuple):
    """Rows that were predicted, then learned."""

    truth: IntArray
    """(n,) numbers of their classes"""
    predicted: IntArray
    """(n,) numbers of the predicted classes, −1 for none"""
    P: FloatArray
    """(n, M) the probabilities before each row, of the classes afterwards"""


def join_scored(parts: Sequence[ScoredPart], index: LabelIndex) -> FloatArray:
    """Join parts over the classes of the index; 0 for a class not known yet."""
    if len(parts) == 1 and parts[0].classes.shape[0] == len(index):
        return parts[0].P
    sizes = [part.P.shape[0] for part in parts]
    P = np.zeros((sum(sizes), len(index)))
    for part, stop in zip(parts, np.cumsum(sizes), strict=True):
        own = part.P
        columns = index.find_all(part.classes.tolist())
        P[stop - own.shape[0] : stop, columns] = own
    return P
