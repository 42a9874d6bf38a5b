"""Clients of `rpnb serve`: create, predict, label, observe, with safe retries.

`Client` waits for its answers, `AsyncClient` awaits them; both have the same methods.
Requests that change something carry a key, so that a retry is carried out once, even
if the first try did arrive. Many rows are sent in batches, as Arrow where pyarrow is
installed. Needs ``pip install 'rpnb[serve]'``.
"""

import asyncio
import importlib.util
import io
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

try:
    import httpx
except ImportError as error:
    raise ImportError("rpnb.client needs: pip install 'rpnb[serve]'") from error

__all__ = ["AsyncClient", "Client", "LabelResult", "Prediction", "ServeError"]

Label = str | int | bool
Rows = ArrayLike | Sequence[Mapping[str, float | None]]

_ARROW = "application/vnd.apache.arrow.stream"
_RETRIED = (429, 502, 503, 504)
_FEW_ROWS = 16


class ServeError(Exception):
    """An error that the service answered with.

    Attributes
    ----------
    status : int
        HTTP status; 0 if no answer came.
    code : str
        The kind of error.
    row : int or None
        The row that it is about, among those of the call.
    column : str, int or None
        The column that it is about.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        row: int | None = None,
        column: str | int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.row, self.column = status, code, row, column


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predictions of rows.

    Attributes
    ----------
    labels : list
        Predicted labels; None where the model knows no class yet.
    confidence : list of float or None
        Probability of each predicted label, where the learner has one; for rows that
        wait, or with `probabilities`.
    ids : list of str or None
        Ids of the rows, if they wait for their labels.
    probabilities : array of shape (n, M) or None
        Probabilities of all classes, if they were asked for.
    classes : list or None
        The classes that the columns of `probabilities` belong to.
    """

    labels: list[Label | None]
    confidence: list[float | None]
    ids: list[str] | None = None
    probabilities: NDArray[np.float64] | None = None
    classes: list[Label] | None = None


@dataclass(frozen=True, slots=True)
class LabelResult:
    """What became of labels.

    Attributes
    ----------
    results : list of str
        For each label "learnt", "duplicate" or "unknown".
    """

    results: list[str]

    @property
    def learnt(self) -> int:
        """Labels that were learnt."""
        return self.results.count("learnt")

    @property
    def duplicate(self) -> int:
        """Labels of rows that had one already."""
        return self.results.count("duplicate")

    @property
    def unknown(self) -> int:
        """Labels of rows that do not wait, or no longer."""
        return self.results.count("unknown")


@dataclass(frozen=True, slots=True)
class _Request:
    """One request, and the same one for each of its retries."""

    method: str
    path: str
    content: bytes = b""
    content_type: str = "application/json"
    parameters: Mapping[str, str] = field(default_factory=dict)
    key: bool = False
    first_row: int = 0
    """of the call, in this batch"""

    def headers(self, key: str | None) -> dict[str, str]:
        found = {"content-type": self.content_type} if self.content else {}
        if self.key:
            found["idempotency-key"] = key or secrets.token_hex(16)
        return found


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _labels(y: Any) -> list[Label]:
    return [_plain(label) for label in (y.tolist() if hasattr(y, "tolist") else y)]


def _chunks(n: int, size: int) -> Iterator[slice]:
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def _one(name: str, action: str = "") -> str:
    return f"/v1/models/{name}{action}"


def _has_arrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def _rows_requests(
    path: str,
    rows: Any,
    labels: list[Label] | None,
    ids: Sequence[str] | None,
    parameters: Mapping[str, str],
    size: int,
    *,
    key: bool,
) -> list[_Request]:
    """Return the requests that send rows in batches."""
    objects = (
        not isinstance(rows, np.ndarray) and len(rows) and isinstance(rows[0], dict)
    )
    X = rows if objects else np.asarray(rows, dtype=np.float64)
    if not objects and X.ndim != 2:
        raise ValueError(f"rows must be a table (n, p), got {X.ndim} dimensions")
    n = len(X)
    for name, values in (("labels", labels), ("ids", ids)):
        if values is not None and len(values) != n:
            raise ValueError(f"there are {n} rows and {len(values)} {name}")
    found = []
    for part in _chunks(n, size):
        some_labels = None if labels is None else labels[part]
        some_ids = None if ids is None else list(ids[part])
        if not objects and n > _FEW_ROWS and _has_arrow():
            content, kind = _arrow_table(X[part], some_labels, some_ids), _ARROW
            parameters = {**parameters, "columns": "position"}
        else:
            body: dict[str, Any] = {
                "rows": list(X[part]) if objects else _json_rows(X[part])
            }
            if some_labels is not None:
                body["labels"] = some_labels
            if some_ids is not None:
                body["ids"] = some_ids
            content, kind = _json(body), "application/json"
        found.append(_Request("POST", path, content, kind, parameters, key, part.start))
    return found


