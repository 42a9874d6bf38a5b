"""Monitoring of predictions before their labels arrive: expected errors and drift."""

from rpnb.evaluate.waiting.changes import CellChange, Change
from rpnb.evaluate.waiting.forecast import ErrorForecast, ExpectedError, WaitingCounts
from rpnb.evaluate.waiting.priors import PriorCorrection
from rpnb.evaluate.waiting.shifts import Alarm
from rpnb.evaluate.waiting.stream_watch import StreamWatch, WaitingResult
from rpnb.evaluate.waiting.watch import InputWatch, LearnerWatch

__all__ = [
    "Alarm",
    "CellChange",
    "Change",
    "ErrorForecast",
    "ExpectedError",
    "InputWatch",
    "LearnerWatch",
    "PriorCorrection",
    "StreamWatch",
    "WaitingCounts",
    "WaitingResult",
]
