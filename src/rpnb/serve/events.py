"""Events of the log that have rows."""

from typing import NamedTuple

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.http.tables import Label


class LabelledEvent(NamedTuple):
    """Rows of an event of the log, and what becomes of them."""

    event: int
    kind: str
    """"learn", "observe" or "labels\""""
    time: float
    X: FloatArray
    labels: list[Label]
    predicted: list[Label | None] | None
    """of "labels": what was predicted when the rows came"""
    confidence: list[float | None] | None
    rows: list[int] | None = None
    """of "labels": the numbers of the rows in the log"""
    contenders: list[int] | None = None
    """of "labels": the numbers of the learners that predicted the rows"""
    scores: list[bytes | None] | None = None
    """of "labels": by which the rows were predicted, of learners that keep them"""
