"""Small requests that would take gigabytes are refused before they are decoded."""

import io
import json
import re
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpnb.client import Client
from rpnb.core.columns.coding import category_numbers
from rpnb.serve.http.formats import ARROW, JSON, NDJSON, dump_answer, read_table
from rpnb.serve.http.json_tables import _AT_ONCE
from rpnb.serve.http.memory import MemoryBudget, MemoryCharge
from rpnb.serve.http.request_tables import RequestColumns
from rpnb.serve.limits import ApiError, Limits
from serve.process import ServerProcess

Start = Callable[..., ServerProcess]

MB = 2**20
COLUMNS = RequestColumns(2, ("a", "b"), missing=False)


def memory_of(server: ServerProcess) -> dict[str, int]:
    """Return the current and the peak memory of a process, in bytes."""
    text = Path(f"/proc/{server.process.pid}/status").read_text()
    return {
        name: int(re.search(rf"{field}:\s+(\d+)", text)[1]) * 1024  # type: ignore[index]
        for name, field in (("now", "VmRSS"), ("most", "VmHWM"))
    }


@contextmanager
def heard(server: ServerProcess) -> Iterator[list[float]]:
    """Request the health continuously; collect the response times."""
    taken: list[float] = []
    stop = threading.Event()

    def ask() -> None:
        with httpx.Client(timeout=60) as http:
            while not stop.wait(0.02):
                began = time.monotonic()
                http.get(f"{server.address}/healthz")
                taken.append(time.monotonic() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield taken
    finally:
        stop.set()
        thread.join()


def post(server: ServerProcess, path: str, kind: str, body: bytes) -> tuple[int, str]:
    """Send a body as fast as possible; return the status and the response."""
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        with suppress(ConnectionError):  # it may be refused before it was sent
            connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode())
            connection.sendall(body)
        answer = connection.recv(2**16).decode()
    return int(answer.split()[1]), answer


def stream(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    chosen = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, table.schema, options=chosen) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def compressed_as_version_4(rows: int) -> bytes:
    """Return a stream that old versions of Arrow compressed by custom metadata."""
    X = np.zeros(rows)
    table = pa.table({"a": X, "b": X})
    whole = stream(table, compression="lz4", metadata_version=pa.ipc.MetadataVersion.V4)
    reader = pa.ipc.MessageReader.open_stream(whole)
    schema, batch = reader.read_next_message(), reader.read_next_message()
    # An empty batch whose message has the metadata, with the buffers of the other.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_batch(
            table.to_batches()[0].slice(0, 0),
            custom_metadata={"ARROW:experimental_compression": "lz4"},
        )
    found = pa.ipc.MessageReader.open_stream(sink.getvalue())
    found.read_next_message()
    marked = found.read_next_message()
    out = io.BytesIO()
    for message, body in ((schema, None), (marked, batch.body)):
        metadata = message.metadata.to_pybytes()
        out.write(struct.pack("<iI", -1, len(metadata)) + metadata)
        if body is not None:
            out.write(body.to_pybytes())
    return out.getvalue()


def shared_buffers(rows: int, columns: int) -> bytes:
    """Return a stream whose columns all share the buffer of the first one."""
    X = np.zeros(rows)
    table = pa.table({f"x{j}": X for j in range(columns)})
    whole = bytearray(stream(table))
    size = 8 * rows
    # Buffers of 0 and `size` bytes in turn, at increasing places.
    for j in range(1, columns):
        place = whole.find(struct.pack("<qqqq", j * size, 0, j * size, size))
        assert place > 0
        whole[place + 16 : place + 24] = struct.pack("<q", 0)
    return bytes(whole)


