"""Batching: one call predicts the rows of requests that arrive together."""

import asyncio
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray
from rpnb.serve.served_model import PredictedLabels, ServedModel

# Seconds that the event loop waits for a model that is learning.
_PATIENCE = 0.002


class _Waiting(NamedTuple):
    """Rows of a request, and the future that gets their predictions."""

    X: FloatArray
    probabilities: bool
    future: "asyncio.Future[PredictedLabels]"


@final
class PredictionBatches:
    """Predicts the rows of all requests that one iteration of the event loop reads.

    One call for 32 rows takes less than half as long as 32 calls for one row.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, tuple[ServedModel, list[_Waiting]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def predict(
        self, model: ServedModel, X: FloatArray, *, probabilities: bool
    ) -> PredictedLabels:
        """Return the predictions of a few rows."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(X, probabilities, loop.create_future())
        if not self._waiting:
            # This runs after the endpoints of all requests that have been read.
            loop.call_soon(self._predict_all)
        self._waiting.setdefault(id(model), (model, []))[1].append(waiting)
        return await waiting.future

    def _predict_all(self) -> None:
        everything, self._waiting = self._waiting, {}
        for model, waiting in everything.values():
            if model.lock.acquire(timeout=_PATIENCE):
                try:
                    _answer(model, waiting)
                finally:
                    model.lock.release()
            else:
                task = asyncio.create_task(_answer_from_thread(model, waiting))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)


async def _answer_from_thread(model: ServedModel, waiting: list[_Waiting]) -> None:
    """Wait in another thread until the model is free, then predict there."""

    def predict() -> list[PredictedLabels]:
        with model.turn():
            return _predict(model, waiting)

    try:
        _give(waiting, await asyncio.to_thread(predict))
    except Exception as error:
        _refuse(waiting, error)


def _answer(model: ServedModel, waiting: list[_Waiting]) -> None:
    try:
        _give(waiting, _predict(model, waiting))
    except Exception as error:
        _refuse(waiting, error)


def _predict(model: ServedModel, waiting: list[_Waiting]) -> list[PredictedLabels]:
    """Predict the rows of some requests; the caller holds the model's lock."""
    probabilities = any(each.probabilities for each in waiting)
    parts = [each.X for each in waiting]
    X = parts[0] if len(parts) == 1 else np.concatenate(parts)
    found = model.predict_locked(X, confidence=False, probabilities=probabilities)
    if len(parts) == 1:
        return [found]
    ends = np.cumsum([part.shape[0] for part in parts]).tolist()
    split = [found.part(start, end) for start, end in pairwise([0, *ends])]
    return [
        some if each.probabilities else some._replace(probabilities=None)
        for some, each in zip(split, waiting, strict=True)
    ]


def _give(waiting: list[_Waiting], found: list[PredictedLabels]) -> None:
    for each, predicted in zip(waiting, found, strict=True):
        if not each.future.done():  # the client may have disconnected
            each.future.set_result(predicted)


def _refuse(waiting: list[_Waiting], error: Exception) -> None:
    for each in waiting:
        if not each.future.done():
            each.future.set_exception(error)