def _json_rows(X: NDArray[np.float64]) -> list[list[float | None]]:
    """Return rows as lists, in which a missing value is None."""
    lists: list[list[float | None]] = X.tolist()
    if np.isnan(X).any():
        return [[None if v != v else v for v in row] for row in lists]
    return lists


def _arrow_table(
    X: NDArray[np.float64], labels: list[Label] | None, ids: list[str] | None
) -> bytes:
    """Return rows as an Arrow IPC stream; columns of features are named by number."""
    import pyarrow as pa
    import pyarrow.ipc

    columns = {
        f"x{j}": pa.array(np.ascontiguousarray(X[:, j])) for j in range(X.shape[1])
    }
    if labels is not None:
        columns["label"] = pa.array(labels)
    if ids is not None:
        columns["id"] = pa.array(ids)
    table = pa.table(columns)
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _read(response: Any, request: _Request) -> Any:
    """Return the JSON value of an answer, or raise the error that it is."""
    if response.status_code < 400:
        return response.json()
    raise _error(response, request)


def _error(response: Any, request: _Request) -> ServeError:
    try:
        found = response.json()["error"]
        row = found.get("row")
        return ServeError(
            response.status_code,
            found["code"],
            found["message"],
            None if row is None else row + request.first_row,
            found.get("column"),
        )
    except (ValueError, KeyError, TypeError):
        return ServeError(response.status_code, "http", "the answer is no JSON")


def _join_predictions(answers: list[Any]) -> Prediction:
    labels = [label for each in answers for label in each["labels"]]
    confidence = [
        value
        for each in answers
        for value in each.get("confidence", [None] * len(each["labels"]))
    ]
    ids = None
    if answers and "ids" in answers[0]:
        ids = [i for each in answers for i in each["ids"]]
    if answers and "probabilities" in answers[-1]:
        classes = answers[-1]["classes"]
        same = all(each.get("classes") == classes for each in answers)
        if same:
            P = np.array([row for each in answers for row in each["probabilities"]])
            return Prediction(labels, confidence, ids, P, classes)
    return Prediction(labels, confidence, ids)


def _join_reasons(answers: list[Any]) -> list[dict[str, Any]]:
    found = []
    for each in answers:
        names = each["features"]
        for i, values in enumerate(each["contributions"]):
            row = {key: each[key][i] for key in ("against", "base", "score")}
            reasons = dict(zip(names, values, strict=True))
            found.append({"label": each["labels"][i], **row, "contributions": reasons})
    return found


class _Retries:
    """When and how often to try again."""

    def __init__(self, retries: int) -> None:
        self.left = retries
        self.pause = 0.05

    def next_pause(self) -> float | None:
        """Return how long to wait before the next try, None if there is none."""
        if self.left == 0:
            return None
        self.left -= 1
        pause = self.pause * (0.5 + secrets.randbelow(1000) / 1000)
        self.pause = min(self.pause * 2.0, 5.0)
        return pause


def _no_answer(error: Exception) -> ServeError:
    return ServeError(0, "no_answer", f"no answer came: {type(error).__name__}")