def test_arrow_streams_that_grow_are_refused_by_their_metadata() -> None:
    def refused(body: bytes, words: str, **limits: Any) -> None:
        columns = RequestColumns(2, None, missing=False)
        with pytest.raises(ApiError, match=words):
            read_table(
                *(body, ARROW, ("rows",), columns, Limits(**limits)), optional=("ids",)
            )

    zeros = pa.table({"a": np.zeros(1000), "b": np.zeros(1000)})
    for codec in ("lz4", "zstd"):
        refused(stream(zeros, compression=codec), "must not be compressed")
    refused(compressed_as_version_4(1000), "must not be compressed")
    refused(shared_buffers(1000, 2), "must not overlap")
    refused(stream(zeros), "max_rows is 999", max_rows=999)
    refused(stream(zeros), "max_values is 1999", max_values=1999)
    wide = pa.table({f"x{j}": [0.0] for j in range(1100)})
    refused(stream(wide), "too many columns", max_features=99)
    nested = pa.table({"a": [[1.0]], "b": [1.0]})
    refused(stream(nested), "must not be nested")
    pairs = pa.array(["u", "v"] * 500).dictionary_encode()
    longer = pa.array(["u", "v", "w"] * 500).dictionary_encode()
    both = pa.table({"a": pa.chunked_array([pairs, longer])})
    refused(stream(both, emit_dictionary_deltas=True), "delta dictionaries")
    many = pa.table({"id": pa.array(["x" * 100_000] * 1000).dictionary_encode()})
    refused(
        stream(many.append_column("a", zeros["a"]).append_column("b", zeros["b"])),
        "at most 200 characters",
    )
    small = zeros.slice(0, 1).to_batches() * 10_001
    refused(stream(pa.Table.from_batches(small)), "too many batches")


def test_arrow_streams_as_clients_write_them_are_read() -> None:
    X = np.arange(20.0).reshape(10, 2)
    texts = pa.array([f"id {i % 7}" for i in range(10)])
    expected = [f"id {i % 7}" for i in range(10)]
    for kind in (pa.float64(), pa.float32(), pa.int16(), pa.uint64()):
        for ids in (texts, texts.cast(pa.large_string()), texts.dictionary_encode()):
            for size in (None, 3):
                table = pa.table(
                    {
                        "when": pa.array(range(10), pa.timestamp("s")),
                        "b": pa.array(X[:, 1]).cast(kind),
                        "id": ids,
                        "a": pa.array(X[:, 0]).cast(kind),
                    }
                )
                batches = pa.Table.from_batches(table.to_batches(max_chunksize=size))
                for version in pa.ipc.MetadataVersion.V4, pa.ipc.MetadataVersion.V5:
                    body = stream(batches, metadata_version=version)
                    found = read_table(
                        *(body, ARROW, ("rows",), COLUMNS, Limits()), optional=("ids",)
                    )
                    assert np.array_equal(found.X, X)
                    assert found.ids == expected


def test_long_texts_of_arrow_are_not_copied() -> None:
    long, n = "x" * 10**7 + "😀", 2000
    zeros = np.zeros(n)
    categories = COLUMNS._replace(missing=True, kinds=("number", "category"))
    rows = {"a": zeros, "b": zeros}
    shared = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(n) % 2, pa.int8(), mask=np.arange(n) == 5),
        pa.array([long[-300:], "y"]),
    )
    for table, columns, words in (
        ({**rows, "id": [long] + ["y"] * (n - 1)}, COLUMNS, "at most 200 characters"),
        ({**rows, "b": shared}, categories, ""),
    ):
        body = stream(pa.table(table))
        tracemalloc.start()
        try:
            with pytest.raises(ApiError, match=words) if words else nullcontext():
                found = read_table(
                    *(body, ARROW, ("rows",), columns, Limits()), optional=("ids",)
                )
            assert tracemalloc.get_traced_memory()[1] < 10**6
        finally:
            tracemalloc.stop()
    expected = category_numbers([long[-300:], "y"])[np.arange(n) % 2]
    expected[5] = np.nan
    assert np.array_equal(found.X[:, 1], expected, equal_nan=True)


def test_names_of_arrow_columns_that_are_no_text() -> None:
    body = stream(pa.table({"aé": [1.0], "b": [2.0]})).replace(
        "é".encode(), b"\xff\xfe"
    )
    with pytest.raises(ApiError, match="UTF-8") as caught:
        read_table(body, ARROW, ("rows",), COLUMNS, Limits())
    assert caught.value.status == 422


