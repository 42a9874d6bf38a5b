"""Requests of each client method, and the results of their answers.

Both clients share them: a `Call` is a list of requests and a function of their answers.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from rpnb.client.encoding import (
    JSON,
    batches,
    column_names,
    encode_batches,
    plain,
    plain_columns,
    plain_labels,
    to_json,
)
from rpnb.client.results import Label, LabelResult, Prediction, ServeError

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Request:
    """One request; retries send it unchanged."""

    method: str
    path: str
    content: bytes = b""
    content_type: str = JSON
    parameters: Mapping[str, str] = field(default_factory=dict)
    key: str | None = None
    """idempotency key, for requests that change something"""
    first_row: int = 0
    """number within the call of the first row of this batch"""
    binary: bool = False
    """whether the answer is a file, not JSON"""

    def headers(self) -> dict[str, str]:
        """Return the headers."""
        found = {"content-type": self.content_type} if self.content else {}
        if self.key is not None:
            found["idempotency-key"] = self.key
        return found


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """The requests of a method, and a function of their answers."""

    requests: list[Request]
    result: Callable[[list[Any]], Result]


def read_answer(response: Any, request: Request, *, repeated: bool) -> Any:
    """Return the content of an answer, or raise the error it reports."""
    if response.status_code < 400:
        return response.content if request.binary else response.json()
    if repeated and request.method == "DELETE" and response.status_code == 404:
        return {"deleted": True}  # by an earlier attempt
    raise read_error(response, request)


def read_error(response: Any, request: Request) -> ServeError:
    """Return the error that an answer reports."""
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
        return ServeError(response.status_code, "http", "the response is not JSON")


def _one(name: str, action: str = "") -> str:
    return f"/v1/models/{name}{action}"


def _keys(key: str | None, n: int) -> list[str]:
    """Return a key for each request; a given key must be for a single one."""
    if key is None:
        return [secrets.token_hex(16) for _ in range(n)]
    if n > 1:
        raise ValueError("a key is for one request: send at most batch_size rows")
    return [key] * n


def _only(answers: list[Any]) -> Any:
    return answers[0]


def _with_rows(
    path: str,
    rows: Any,
    size: int,
    *,
    labels: list[Label] | None = None,
    ids: Sequence[str] | None = None,
    parameters: Mapping[str, str] | None = None,
    keys: Callable[[int], Sequence[str | None]] = lambda n: [None] * n,
) -> list[Request]:
    """Return requests that send rows in batches."""
    encoded = list(encode_batches(rows, labels, ids, size))
    found = []
    for (start, content, kind), key in zip(encoded, keys(len(encoded)), strict=True):
        query = dict(parameters or {})
        if kind != JSON and column_names(rows) is None:
            query["columns"] = "position"
        found.append(Request("POST", path, content, kind, query, key, start))
    return found


# Models


def create(
    name: str,
    learner: str,
    features: Sequence[str] | int | Any,
    classes: Sequence[Label] | None,
    new_classes: str,
    date_features: Sequence[str | int],
    correct_class_mix: bool,
    parameters: Mapping[str, Any],
) -> Call[dict[str, Any]]:
    """Create a model."""
    if hasattr(features, "columns"):
        features, kinds = plain_columns(features, parameters)
        date_features = [*date_features, *kinds.get("date", ())]
        for kind, named in (
            ("category", "categorical_features"),
            ("text", "text_features"),
        ):
            if kind in kinds:
                parameters = {**parameters, named: kinds[kind]}
    body: dict[str, Any] = {
        "name": name,
        "learner": learner,
        "parameters": {each: plain(value) for each, value in parameters.items()},
    }
    if isinstance(features, int):
        body["n_features"] = features
    else:
        body["features"] = list(features)
    if classes is not None:
        body["classes"] = plain_labels(classes)
    if new_classes != "accept":
        body["new_classes"] = new_classes
    if date_features:
        body["date_features"] = list(date_features)
    if correct_class_mix:
        body["correct_class_mix"] = correct_class_mix
    (key,) = _keys(None, 1)
    return Call([Request("POST", "/v1/models", to_json(body), key=key)], _only)


def upload(name: str, content: bytes, new_classes: str) -> Call[dict[str, Any]]:
    """Create a model from a file."""
    query = {} if new_classes == "accept" else {"new_classes": new_classes}
    path, kind = _one(name, "/file"), "application/octet-stream"
    (key,) = _keys(None, 1)
    return Call([Request("PUT", path, content, kind, query, key=key)], _only)


def download(name: str, kind: str, version: str | None = None) -> Call[bytes]:
    """Download a model file."""
    path, parameters = _one(name, "/file"), {"kind": kind}
    if version is not None:
        parameters["version"] = version
    return Call([Request("GET", path, parameters=parameters, binary=True)], _only)


def models() -> Call[list[dict[str, Any]]]:
    """Describe all models."""
    return Call([Request("GET", "/v1/models")], lambda answers: answers[0]["models"])


def model(name: str) -> Call[dict[str, Any]]:
    """Describe one model."""
    return Call([Request("GET", _one(name))], _only)


def delete(name: str) -> Call[None]:
    """Delete a model."""
    return Call([Request("DELETE", _one(name))], lambda _answers: None)


def health() -> Call[dict[str, Any]]:
    """Request the status of the service."""
    return Call([Request("GET", "/healthz")], _only)


# Challengers and versions


def _change(path: str, body: Mapping[str, Any]) -> Call[dict[str, Any]]:
    (key,) = _keys(None, 1)
    return Call([Request("POST", path, to_json(dict(body)), key=key)], _only)


def challenge(
    name: str,
    challenger: str,
    learner: str,
    start: str,
    parameters: Mapping[str, Any],
) -> Call[dict[str, Any]]:
    """Add a challenger."""
    body = {
        "name": challenger,
        "learner": learner,
        "start": start,
        "parameters": {each: plain(value) for each, value in parameters.items()},
    }
    return _change(_one(name, "/challengers"), body)


def challengers(name: str) -> Call[dict[str, Any]]:
    """Describe the serving learner and its challengers."""
    return Call([Request("GET", _one(name, "/challengers"))], _only)


def withdraw(name: str, challenger: str) -> Call[None]:
    """Withdraw a challenger."""
    path = _one(name, f"/challengers/{challenger}")
    return Call([Request("DELETE", path)], lambda _answers: None)


def promote(name: str, challenger: str) -> Call[dict[str, Any]]:
    """Let a challenger serve."""
    return _change(_one(name, f"/challengers/{challenger}/promote"), {})


def roll_back(name: str, version: str | None) -> Call[dict[str, Any]]:
    """Let the previous learner, or a version, serve again."""
    body = {} if version is None else {"version": version}
    return _change(_one(name, "/rollback"), body)


def name_version(name: str, version: str, event: int | None) -> Call[dict[str, Any]]:
    """Name a state."""
    body: dict[str, Any] = {"name": version}
    return _change(
        _one(name, "/versions"), body if event is None else {**body, "event": event}
    )


def drop_version(name: str, version: str) -> Call[None]:
    """Delete a version."""
    path = _one(name, f"/versions/{version}")
    return Call([Request("DELETE", path)], lambda _answers: None)


# Rows


def predict(
    size: int,
    name: str,
    rows: Any,
    ids: Sequence[str] | None,
    *,
    remember: bool,
    probabilities: bool,
    version: str | None = None,
) -> Call[Prediction]:
    """Predict rows."""
    if ids is not None and not remember:
        raise ValueError("ids are for rows that wait: pass remember=True")
    flags = {"remember": remember, "probabilities": probabilities}
    query = {each: "true" for each, wanted in flags.items() if wanted}
    if version is not None:
        query["version"] = version
    requests = _with_rows(
        _one(name, "/predict"),
        rows,
        size,
        ids=ids,
        parameters=query,
        keys=lambda n: _keys(None, n) if remember else [None] * n,
    )
    return Call(requests, _join_predictions)


def ask(
    size: int, name: str, rows: Any, budget: float, ids: Sequence[str] | None
) -> Call[dict[str, list[Any]]]:
    """Predict rows, keep them for their labels, and choose some to label."""
    requests = _with_rows(
        _one(name, "/ask"),
        rows,
        size,
        ids=ids,
        parameters={"budget": repr(float(budget))},
        keys=lambda n: _keys(None, n),
    )
    return Call(requests, _join_lists)


def asked(name: str, limit: int) -> Call[dict[str, Any]]:
    """List chosen rows that have no label yet."""
    request = Request("GET", _one(name, "/ask"), parameters={"limit": str(limit)})
    return Call([request], _only)


def explain(size: int, name: str, rows: Any) -> Call[list[dict[str, Any]]]:
    """Request explanations of predictions."""
    return Call(_with_rows(_one(name, "/explain"), rows, size), _join_reasons)


def label(
    size: int, name: str, ids: Sequence[str], labels: Any, key: str | None
) -> Call[LabelResult]:
    """Send labels of rows that wait."""
    values = plain_labels(labels)
    if len(values) != len(ids):
        raise ValueError(f"got {len(ids)} ids but {len(values)} labels")
    parts = list(batches(len(ids), size))
    requests = [
        Request(
            "POST",
            _one(name, "/labels"),
            to_json({"ids": list(ids[part]), "labels": values[part]}),
            key=each,
            first_row=part.start,
        )
        for part, each in zip(parts, _keys(key, len(parts)), strict=True)
    ]
    return Call(
        requests,
        lambda answers: LabelResult([r for each in answers for r in each["results"]]),
    )


def forget(name: str, ids: Sequence[str]) -> Call[list[str]]:
    """Remove rows."""
    (key,) = _keys(None, 1)
    body = to_json({"ids": list(ids)})
    request = Request("POST", _one(name, "/forget"), body, key=key)
    return Call([request], lambda answers: answers[0]["results"])


def learn(size: int, name: str, rows: Any, labels: Any, key: str | None) -> Call[int]:
    """Learn rows with their labels."""
    requests = _labelled(size, _one(name, "/learn"), rows, labels, key)
    return Call(requests, lambda answers: sum(each["learned"] for each in answers))


def observe(
    size: int, name: str, rows: Any, labels: Any, key: str | None
) -> Call[list[Label | None]]:
    """Predict rows, then learn them."""
    requests = _labelled(size, _one(name, "/observe"), rows, labels, key)
    return Call(
        requests, lambda answers: [y for each in answers for y in each["labels"]]
    )


def _labelled(
    size: int, path: str, rows: Any, labels: Any, key: str | None
) -> list[Request]:
    values = plain_labels(labels)
    return _with_rows(path, rows, size, labels=values, keys=lambda n: _keys(key, n))


# Answers


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


def _join_lists(answers: list[Any]) -> dict[str, list[Any]]:
    return {
        key: [value for each in answers for value in each[key]]
        for key, found in answers[0].items()
        if isinstance(found, list)
    }


def _join_reasons(answers: list[Any]) -> list[dict[str, Any]]:
    found = []
    for each in answers:
        names = each["features"]
        for i, values in enumerate(each["contributions"]):
            row = {key: each[key][i] for key in ("against", "base", "score")}
            reasons = dict(zip(names, values, strict=True))
            found.append({"label": each["labels"][i], **row, "contributions": reasons})
            if "members" in each:
                members = zip(each["member_names"], each["members"][i], strict=True)
                errors = zip(names, each["errors"][i], strict=True)
                found[-1] |= {"errors": dict(errors), "members": dict(members)}
    return found
