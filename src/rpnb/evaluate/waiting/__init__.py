"""Life between a prediction and its label: what is known before the label comes."""

from rpnb.evaluate.waiting.changes import CellChange, Change
from rpnb.evaluate.waiting.forecast import ErrorForecast, ExpectedError, WaitingCounts
from rpnb.evaluate.waiting.shifts import Alarm
from rpnb.evaluate.waiting.stream import StreamWatch, WaitingResult
from rpnb.evaluate.waiting.watch import InputWatch, LearnerWatch

__all__ = [
    "Alarm",
    "CellChange",
    "Change",
    "ErrorForecast",
    "ExpectedError",
    "InputWatch",
    "LearnerWatch",
    "StreamWatch",
    "WaitingCounts",
    "WaitingResult",
]
