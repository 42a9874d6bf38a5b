"""Rows: predict, explain, label, learn, observe and forget them."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar, final

from fastapi import Request, Response

from rpnb.estimators.stream.asking import RANDOM_SHARE
from rpnb.serve.commands import (
    Budget,
    Forget,
    LabelRows,
    Learn,
    OpenQuestions,
    Remember,
)
from rpnb.serve.endpoints.batches import PredictionBatches
from rpnb.serve.endpoints.challengers import version_of
from rpnb.serve.endpoints.messages import (
    find_model,
    flag,
    idempotency_key,
    number,
    table_answer,
)
from rpnb.serve.http.formats import TABLES, read_table
from rpnb.serve.http.routes import needs
from rpnb.serve.http.tables import Table
from rpnb.serve.limits import beyond, invalid, unavailable
from rpnb.serve.models import ServedModel
from rpnb.serve.recent import RecentPrediction
from rpnb.serve.writer import Writer

# Larger work than this would keep other requests waiting too long.
_INLINE_BYTES = 100_000
_INLINE_VALUES = 10_000
_WORKERS = 2

Result = TypeVar("Result")
# Of an answer: in an array, as a Python object in a list, as text.
_BYTES_OF_NUMBER = 100


@final
class RowEndpoints:
    """Endpoints that take rows, or ids of rows.

    Parameters
    ----------
    writer
        The log and the models.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer, self._limits = writer, writer.limits
        self._batches = PredictionBatches()
        # Parsing and writing text keeps the interpreter busy: more threads would only
        # keep the event loop from it.
        self._workers = ThreadPoolExecutor(_WORKERS, "rpnb-text")

    async def _work(self, function: Callable[[], Result]) -> Result:
        """Call a function that computes, and waits for nothing, in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, function)

    async def _table(
        self,
        request: Request,
        model: ServedModel,
        wanted: tuple[str, ...],
        optional: tuple[str, ...] = (),
    ) -> Table:
        body: bytearray = request.scope["body"]
        query = request.query_params
        columns = model.columns
        if query.get("columns") == "position":
            columns = columns._replace(names=None)
        read = partial(
            read_table,
            body,
            request.headers.get("content-type", ""),
            wanted,
            columns,
            self._limits,
            optional=optional,
            label_column=query.get("label_column", "label"),
            id_column=query.get("id_column", "id"),
            memory=request.scope["memory"],
        )
        return read() if len(body) < _INLINE_BYTES else await self._work(read)

    @needs("predict", takes=TABLES)
    async def predict(self, request: Request) -> Response:
        """Predict rows; with remember=true they wait for their labels."""
        return await self._predict(request, flag(request, "remember"), None)

    @needs("predict", takes=TABLES)
    async def ask(self, request: Request) -> Response:
        """Predict rows that wait for labels, and say which labels are worth most."""
        budget = Budget(
            number(request, "budget", 0.05, 1e-6, 1.0),
            number(request, "random_share", RANDOM_SHARE, 0.01, 1.0),
        )
        return await self._predict(request, True, budget)

    @needs("predict")
    async def open_questions(self, request: Request) -> Response:
        """Return the rows that were asked for and wait for their labels."""
        model = find_model(request, self._writer)
        limit = int(number(request, "limit", 1000, 1, 10_000))
        command = OpenQuestions(name=model.name, number=model.id, limit=limit)
        answer = await self._writer.submit(command)
        return await self._answer(request, answer, len(answer["ids"]))

    async def _predict(
        self, request: Request, remember: bool, budget: Budget | None
    ) -> Response:
        model = find_model(request, self._writer)
        all_classes = flag(request, "probabilities")
        optional = ("ids",) if remember else ()
        table = await self._table(request, model, ("rows",), optional)
        X = table.X
        version = request.query_params.get("version")
        if version is not None:
            if remember:
                raise invalid("rows that wait are predicted by the learner that serves")
            model, _ = await asyncio.to_thread(version_of, self._writer, model, version)
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        if all_classes:
            self._expect_answer(request, X.shape[0] * max(len(model.known), 1))
        few = X.size < _INLINE_VALUES
        if few and remember:
            found = None  # the writer predicts rows of several requests at once
        elif few:
            found = await self._batches.predict(model, X, probabilities=all_classes)
        else:
            found = await asyncio.to_thread(
                model.predict, X, confidence=remember, probabilities=all_classes
            )
        if remember:
            command = Remember(
                name=model.name,
                number=model.id,
                key=idempotency_key(request),
                X=X,
                ids=table.ids,
                probabilities=all_classes,
                found=found,
                budget=budget,
            )
            answer = await self._writer.submit(command)
        else:
            assert found is not None  # noqa: S101 - only kept rows are left to others
            answer = {"labels": found.labels}
            if found.probabilities is not None:
                answer |= {
                    "confidence": found.confidence,
                    "probabilities": found.probabilities,
                    "classes": found.classes,
                }
        model.recent.append(
            RecentPrediction(
                time.time(),
                answer["labels"][-1],
                answer["confidence"][-1] if "confidence" in answer else None,
                X.shape[0],
                answer["ids"][-1] if remember else None,
                X[-1].copy(),  # a view would keep all rows
            )
        )
        numbers = X.shape[0] * (len(model.known) if all_classes else 1)
        return await self._answer(request, answer, numbers)

    def _expect_answer(self, request: Request, numbers: int) -> None:
        """Refuse an answer of too many numbers before they are computed."""
        if numbers > self._limits.max_answer:
            raise beyond(
                *("max_answer", self._limits.max_answer),
                "the answer would have too many numbers: send fewer rows",
            )
        request.scope["memory"].add(_BYTES_OF_NUMBER * numbers)

    async def _answer(
        self, request: Request, answer: dict[str, Any], numbers: int
    ) -> Response:
        """Return an answer of about so many numbers."""
        if numbers < _INLINE_VALUES:
            return table_answer(request, answer)
        return await self._work(partial(table_answer, request, answer))

    @needs("predict", takes=TABLES)
    async def explain(self, request: Request) -> Response:
        """Say what each feature adds to the score of the predicted class."""
        model = find_model(request, self._writer)
        table = await self._table(request, model, ("rows",))
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        self._expect_answer(request, table.X.size)
        found = await asyncio.to_thread(model.explain, table.X)
        return await self._answer(request, found, table.X.size)

    @needs("learn", takes=TABLES)
    async def label(self, request: Request) -> Response:
        """Take labels of rows that were remembered."""
        model = find_model(request, self._writer)
        table = await self._table(request, model, ("ids", "labels"))
        command = LabelRows(
            name=model.name,
            number=model.id,
            key=idempotency_key(request),
            ids=table.ids or [],
            labels=table.labels,
        )
        answer = await self._writer.submit(command)
        return await self._answer(request, answer, command.rows)

    @needs("learn", takes=TABLES)
    async def learn(self, request: Request) -> Response:
        """Learn rows with their labels."""
        return await self._learn(request, observe=False)

    @needs("learn", takes=TABLES)
    async def observe(self, request: Request) -> Response:
        """Predict each row, then learn it."""
        return await self._learn(request, observe=True)

    async def _learn(self, request: Request, *, observe: bool) -> Response:
        model = find_model(request, self._writer)
        table = await self._table(request, model, ("rows", "labels"))
        command = Learn(
            name=model.name,
            number=model.id,
            key=idempotency_key(request),
            X=table.X,
            labels=table.labels,
            observe=observe,
        )
        answer = await self._writer.submit(command)
        return await self._answer(request, answer, command.rows)

    @needs("admin", takes=TABLES)
    async def forget(self, request: Request) -> Response:
        """Remove rows from the log and from the state, as if never seen."""
        model = find_model(request, self._writer)
        table = await self._table(request, model, ("ids",))
        command = Forget(
            name=model.name,
            number=model.id,
            key=idempotency_key(request),
            ids=table.ids or [],
        )
        answer = await self._writer.submit(command)
        return await self._answer(request, answer, command.rows)