class _Calls:
    """The requests of each method, and what is made of their answers."""

    batch_size: int

    def _create(
        self,
        name: str,
        learner: str,
        features: Sequence[str] | int,
        classes: Sequence[Label] | None,
        parameters: Mapping[str, Any],
    ) -> _Request:
        body: dict[str, Any] = {
            "name": name,
            "learner": learner,
            "parameters": {key: _plain(value) for key, value in parameters.items()},
        }
        if isinstance(features, int):
            body["n_features"] = features
        else:
            body["features"] = list(features)
        if classes is not None:
            body["classes"] = _labels(classes)
        return _Request("POST", "/v1/models", _json(body), key=True)

    def _predict(
        self,
        name: str,
        rows: Any,
        ids: Sequence[str] | None,
        *,
        remember: bool,
        probabilities: bool,
    ) -> list[_Request]:
        if ids is not None and not remember:
            raise ValueError("ids are for rows that wait: remember=True")
        parameters = {
            "remember": str(remember).lower(),
            "probabilities": str(probabilities).lower(),
        }
        path = _one(name, "/predict")
        size = self.batch_size
        return _rows_requests(path, rows, None, ids, parameters, size, key=remember)

    def _label(self, name: str, ids: Sequence[str], labels: Any) -> list[_Request]:
        values = _labels(labels)
        if len(values) != len(ids):
            raise ValueError(f"there are {len(ids)} ids and {len(values)} labels")
        return [
            _Request(
                "POST",
                _one(name, "/labels"),
                _json({"ids": list(ids[part]), "labels": values[part]}),
                key=True,
                first_row=part.start,
            )
            for part in _chunks(len(ids), self.batch_size)
        ]

    def _learn(self, name: str, action: str, rows: Any, labels: Any) -> list[_Request]:
        path = _one(name, action)
        values = _labels(labels)
        return _rows_requests(path, rows, values, None, {}, self.batch_size, key=True)


