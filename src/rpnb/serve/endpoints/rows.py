"""Endpoints that predict, explain, label, learn, observe and forget rows."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar, final

from starlette.requests import Request
from starlette.responses import Response

from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.protocol import RANDOM_SHARE
from rpnb.serve.asked_error import asked_error
from rpnb.serve.commands import (
    Budget,
    Command,
    Forget,
    LabelRows,
    Learn,
    OpenQuestions,
    Remember,
)
from rpnb.serve.endpoints.batches import PredictionBatches
from rpnb.serve.endpoints.challengers import version_of
from rpnb.serve.endpoints.requests import (
    find_model,
    flag,
    idempotency_key,
    number,
    table_answer,
)
from rpnb.serve.http.formats import TABLES, read_table
from rpnb.serve.http.request_tables import Table
from rpnb.serve.http.routes import needs
from rpnb.serve.limits import beyond, invalid, unavailable
from rpnb.serve.log import DAMAGE, LogError, read_log
from rpnb.serve.recent import RecentPrediction
from rpnb.serve.served_model import ServedModel
from rpnb.serve.writer import Writer

# Larger requests are handled in threads, so that others do not wait.
_INLINE_BYTES = 100_000
_INLINE_VALUES = 10_000
_WORKERS = 2

# Memory of a number in an answer: in an array, as a Python object, and as text.
_BYTES_OF_NUMBER = 100

Result = TypeVar("Result")


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
        # Parsing and writing text holds the interpreter's lock: more threads would only
        # keep the event loop waiting.
        self._workers = ThreadPoolExecutor(_WORKERS, "rpnb-text")

    async def _work(self, function: Callable[[], Result]) -> Result:
        """Call a function that only computes, in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._workers, function)

    async def _table(
        self,
        request: Request,
        model: ServedModel,
        wanted: tuple[str, ...],
        optional: tuple[str, ...] = (),
    ) -> Table:
        """Return the rows, labels or ids in the body of a request."""
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
        """Predict rows; with remember=true, keep them until their labels arrive."""
        return await self._predict(request, flag(request, "remember"), None)

    @needs("predict", takes=TABLES)
    async def ask(self, request: Request) -> Response:
        """Predict rows, keep them, and choose those whose labels are worth the most."""
        budget = Budget(
            number(request, "budget", 0.05, 1e-6, 1.0),
            number(request, "random_share", RANDOM_SHARE, 0.01, 1.0),
        )
        return await self._predict(request, True, budget)

    @needs("predict")
    async def open_questions(self, request: Request) -> Response:
        """List the rows that were asked for and wait for their labels."""
        model = find_model(request, self._writer)
        limit = int(number(request, "limit", 1000, 1, 10_000))
        command = OpenQuestions(name=model.name, number=model.id, limit=limit)
        answer = await self._writer.submit(command)
        answer |= await asyncio.to_thread(self._asked_error, model)
        return await self._answer(request, answer, len(answer["ids"]))

    def _asked_error(self, model: ServedModel) -> dict[str, Any]:
        """Return the error that the labels of chosen rows estimate."""
        try:
            with read_log(self._writer.folder) as connection:
                return asked_error(connection, model.id, model.contender)
        except (*DAMAGE, LogError) as error:
            raise unavailable(f"the log cannot be read: {error}") from error

    async def _predict(
        self, request: Request, remember: bool, budget: Budget | None
    ) -> Response:
        """Predict the rows of a request; `remember` keeps them for their labels."""
        model = find_model(request, self._writer)
        all_classes = flag(request, "probabilities")
        optional = ("ids",) if remember else ()
        table = await self._table(request, model, ("rows",), optional)
        model = await self._version(request, model, remember)
        n = table.X.shape[0]
        if all_classes:
            self._expect_answer(request, n * max(len(model.known), 1))
        if remember:
            key = idempotency_key(request)
            answer = await self._remember(model, table, all_classes, budget, key)
        else:
            answer = await self._predict_now(model, table.X, all_classes)
        model.recent.append(
            RecentPrediction(
                time.time(),
                answer["labels"][-1],
                answer["confidence"][-1] if "confidence" in answer else None,
                n,
                answer["ids"][-1] if remember else None,
                table.X[-1].copy(),  # a view would keep all rows
            )
        )
        numbers = n * (len(model.known) if all_classes else 1)
        return await self._answer(request, answer, numbers)

    async def _version(
        self, request: Request, model: ServedModel, remember: bool
    ) -> ServedModel:
        """Return the model, or its version that a request names, if it can predict."""
        version = request.query_params.get("version")
        if version is not None:
            if remember:
                raise invalid("rows that wait are predicted by the serving learner")
            model, _ = await asyncio.to_thread(version_of, self._writer, model, version)
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        return model

    async def _predict_now(
        self, model: ServedModel, X: FloatArray, all_classes: bool
    ) -> dict[str, Any]:
        """Return the answer for rows that do not wait for labels."""
        whole = all_classes or (model.corrects and model.keeps_probabilities(len(X)))
        if X.size < _INLINE_VALUES:
            found = await self._batches.predict(model, X, probabilities=whole)
        else:
            found = await asyncio.to_thread(
                model.predict, X, confidence=False, probabilities=whole
            )
        found = model.corrected(found)
        answer: dict[str, Any] = {"labels": found.labels}
        if all_classes and found.probabilities is not None:
            answer |= {
                "confidence": found.confidence,
                "probabilities": found.probabilities.tolist(),
                "classes": found.classes,
            }
        return answer

    async def _remember(
        self,
        model: ServedModel,
        table: Table,
        all_classes: bool,
        budget: Budget | None,
        key: str | None,
    ) -> dict[str, Any]:
        """Return the answer for rows that will wait for labels, once they are kept."""
        X, found = table.X, None
        # The writer predicts few rows itself, with those of other requests.
        if X.size >= _INLINE_VALUES:
            whole = all_classes or model.keeps_probabilities(len(X))
            found = await asyncio.to_thread(
                model.predict, X, confidence=True, probabilities=whole
            )
        command = Remember(
            name=model.name,
            number=model.id,
            key=key,
            X=X,
            ids=table.ids,
            probabilities=all_classes,
            found=found,
            budget=budget,
            categories=table.categories,
        )
        return await self._writer.submit(command)

    def _expect_answer(self, request: Request, numbers: int) -> None:
        """Refuse an answer with too many numbers before they are computed."""
        if numbers > self._limits.max_answer:
            raise beyond(
                *("max_answer", self._limits.max_answer),
                "the answer would have too many numbers: send fewer rows",
            )
        request.scope["memory"].add(_BYTES_OF_NUMBER * numbers)

    async def _answer(
        self, request: Request, answer: dict[str, Any], numbers: int
    ) -> Response:
        """Return the response for an answer of about `numbers` numbers."""
        if numbers < _INLINE_VALUES:
            return table_answer(request, answer)
        return await self._work(partial(table_answer, request, answer))

    async def _submit(self, request: Request, command: Command) -> Response:
        """Return the response for a command, once it has been carried out."""
        answer = await self._writer.submit(command)
        return await self._answer(request, answer, command.rows)

    @needs("predict", takes=TABLES)
    async def explain(self, request: Request) -> Response:
        """Return the contribution of each feature to the predicted class's score."""
        model = find_model(request, self._writer)
        table = await self._table(request, model, ("rows",))
        if not model.predicts:
            raise unavailable(model.broken or "the model has no state")
        self._expect_answer(request, table.X.size)
        found = await asyncio.to_thread(model.explain, table.X)
        return await self._answer(request, found, table.X.size)

    @needs("learn", takes=TABLES)
    async def label(self, request: Request) -> Response:
        """Learn labels of rows that wait for them."""
        model = find_model(request, self._writer)
        table = await self._table(request, model, ("ids", "labels"))
        command = LabelRows(
            name=model.name,
            number=model.id,
            key=idempotency_key(request),
            ids=table.ids or [],
            labels=table.labels,
        )
        return await self._submit(request, command)

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
        return await self._submit(request, command)

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
        return await self._submit(request, command)