# JSON, part by part


def whole(body: bytes) -> Any:
    """Read a table as one JSON value, as Python does."""
    found = json.loads(body)
    X = [
        [row["a"], row["b"]] if isinstance(row, dict) else row for row in found["rows"]
    ]
    return np.array(X, float), found["labels"], found.get("ids")


texts = st.text(
    st.characters(exclude_categories=("C", "Z")) | st.sampled_from('",\\[]{}'),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(texts, min_size=1, max_size=5),
    by_name=st.booleans(),
    padding=st.sampled_from(["", " ", "\n\t "]),
    ascii_only=st.booleans(),
    order=st.permutations(["rows", "labels", "ids"]),
    n=st.sampled_from([1_700, 5_000, 12_000]),
)
def test_long_json_is_read_part_by_part_as_a_whole(
    names: list[str],
    by_name: bool,
    padding: str,
    ascii_only: bool,
    order: list[str],
    n: int,
) -> None:
    X = np.random.default_rng(0).normal(size=(n, 2))
    rows: Any = X.tolist()
    if by_name:
        rows = [{"b": row[1], "a": row[0]} for row in rows]
    parts = {
        "rows": rows,
        "labels": [names[i % len(names)] for i in range(n)],
        "ids": [f"{i}{names[0]}" for i in range(n)],
    }
    text = json.dumps(
        {name: parts[name] for name in order},
        ensure_ascii=ascii_only,
        separators=(padding + "," + padding, padding + ":" + padding),
    )
    body = (padding + text + padding).encode()
    if n > 2000:
        assert len(body) > _AT_ONCE
    found = read_table(
        body, JSON, ("rows", "labels"), COLUMNS, Limits(), optional=("ids",)
    )
    X_whole, labels, ids = whole(body)
    assert np.array_equal(found.X, X_whole)
    assert found.labels == labels
    assert found.ids == ids
    lines = b"\n".join(
        json.dumps({"row": row, "label": label, "id": each}).encode()
        for row, label, each in zip(rows, labels, ids, strict=True)
    )
    again = read_table(
        lines, NDJSON, ("rows", "labels"), COLUMNS, Limits(), optional=("ids",)
    )
    assert np.array_equal(again.X, X_whole)
    assert (again.labels, again.ids) == (labels, ids)


@settings(max_examples=150, deadline=None)
@given(
    place=st.integers(0, 400_000),
    what=st.binary(min_size=0, max_size=3) | st.sampled_from([b",", b"]", b"[", b'"']),
    cut=st.integers(0, 3),
)
def test_long_json_is_refused_where_a_parser_of_the_whole_refuses_it(
    place: int, what: bytes, cut: int
) -> None:
    rows = [[i / 7, -i / 3] for i in range(8000)]
    body = json.dumps({"rows": rows, "labels": [f"{i}" for i in range(8000)]}).encode()
    place %= len(body)
    body = body[:place] + what + body[place + cut :]
    try:
        expected = whole(body)[:2]
        valid = expected[0].shape == (len(expected[1]), 2)
        valid &= all(isinstance(each, str) and each for each in expected[1])
        valid &= not re.search(rb"NaN|Infinity", body)
        valid &= set(json.loads(body)) == {"rows", "labels"}
    except (ValueError, TypeError, KeyError):
        valid = False
    outcome: Any = None
    with suppress(ApiError):
        outcome = read_table(body, JSON, ("rows", "labels"), COLUMNS, Limits())
    if outcome is not None:
        assert valid
        assert np.array_equal(outcome.X, expected[0])
        assert outcome.labels == expected[1]
    elif valid:
        # Values that JSON allows but a model does not.
        X, labels = expected
        assert (
            not (np.abs(X) <= 1e150).all()
            or not all(each.isprintable() and len(each) <= 200 for each in labels)
            or re.search(rb"true|false|null", body)
        )