@final
class Client(_Calls):
    """A client of `rpnb serve` that waits for its answers.

    Parameters
    ----------
    address : str, default="http://127.0.0.1:8000"
        Of the service.
    token : str, optional
        Access token.
    batch_size : int, default=5000
        Rows per request.
    retries : int, default=6
        How often a request is tried again: if no answer came, or one that says that the
        service is busy. Pauses double from 0.05 to 5 seconds. A retry has the key of
        the first try and is carried out once.
    timeout : float, default=300.0
        Seconds to wait for an answer.

    Examples
    --------
    A row is predicted now, its label comes later::

        with Client() as client:
            client.create("leaves", features=["width", "height"])
            found = client.predict("leaves", [[5.1, 3.5]], remember=True)
            client.label("leaves", found.ids, ["oak"])
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        token: str | None = None,
        batch_size: int = 5000,
        retries: int = 6,
        timeout: float = 300.0,
    ) -> None:
        self.batch_size, self.retries = batch_size, retries
        self._http = httpx.Client(
            base_url=address, headers=_access(token), timeout=timeout, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _response(self, request: _Request, key: str | None = None) -> Any:
        headers = request.headers(key)
        retries = _Retries(self.retries)
        while True:
            failure: Exception
            try:
                response = self._http.request(
                    request.method,
                    request.path,
                    content=request.content,
                    headers=headers,
                    params=dict(request.parameters),
                )
                if response.status_code not in _RETRIED:
                    return response
                failure = _error(response, request)
            except httpx.TransportError as error:
                failure = _no_answer(error)
            pause = retries.next_pause()
            if pause is None:
                raise failure
            time.sleep(pause)

    def _send(self, request: _Request, key: str | None = None) -> Any:
        return _read(self._response(request, key), request)

    # Models

    def create(
        self,
        name: str,
        learner: str = "RPNB",
        *,
        features: Sequence[str] | int,
        classes: Sequence[Label] | None = None,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Create a model.

        Parameters
        ----------
        name : str
            Letters, digits, _ and -.
        learner : str, default="RPNB"
            Any learner of the package, as in `rpnb run --learner`.
        features : sequence of str, or int
            Names of the features, or their number.
        classes : sequence, optional
            Classes that may be predicted from the start.
        **parameters
            Of the learner.

        Returns
        -------
        dict
            What the service knows of the model.
        """
        found: dict[str, Any] = self._send(
            self._create(name, learner, features, classes, parameters)
        )
        return found

    def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Create a model from the bytes of a model file."""
        path, kind = _one(name, "/file"), "application/octet-stream"
        found: dict[str, Any] = self._send(
            _Request("PUT", path, content, kind, key=True)
        )
        return found

    def download(self, name: str, kind: str = "model") -> bytes:
        """Return a model file: "model", "frozen" or "onnx"."""
        request = _Request("GET", _one(name, "/file"), parameters={"kind": kind})
        response = self._response(request)
        if response.status_code >= 400:
            raise _error(response, request)
        content: bytes = response.content
        return content

    def models(self) -> list[dict[str, Any]]:
        """Return what the service knows of each model."""
        found: list[dict[str, Any]] = self._send(_Request("GET", "/v1/models"))[
            "models"
        ]
        return found

    def model(self, name: str) -> dict[str, Any]:
        """Return what the service knows of a model."""
        found: dict[str, Any] = self._send(_Request("GET", _one(name)))
        return found

    def delete(self, name: str) -> None:
        """Delete a model and all its rows."""
        self._send(_Request("DELETE", _one(name)))

    def health(self) -> dict[str, Any]:
        """Return whether all is well, and what is not."""
        found: dict[str, Any] = self._send(_Request("GET", "/healthz"))
        return found

    # Rows

    def predict(
        self,
        name: str,
        rows: Rows,
        *,
        remember: bool = False,
        ids: Sequence[str] | None = None,
        probabilities: bool = False,
    ) -> Prediction:
        """Predict rows.

        Parameters
        ----------
        name : str
            Of the model.
        rows : array-like of shape (n, p), or sequence of mappings
            Observations; mappings are by feature name.
        remember : bool, default=False
            Whether the rows wait for their labels.
        ids : sequence of str, optional
            Ids of rows that wait; the service gives them ids otherwise.
        probabilities : bool, default=False
            Whether to return the probabilities of all classes.
        """
        requests = self._predict(
            name, rows, ids, remember=remember, probabilities=probabilities
        )
        return _join_predictions([self._send(each) for each in requests])

    def explain(self, name: str, rows: Rows) -> list[dict[str, Any]]:
        """Return why each row is given its class.

        For each row: the label, the class that it is compared with ("against"), the
        score of the background ("base"), the row's ("score"), and what each feature
        contributes to the difference, by name ("contributions").
        """
        requests = _rows_requests(
            _one(name, "/explain"), rows, None, None, {}, self.batch_size, key=False
        )
        return _join_reasons([self._send(each) for each in requests])

    def label(
        self,
        name: str,
        ids: Sequence[str],
        labels: Sequence[Label],
        *,
        key: str | None = None,
    ) -> LabelResult:
        """Send labels of rows that wait, late, in any order.

        Parameters
        ----------
        name : str
            Of the model.
        ids : sequence of str
            Of the rows.
        labels : sequence
            Their labels.
        key : str, optional
            A key of your own, for a call that you may repeat in another process; for
            calls of at most `batch_size` labels.
        """
        requests = self._label(name, ids, labels)
        _check_key(key, requests)
        answers = [self._send(each, key) for each in requests]
        return LabelResult([result for each in answers for result in each["results"]])

    def forget(self, name: str, ids: Sequence[str]) -> list[str]:
        """Remove rows from the log and from the model, as if never seen.

        Returns for each id "forgotten", or "unknown" if there is no such row. The model
        becomes that of a replay of its log without the rows, to the bit; this takes as
        long as learning all of them again.
        """
        request = _Request(
            "POST", _one(name, "/forget"), _json({"ids": list(ids)}), key=True
        )
        found: list[str] = (self._send(request))["results"]
        return found

    def learn(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> int:
        """Learn rows with their labels; return how many."""
        requests = self._learn(name, "/learn", rows, labels)
        _check_key(key, requests)
        return sum(self._send(each, key)["learnt"] for each in requests)

    def observe(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> list[Label | None]:
        """Predict each row, then learn it; return the predictions."""
        requests = self._learn(name, "/observe", rows, labels)
        _check_key(key, requests)
        answers = [self._send(each, key) for each in requests]
        return [label for each in answers for label in each["labels"]]


@final
class AsyncClient(_Calls):
    """A client of `rpnb serve` whose answers are awaited.

    Parameters
    ----------
    address, token, batch_size, retries, timeout
        As those of `Client`.
    connections : int, default=64
        Connections at a time.
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
            headers=_access(token),
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

    async def _response(self, request: _Request, key: str | None = None) -> Any:
        headers = request.headers(key)
        retries = _Retries(self.retries)
        while True:
            failure: Exception
            try:
                response = await self._http.request(
                    request.method,
                    request.path,
                    content=request.content,
                    headers=headers,
                    params=dict(request.parameters),
                )
                if response.status_code not in _RETRIED:
                    return response
                failure = _error(response, request)
            except httpx.TransportError as error:
                failure = _no_answer(error)
            pause = retries.next_pause()
            if pause is None:
                raise failure
            await asyncio.sleep(pause)

    async def _send(self, request: _Request, key: str | None = None) -> Any:
        return _read(await self._response(request, key), request)

    async def create(
        self,
        name: str,
        learner: str = "RPNB",
        *,
        features: Sequence[str] | int,
        classes: Sequence[Label] | None = None,
        **parameters: Any,
    ) -> dict[str, Any]:
        """Create a model: see `Client.create`."""
        found: dict[str, Any] = await self._send(
            self._create(name, learner, features, classes, parameters)
        )
        return found

    async def upload(self, name: str, content: bytes) -> dict[str, Any]:
        """Create a model from the bytes of a model file."""
        path, kind = _one(name, "/file"), "application/octet-stream"
        request = _Request("PUT", path, content, kind, key=True)
        found: dict[str, Any] = await self._send(request)
        return found

    async def download(self, name: str, kind: str = "model") -> bytes:
        """Return a model file: "model", "frozen" or "onnx"."""
        request = _Request("GET", _one(name, "/file"), parameters={"kind": kind})
        response = await self._response(request)
        if response.status_code >= 400:
            raise _error(response, request)
        content: bytes = response.content
        return content

    async def models(self) -> list[dict[str, Any]]:
        """Return what the service knows of each model."""
        answer = await self._send(_Request("GET", "/v1/models"))
        found: list[dict[str, Any]] = answer["models"]
        return found

    async def model(self, name: str) -> dict[str, Any]:
        """Return what the service knows of a model."""
        found: dict[str, Any] = await self._send(_Request("GET", _one(name)))
        return found

    async def delete(self, name: str) -> None:
        """Delete a model and all its rows."""
        await self._send(_Request("DELETE", _one(name)))

    async def health(self) -> dict[str, Any]:
        """Return whether all is well, and what is not."""
        found: dict[str, Any] = await self._send(_Request("GET", "/healthz"))
        return found

    async def predict(
        self,
        name: str,
        rows: Rows,
        *,
        remember: bool = False,
        ids: Sequence[str] | None = None,
        probabilities: bool = False,
    ) -> Prediction:
        """Predict rows: see `Client.predict`."""
        requests = self._predict(
            name, rows, ids, remember=remember, probabilities=probabilities
        )
        return _join_predictions([await self._send(each) for each in requests])

    async def explain(self, name: str, rows: Rows) -> list[dict[str, Any]]:
        """Return why each row is given its class.

        For each row: the label, the class that it is compared with ("against"), the
        score of the background ("base"), the row's ("score"), and what each feature
        contributes to the difference, by name ("contributions").
        """
        requests = _rows_requests(
            _one(name, "/explain"), rows, None, None, {}, self.batch_size, key=False
        )
        return _join_reasons([await self._send(each) for each in requests])

    async def label(
        self,
        name: str,
        ids: Sequence[str],
        labels: Sequence[Label],
        *,
        key: str | None = None,
    ) -> LabelResult:
        """Send labels of rows that wait: see `Client.label`."""
        requests = self._label(name, ids, labels)
        _check_key(key, requests)
        answers = [await self._send(each, key) for each in requests]
        return LabelResult([result for each in answers for result in each["results"]])

    async def forget(self, name: str, ids: Sequence[str]) -> list[str]:
        """Remove rows from the log and from the model, as if never seen.

        Returns for each id "forgotten", or "unknown" if there is no such row. The model
        becomes that of a replay of its log without the rows, to the bit; this takes as
        long as learning all of them again.
        """
        request = _Request(
            "POST", _one(name, "/forget"), _json({"ids": list(ids)}), key=True
        )
        found: list[str] = (await self._send(request))["results"]
        return found

    async def learn(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> int:
        """Learn rows with their labels; return how many."""
        requests = self._learn(name, "/learn", rows, labels)
        _check_key(key, requests)
        return sum([(await self._send(each, key))["learnt"] for each in requests])

    async def observe(
        self, name: str, rows: Rows, labels: Sequence[Label], *, key: str | None = None
    ) -> list[Label | None]:
        """Predict each row, then learn it; return the predictions."""
        requests = self._learn(name, "/observe", rows, labels)
        _check_key(key, requests)
        answers = [await self._send(each, key) for each in requests]
        return [label for each in answers for label in each["labels"]]


def _access(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"Bearer {token}"}


def _check_key(key: str | None, requests: list[_Request]) -> None:
    """Refuse a key for more than one request."""
    if key is not None and len(requests) > 1:
        raise ValueError("a key stands for one request: send at most batch_size rows")
