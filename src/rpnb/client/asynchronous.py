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

    Examples
    --------
    A row is predicted now, its label arrives later. The examples are typed into
    ``python -m asyncio``, with `address`, `client`, `rows` and `labels` as in those of
    `Client`:

    >>> from rpnb.client import AsyncClient
    >>> async with AsyncClient(address) as client:
    ...     created = await client.create("trees", features=["width", "height"])
    ...     found = await client.predict("trees", [[5.1, 3.5]], remember=True)
    ...     (await client.label("trees", found.ids, ["oak"])).results
    ['learned']
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
        """Close the connections.

        Examples
        --------
        >>> await client.close()
        """
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
        """Create a model; see `Client.create`.

        Examples
        --------
        >>> model = await client.create("trees", features=["width", "height"])
        >>> model["learner"]
        'Pooled'
        """
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
        """Create a model from the bytes of a model file; see `Client.upload`.

        Examples
        --------
        >>> copied = await client.upload("copy", await client.download("leaves"))
        >>> copied["learner"]
        'Pooled'
        """
        return await self._run(calls.upload(name, content, new_classes))

    async def download(
        self, name: str, kind: str = "model", *, version: str | None = None
    ) -> bytes:
        """Return a model file; see `Client.download`.

        Examples
        --------
        >>> content = await client.download("leaves")
        >>> content[:2]                                   # a zip archive
        b'PK'
        """
        return await self._run(calls.download(name, kind, version))

    async def models(self) -> list[dict[str, Any]]:
        """Describe each model; see `Client.models`.

        Examples
        --------
        >>> [model["name"] for model in await client.models()]
        ['leaves']
        """
        return await self._run(calls.models())

    async def model(self, name: str) -> dict[str, Any]:
        """Describe a model; see `Client.model`.

        Examples
        --------
        >>> (await client.model("leaves"))["classes"]
        ['elm', 'oak']
        """
        return await self._run(calls.model(name))

    async def delete(self, name: str) -> None:
        """Delete a model and all its rows; see `Client.delete`.

        Examples
        --------
        >>> await client.delete("leaves")
        >>> await client.models()
        []
        """
        await self._run(calls.delete(name))

    async def health(self) -> dict[str, Any]:
        """Return the status of the service; see `Client.health`.

        Examples
        --------
        >>> (await client.health())["status"]
        'ok'
        """
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
        """Add a challenger; see `Client.challenge`.

        Examples
        --------
        >>> added = await client.challenge("leaves", "bayes", "GaussianNB")
        >>> found = await client.challengers("leaves")
        >>> [each["name"] for each in found["challengers"]]
        ['bayes']
        """
        call = calls.challenge(name, challenger, learner, start, parameters)
        return await self._run(call)

    async def challengers(self, name: str) -> dict[str, Any]:
        """Return the learner in use and its challengers; see `Client.challengers`.

        Examples
        --------
        >>> found = await client.challengers("leaves")
        >>> found["champion"]["learner"], found["challengers"]
        ('Pooled', [])
        """
        return await self._run(calls.challengers(name))

    async def withdraw(self, name: str, challenger: str) -> None:
        """Withdraw a challenger; see `Client.withdraw`.

        Examples
        --------
        >>> added = await client.challenge("leaves", "bayes", "GaussianNB")
        >>> await client.withdraw("leaves", "bayes")
        >>> (await client.challengers("leaves"))["challengers"]
        []
        """
        await self._run(calls.withdraw(name, challenger))

    async def promote(self, name: str, challenger: str) -> dict[str, Any]:
        """Make a challenger the champion; see `Client.promote`.

        Examples
        --------
        >>> added = await client.challenge("leaves", "bayes", "GaussianNB")
        >>> promoted = await client.promote("leaves", "bayes")
        >>> (await client.challengers("leaves"))["champion"]["name"]
        'bayes'
        """
        return await self._run(calls.promote(name, challenger))

    async def roll_back(self, name: str, version: str | None = None) -> dict[str, Any]:
        """Return to the previous champion or a version; see `Client.roll_back`.

        Examples
        --------
        >>> added = await client.challenge("leaves", "bayes", "GaussianNB")
        >>> promoted = await client.promote("leaves", "bayes")
        >>> back = await client.roll_back("leaves")
        >>> (await client.challengers("leaves"))["champion"]["learner"]
        'Pooled'
        """
        return await self._run(calls.roll_back(name, version))

    async def name_version(
        self, name: str, version: str, event: int | None = None
    ) -> dict[str, Any]:
        """Name the state of a model; see `Client.name_version`.

        Examples
        --------
        >>> named = await client.name_version("leaves", "monday")
        >>> (await client.predict("leaves", rows[:1], version="monday")).labels
        ['oak']
        """
        return await self._run(calls.name_version(name, version, event))

    async def drop_version(self, name: str, version: str) -> None:
        """Drop a named version; see `Client.drop_version`.

        Examples
        --------
        >>> named = await client.name_version("leaves", "monday")
        >>> await client.drop_version("leaves", "monday")
        """
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
        """Predict rows; see `Client.predict`.

        Examples
        --------
        >>> found = await client.predict("leaves", rows[:2], remember=True)
        >>> found.labels, len(found.ids)
        (['oak', 'elm'], 2)
        """
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
        """Predict rows and choose which to label; see `Client.ask`.

        Examples
        --------
        >>> found = await client.ask("leaves", rows, budget=0.5)
        >>> sorted(found)
        ['asked', 'confidence', 'ids', 'labels', 'weights']
        """
        return await self._run(calls.ask(self.batch_size, name, rows, budget, ids))

    async def asked(self, name: str, *, limit: int = 1000) -> dict[str, Any]:
        """List chosen rows that have no label yet; see `Client.asked`.

        Examples
        --------
        >>> waiting = await client.asked("leaves")
        >>> waiting["error"] is None
        True
        """
        return await self._run(calls.asked(name, limit))

    async def explain(self, name: str, rows: Rows) -> list[dict[str, Any]]:
        """Explain the prediction of each row; see `Client.explain`.

        Examples
        --------
        >>> reasons = await client.explain("leaves", rows[:1])
        >>> sorted(reasons[0]["contributions"])
        ['height', 'width']
        """
        return await self._run(calls.explain(self.batch_size, name, rows))

    async def label(
        self,
        name: str,
        ids: Sequence[str],
        labels: Sequence[Label],
        *,
        key: str | None = None,
    ) -> LabelResult:
        """Send labels of rows that wait for them; see `Client.label`.

        Examples
        --------
        >>> found = await client.predict("leaves", rows[:2], remember=True)
        >>> (await client.label("leaves", found.ids, ["oak", "elm"])).results
        ['learned', 'learned']
        """
        return await self._run(calls.label(self.batch_size, name, ids, labels, key))

    async def forget(self, name: str, ids: Sequence[str]) -> list[str]:
        """Remove rows from the log and the model; see `Client.forget`.

        Examples
        --------
        >>> ids = ["leaf-1"]
        >>> found = await client.predict("leaves", rows[:1], remember=True, ids=ids)
        >>> await client.forget("leaves", ["leaf-1", "leaf-2"])
        ['forgotten', 'unknown']
        """
        return await self._run(calls.forget(name, ids))

    async def learn(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> int:
        """Learn rows with their labels; see `Client.learn`.

        Examples
        --------
        >>> await client.learn("leaves", rows, labels)
        40
        """
        return await self._run(calls.learn(self.batch_size, name, rows, labels, key))

    async def observe(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> list[Label | None]:
        """Predict each row, then learn it; see `Client.observe`.

        Examples
        --------
        >>> await client.observe("leaves", rows[:2], labels[:2])
        ['oak', 'elm']
        """
        return await self._run(calls.observe(self.batch_size, name, rows, labels, key))