def test_rows_in_long_json_are_named_by_their_numbers() -> None:
    rows: list[Any] = [[0.5, i / 7] for i in range(20_000)]
    for row, words in ((["x", 1.0], "column a must be"), ([1.0], "has 1 values")):
        rows[15_000] = row
        for body, kind in (
            (json.dumps({"rows": rows}).encode(), JSON),
            (b"\n".join(json.dumps({"row": r}).encode() for r in rows), NDJSON),
        ):
            with pytest.raises(ApiError, match=words) as caught:
                read_table(body, kind, ("rows",), COLUMNS, Limits())
            assert caught.value.row == 15_000
    rows[15_000] = [0.0, 0.0]
    labels: list[Any] = ["a"] * 20_000
    labels[19_999] = 5
    body = json.dumps({"labels": labels, "rows": rows}).encode()
    with pytest.raises(ApiError, match="another type") as caught:
        read_table(body, JSON, ("rows", "labels"), COLUMNS, Limits())
    assert caught.value.row == 19_999


def test_one_long_row_is_refused_unless_its_values_fit() -> None:
    columns = RequestColumns(10_000, None, missing=False)
    row = [0.12345678901234567] * 10_000
    for kind, body in (
        (JSON, json.dumps({"rows": [row, row]}).encode()),
        (NDJSON, b"\n".join([json.dumps({"row": row}).encode()] * 2)),
    ):
        assert read_table(body, kind, ("rows",), columns, Limits()).X.shape == (
            2,
            10_000,
        )
    for text in (
        b'{"rows": [[' + b"0," * 10**6 + b"0]]}",
        b'{"rows": [' + b"[" * 10**6,
    ):
        with pytest.raises(ApiError, match="too long"):
            read_table(text, JSON, ("rows",), columns, Limits())
    body = b'{"row": [' + b"0," * 10**6 + b"0]}"
    with pytest.raises(ApiError, match="too long"):
        read_table(body, NDJSON, ("rows",), columns, Limits())


def test_answers_are_written_part_by_part_as_a_whole() -> None:
    for n in (0, 1, 511, 512, 513, 5000):
        table = np.random.default_rng(n).normal(size=(n, 3)).tolist()
        answer = {
            "labels": ["é\n"] * n,
            "probabilities": table,
            "learned": n,
            "none": [],
        }
        assert json.loads(dump_answer(answer)) == answer


# The budget


def test_requests_in_flight_share_one_budget() -> None:
    budget = MemoryBudget(100)
    first, second = MemoryCharge(budget), MemoryCharge(budget)
    first.add(60)
    with pytest.raises(ApiError) as caught:
        second.add(50)
    assert caught.value.status == 503
    with pytest.raises(ApiError) as caught:
        first.add(41)  # it would never fit
    assert caught.value.status == 413
    second.add(40)
    first.release()
    first.release()
    assert budget.used == 40
    second.add(60)
    second.release()
    assert budget.used == 0


