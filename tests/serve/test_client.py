"""Requests of the clients and their reading of responses, without a service."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rpnb.client import ServeError, calls
from rpnb.client.encoding import JSON, batches, encode_batches, plain_labels
from rpnb.client.results import LabelResult
from rpnb.client.retries import RETRIED, Attempts, access, pauses

X = np.arange(34.0).reshape(17, 2)


def test_few_rows_are_json_and_more_are_arrow() -> None:
    few = np.array([[1.0, np.nan], [2.0, 3.0]])
    ((first, body, kind),) = encode_batches(few, ["a", "b"], ["i", "j"], 100)
    assert (first, kind) == (0, JSON)
    assert json.loads(body) == {
        "rows": [[1.0, None], [2.0, 3.0]],
        "labels": ["a", "b"],
        "ids": ["i", "j"],
    }
    assert [kind for *_, kind in encode_batches(X[:16], None, None, 100)] == [JSON]
    ((first, body, kind),) = encode_batches(X, [*range(17)], None, 100)
    assert "arrow" in kind
    table = pa.ipc.open_stream(body).read_all()
    assert table.column_names == ["x0", "x1", "label"]
    assert table["x1"].to_pylist() == X[:, 1].tolist()
    assert table["label"].to_pylist() == [*range(17)]
    ids = [str(i) for i in range(17)]
    parts = list(encode_batches(X, None, ids, 7))
    assert [first for first, *_ in parts] == [0, 7, 14]
    last = pa.ipc.open_stream(parts[-1][1]).read_all()
    assert last["id"].to_pylist() == ids[14:]
    objects = [{"a": 1.0}, {"a": None}] * 20  # by name, as they are
    ((_, body, kind),) = encode_batches(objects, None, None, 100)
    assert (json.loads(body), kind) == ({"rows": objects}, JSON)


@pytest.mark.parametrize(
    "rows",
    [
        [[np.nan, "NO"], [2.0, "IT"]],
        [{"a": np.nan, "b": "NO"}, {"a": np.float64(2.0), "b": "IT"}],
    ],
)
def test_missing_values_beside_text_are_null(rows: Any) -> None:
    ((_, body, _),) = encode_batches(rows, None, None, 100)
    first, second = json.loads(body)["rows"]
    values = first.values() if isinstance(first, dict) else first
    assert [*values] == [None, "NO"]
    assert 2.0 in (second.values() if isinstance(second, dict) else second)
    for bad in ([[np.inf, "NO"]], [{"a": np.inf}]):
        with pytest.raises(ValueError, match="a request must not contain infinity"):
            list(encode_batches(bad, None, None, 100))
    with pytest.raises(ValueError, match="NaN as a label"):
        calls.label(9, "m", ["i"], [np.nan], None)


def test_rows_labels_and_ids_are_as_many() -> None:
    with pytest.raises(ValueError, match="rows must be a table, got 1 dimensions"):
        list(encode_batches([1.0, 2.0], None, None, 9))
    with pytest.raises(ValueError, match="got 17 rows but 2 labels"):
        list(encode_batches(X, [1, 2], None, 9))
    with pytest.raises(ValueError, match="got 17 rows but 1 ids"):
        list(encode_batches(X, None, ["i"], 9))
    with pytest.raises(ValueError, match="got 2 ids but 1 labels"):
        calls.label(9, "m", ["i", "j"], ["a"], None)
    with pytest.raises(ValueError, match="ids are for rows that wait"):
        calls.predict(9, "m", X, ["i"] * 17, remember=False, probabilities=False)
    assert [(p.start, p.stop) for p in batches(5, 2)] == [(0, 2), (2, 4), (4, 5)]
    assert list(batches(0, 2)) == []


def test_labels_are_pythons_own() -> None:
    for given in (np.array([1, 2]), [np.int64(1), 2], (1, np.int32(2))):
        found = plain_labels(given)
        assert found == [1, 2]
        assert [type(label) for label in found] == [int, int]


def test_requests_say_what_is_wanted() -> None:
    call = calls.predict(10, "m", X, None, remember=True, probabilities=True)
    assert [request.first_row for request in call.requests] == [0, 10]
    for request in call.requests:
        assert request.path == "/v1/models/m/predict"
        wanted = dict(request.parameters)
        # Columns of Arrow have names, which are not those of the model.
        assert wanted.pop("columns", "position") == "position"
        assert wanted == {"remember": "true", "probabilities": "true"}
    keys = [request.key for request in call.requests]
    assert None not in keys
    assert len({*keys}) == 2
    plain = calls.predict(10, "m", X[:16], None, remember=False, probabilities=False)
    assert [(r.key, dict(r.parameters)) for r in plain.requests] == [(None, {})] * 2
    labels = calls.label(2, "m", ["i", "j", "k"], np.array([1, 2, 3]), None)
    bodies = [json.loads(request.content or b"") for request in labels.requests]
    assert bodies == [
        {"ids": ["i", "j"], "labels": [1, 2]},
        {"ids": ["k"], "labels": [3]},
    ]
    assert len({request.key for request in labels.requests}) == 2
    (once,) = calls.label(2, "m", ["i"], ["a"], "once").requests
    assert once.key == "once"
    with pytest.raises(ValueError, match="a key is for one request"):
        calls.label(2, "m", ["i", "j", "k"], [1, 2, 3], "once")


def answer(status: int, value: Any = None) -> Any:
    """Return a response like that of httpx."""

    def parsed() -> Any:
        if value is None:
            raise ValueError
        return value

    return SimpleNamespace(status_code=status, json=parsed, content=b"bytes")


def test_answers_are_read() -> None:
    request = calls.Request("POST", "/", first_row=10)
    assert calls.read_answer(answer(399, {"a": 1}), request, repeated=False) == {"a": 1}
    error = {"code": "invalid", "message": "why", "row": 3, "column": "x"}
    with pytest.raises(ServeError, match="why") as caught:
        calls.read_answer(answer(400, {"error": error}), request, repeated=True)
    found = caught.value
    assert (found.status, found.code, found.row, found.column) == (
        *(400, "invalid", 13, "x"),
    )
    del error["row"], error["column"]
    found = calls.read_error(answer(422, {"error": error}), request)
    assert (found.row, found.column) == (None, None)
    odd: Any
    for odd in (None, [], {"error": {}}):
        found = calls.read_error(answer(502, odd), request)
        assert (found.status, found.code) == (502, "http")
        assert str(found) == "the response is not JSON"
    # The second attempt finds nothing to delete.
    delete = calls.Request("DELETE", "/")
    assert calls.read_answer(answer(404), delete, repeated=True) == {"deleted": True}
    with pytest.raises(ServeError):
        calls.read_answer(answer(404), delete, repeated=False)
    with pytest.raises(ServeError):
        calls.read_answer(answer(404), request, repeated=True)
    results = LabelResult(["learned", "unknown", "learned", "duplicate", "learned"])
    assert (results.learned, results.duplicate, results.unknown) == (3, 1, 1)


def test_requests_are_repeated_after_pauses_that_double() -> None:
    middles = [0.05 * 2.0**i for i in range(7)] + [5.0, 5.0]
    for middle, pause in zip(middles, pauses(9), strict=True):
        assert 0.5 * middle <= pause < 1.5 * middle
    assert list(pauses(0)) == []
    attempts = Attempts(calls.Request("DELETE", "/x"), 1)
    assert RETRIED == (429, 502, 503, 504)
    for status in (200, 404, 429, 500, 501, 502, 503, 504, 505):
        busy = status in RETRIED
        assert attempts.is_answer(answer(status)) != busy
    assert 0.0 < attempts.pause_if_busy(answer(503)) < 0.1
    assert attempts.answer(answer(404)) == {"deleted": True}
    with pytest.raises(ServeError, match="no response: OSError") as caught:
        attempts.pause_without_answer(OSError())
    assert (caught.value.status, caught.value.code) == (0, "no_answer")
    assert access(None) == {}
    assert access("t") == {"authorization": "Bearer t"}
