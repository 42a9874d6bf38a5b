"""The asynchronous client."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, final

import httpx

from rpnb.client import calls
from rpnb.client.calls import Call, Request, Result
from rpnb.client.encoding import Rows
from rpnb.client.results import Label, LabelResult, Prediction
from rpnb.client.retries import Attempts, access


@final
class AsyncClient:
    """An asynchronous client of `rpnb serve`.

    Parameters
    ----------
    address, token, batch_size, retries, timeout
        Parameters of `Client`.
    connections : int, default=64
        Largest number of simultaneous connections.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        batch_size: int = 5000,
        retries: int = 6,
        timeout: float = 300.0,
        connections: int = 64,
    ) -> None:
        self.batch_size, self.retries = batch_size, retries
        limits = httpx.Limits(
            max_connections=connections, max_keepalive_connections=connections
        )
        self._http = httpx.AsyncClient(
            base_url=address,
            headers=access(token),
            timeout=timeout,
            limits=limits,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _run(self, call: Call[Result]) -> Result:
        return call.result([await self._send(each) for each in call.requests])

    async def _send(self, request: Request) -> Any:
        attempts = Attempts(request, self.retries)
        while True:
            try:
                response = await self._http.request(**attempts.arguments())
            except httpx.TransportError as error:
                seconds = attempts.pause_without_answer(error)
            else:
                if attempts.is_answer(response):
                    return attempts.answer(response)
                seconds = attempts.pause_if_busy(response)
            await asyncio.sleep(seconds)

    async def create(
        self,
        name: str,
        learner: str = "Pooled",
        *,
        features: Sequence[str] | int | Any,
        classes: Sequence[Label] | None = None,
        new_classes: str = "accept",
        date_features: Sequence[str | int] = (),
        correct_class_mix: bool = False,
        **parameters: Any,
    ) -> dict[str, Any]:
        """See `Client.create`."""
        return await self._run(
            calls.create(
                *(name, learner, features, classes, new_classes, date_features),
                correct_class_mix,
                parameters,
            )
        )

    async def upload(
        self, name: str, content: bytes, *, new_classes: str = "accept"
    ) -> dict[str, Any]:
        """See `Client.upload`."""
        return await self._run(calls.upload(name, content, new_classes))

    async def download(
        self, name: str, kind: str = "model", *, version: str | None = None
    ) -> bytes:
        """See `Client.download`."""
        return await self._run(calls.download(name, kind, version))

    async def models(self) -> list[dict[str, Any]]:
        """See `Client.models`."""
        return await self._run(calls.models())

    async def model(self, name: str) -> dict[str, Any]:
        """See `Client.model`."""
        return await self._run(calls.model(name))

    async def delete(self, name: str) -> None:
        """See `Client.delete`."""
        await self._run(calls.delete(name))

    async def health(self) -> dict[str, Any]:
        """See `Client.health`."""
        return await self._run(calls.health())

    async def challenge(
        self,
        name: str,
        challenger: str,
        learner: str = "Pooled",
        *,
        start: str = "log",
        **parameters: Any,
    ) -> dict[str, Any]:
        """See `Client.challenge`."""
        call = calls.challenge(name, challenger, learner, start, parameters)
        return await self._run(call)

    async def challengers(self, name: str) -> dict[str, Any]:
        """See `Client.challengers`."""
        return await self._run(calls.challengers(name))

    async def withdraw(self, name: str, challenger: str) -> None:
        """See `Client.withdraw`."""
        await self._run(calls.withdraw(name, challenger))

    async def promote(self, name: str, challenger: str) -> dict[str, Any]:
        """See `Client.promote`."""
        return await self._run(calls.promote(name, challenger))

    async def roll_back(self, name: str, version: str | None = None) -> dict[str, Any]:
        """See `Client.roll_back`."""
        return await self._run(calls.roll_back(name, version))

    async def name_version(
        self, name: str, version: str, event: int | None = None
    ) -> dict[str, Any]:
        """See `Client.name_version`."""
        return await self._run(calls.name_version(name, version, event))

    async def drop_version(self, name: str, version: str) -> None:
        """See `Client.drop_version`."""
        await self._run(calls.drop_version(name, version))

    async def predict(
        self,
        name: str,
        rows: Rows,
        *,
        remember: bool = False,
        ids: Sequence[str] | None = None,
        probabilities: bool = False,
        version: str | None = None,
    ) -> Prediction:
        """See `Client.predict`."""
        call = calls.predict(
            self.batch_size,
            name,
            rows,
            ids,
            remember=remember,
            probabilities=probabilities,
            version=version,
        )
        return await self._run(call)

    async def ask(
        self,
        name: str,
        rows: Rows,
        *,
        budget: float = 0.05,
        ids: Sequence[str] | None = None,
    ) -> dict[str, list[Any]]:
        """See `Client.ask`."""
        return await self._run(calls.ask(self.batch_size, name, rows, budget, ids))

    async def explain(self, name: str, rows: Rows) -> list[dict[str, Any]]:
        """See `Client.explain`."""
        return await self._run(calls.explain(self.batch_size, name, rows))

    async def label(
        self,
        name: str,
        ids: Sequence[str],
        labels: Sequence[Label],
        *,
        key: str | None = None,
    ) -> LabelResult:
        """See `Client.label`."""
        return await self._run(calls.label(self.batch_size, name, ids, labels, key))

    async def forget(self, name: str, ids: Sequence[str]) -> list[str]:
        """See `Client.forget`."""
        return await self._run(calls.forget(name, ids))

    async def learn(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> int:
        """See `Client.learn`."""
        return await self._run(calls.learn(self.batch_size, name, rows, labels, key))

    async def observe(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> list[Label | None]:
        """See `Client.observe`."""
        return await self._run(calls.observe(self.batch_size, name, rows, labels, key))