def attacks() -> dict[str, tuple[str, bytes]]:
    """Return bodies that once took gigabytes: name, media type and body."""
    pad = 60 * MB
    zeros = np.zeros(100_000)
    codes = pa.array(np.zeros(100_000, np.int8))
    text = pa.DictionaryArray.from_arrays(codes, ["x" * 3 * MB])
    long_text = pa.table({"id": text, "a": zeros, "b": zeros})
    return {
        "nested JSON": (JSON, b'{"rows": [' + b"[[]]," * (pad // 5) + b"1]}"),
        "empty rows": (JSON, b'{"rows": [' + b"[]," * (pad // 3) + b"[]]}"),
        "one row": (JSON, b'{"rows": [[' + b"1," * (pad // 2) + b"1]]}"),
        "other field": (JSON, b'{"x": [' + b"{}," * (pad // 3) + b"1]}"),
        "lines": (NDJSON, b'{"row":[]}\n' * (pad // 11)),
        "long line": (NDJSON, b'{"row":[' + b"[]," * (pad // 3) + b"1]}"),
        "empty lines": (NDJSON, b"\n" * pad),
        "version 4": (ARROW, compressed_as_version_4(90_000_000 // 90)),
        "long text": (ARROW, stream(long_text)),
        "shared": (ARROW, shared_buffers(100_000, 200)),
    }


def test_attacks_stay_within_the_budget_and_nobody_waits(start: Start) -> None:
    server = start("--max-memory", "256")
    with Client(server.address, retries=0, timeout=120) as client:
        client.create("m", "GaussianNB", features=["a", "b"])
        client.learn("m", [[0.0, 1.0], [2.0, 3.0]], ["x", "y"])
        before = memory_of(server)["now"]

        def send(body: tuple[str, bytes]) -> tuple[int, str]:
            return post(server, "/v1/models/m/predict?remember=true", *body)

        bodies = attacks()
        with heard(server) as taken:
            for name, body in bodies.items():
                status, text = send(body)
                assert status in (413, 422), (name, text)
            with ThreadPoolExecutor(12) as pool:
                answers = list(pool.map(send, [*bodies.values()] * 2))
        assert {status for status, _ in answers} <= {413, 422, 503}
        assert any("max_memory" in text for _, text in answers)
        assert taken
        assert memory_of(server)["most"] - before < 1.3 * 256 * MB
        # They leave nothing behind, and normal requests are answered.
        assert len(client.predict("m", [[0.0, 1.0]] * 1000).labels) == 1000
        metrics = httpx.get(f"{server.address}/metrics").text
        assert re.search(r"^rpnb_requests_memory_bytes 0", metrics, re.MULTILINE)


def test_connections_that_stay_open_keep_no_bodies(start: Start) -> None:
    server = start("--max-memory", "256")
    with ExitStack() as stack:
        client = stack.enter_context(Client(server.address, retries=0, timeout=120))
        client.create("m", "GaussianNB", features=["a", "b"])
        client.learn("m", [[0.0, 1.0], [2.0, 3.0]], ["x", "y"])
        url = f"{server.address}/v1/models/m/predict"
        kind, body = attacks()["one row"]
        before = memory_of(server)["now"]
        for _ in range(8):
            http = stack.enter_context(httpx.Client(timeout=120))
            headers = {"content-type": kind}
            assert http.post(url, content=body, headers=headers).status_code == 422
            assert http.get(f"{server.address}/healthz").status_code == 200
            assert http.post(url, content=body, headers=headers).status_code == 422
        assert memory_of(server)["now"] - before < 2 * len(body)
        assert memory_of(server)["most"] - before < 3 * len(body)


def test_the_latest_predictions_keep_one_row_each(start: Start) -> None:
    server = start()
    with Client(server.address, retries=0, timeout=120) as client:
        client.create("m", "GaussianNB", features=100)
        client.learn("m", np.eye(100)[:2], ["x", "y"])
        table = pa.table({f"x{j}": np.zeros(40_000) for j in range(100)})
        body = stream(table)
        path = "/v1/models/m/predict"
        assert post(server, path, ARROW, body)[0] == 200
        before = memory_of(server)["now"]
        for _ in range(10):
            assert post(server, path, ARROW, body)[0] == 200
        assert memory_of(server)["now"] - before < 2 * len(body)


def test_answers_of_many_numbers_are_bounded(start: Start) -> None:
    server = start()
    classes = [f"c{i}" for i in range(500)]
    with Client(server.address, retries=0, timeout=120) as client:
        client.create("m", "GaussianNB", features=1, classes=classes)
        client.learn("m", np.arange(500.0)[:, None], classes)
        url = f"{server.address}/v1/models/m/predict?probabilities=true"
        before = memory_of(server)["now"]
        body = {"rows": [[0.0]] * 100_000}
        answer = httpx.post(url, json=body, timeout=120)
        assert answer.status_code == 413
        assert "max_answer" in answer.text
        with heard(server) as taken:
            found = httpx.post(url, json={"rows": [[0.0]] * 8_000}, timeout=120)
        assert found.status_code == 200
        assert len(found.json()["probabilities"]) == 8_000
        assert taken
        assert len(client.predict("m", [[1.0]] * 100_000).labels) == 100_000
        assert memory_of(server)["most"] - before < 1.5 * 1024 * MB
