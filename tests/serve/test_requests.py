"""Formats, limits and errors: a bad request gets a clear error and changes nothing."""

import io
import json
import zipfile
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

import rpnb
from rpnb.client import Client, ServeError
from rpnb.serve.http.arrow import _check_messages
from rpnb.serve.http.memory import MemoryCharge
from rpnb.serve.http.request_tables import RequestColumns, TableParts
from rpnb.serve.limits import ApiError, Limits
from serve.process import ServerProcess
from serve.streams import clusters

SMALL_RPNB = {"learner": "RPNB", "n_features": 2}
NAMES = ["a", "b", "c", "d"]
JSON = "application/json"
NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


@pytest.fixture(scope="module")
def model(shared: ServerProcess) -> str:
    with Client(shared.address) as client:
        client.create("strict", "GaussianNB", features=NAMES, classes=["x", "y"])
        client.learn("strict", [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]], ["x", "y"])
    return f"{shared.address}/v1/models/strict"


def post(
    address: str, body: Any, kind: str = JSON, accept: str = JSON
) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": kind, "accept": accept}
    return httpx.post(address, content=content, headers=headers, timeout=60)


def arrow(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema, **options) as writer:
        writer.write_table(table)
    return sink.getvalue()


ROWS = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.5, 7.0]]


def test_all_formats_say_the_same(model: str) -> None:
    objects = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    table = pa.table(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True)))
    lines = b"\n".join(json.dumps({"row": row}).encode() for row in objects)
    expected = post(f"{model}/predict", {"rows": ROWS}).json()
    assert expected["labels"] == ["x", "y"]
    assert post(f"{model}/predict", {"rows": objects}).json() == expected
    assert post(f"{model}/predict", lines, NDJSON).json() == expected
    # Columns are found by name, whatever their order.
    mixed = table.select(["d", "b", "a", "c"])
    assert post(f"{model}/predict", arrow(mixed), ARROW).json() == expected
    answer = post(f"{model}/predict", {"rows": ROWS}, accept=ARROW)
    with pyarrow.ipc.open_stream(answer.content) as reader:
        assert reader.read_all()["label"].to_pylist() == expected["labels"]
    answer = post(f"{model}/predict", {"rows": ROWS}, accept=NDJSON)
    assert [json.loads(line)["label"] for line in answer.text.splitlines()] == [
        "x",
        "y",
    ]


def test_labels_come_in_all_formats(model: str) -> None:
    for kind in (JSON, NDJSON, ARROW):
        ids = [f"{kind}-{i}" for i in range(2)]
        url = f"{model}/predict?remember=true"
        assert post(url, {"rows": ROWS, "ids": ids}).status_code == 200
        body: Any = {"ids": ids, "labels": ["x", "y"]}
        if kind == NDJSON:
            pairs = zip(ids, ["x", "y"], strict=True)
            body = b"\n".join(
                json.dumps({"id": i, "label": y}).encode() for i, y in pairs
            )
        if kind == ARROW:
            body = arrow(pa.table({"id": ids, "label": ["x", "y"]}))
        assert post(f"{model}/labels", body, kind).json()["learned"] == 2


@pytest.mark.parametrize(
    ("rows", "row", "column", "words"),
    [
        ([[0, 1, 2, 3], [0, 1, None, 3]], 1, "c", "must be a number"),
        ([[0, 1, 2, 3], [0, 1, "5", 3]], 1, "c", "must be a number"),
        ([[0, True, 2, 3]], 0, "b", "must be a number"),
        ([[0, 1, 2, 10**400]], 0, "d", "at most 1e+150"),
        ([[0, 1, 2, 1e200]], 0, "d", "finite"),
        ([[0, 1, 2]], 0, None, "3 values"),
        ([[0, 1, 2, 3], 5], 1, None, "list of numbers"),
        ([{"a": 1, "b": 2, "c": 3}], 0, "d", "no column d"),
        ([{"a": 1, "b": 2, "c": 3, "d": 4, "secret": 5}], 0, None, "has a column"),
        ([{"a": 1, "b": 2, "c": 3, "d": 4}, [1, 2, 3, 4]], 1, None, "object"),
        ([], None, None, "no rows"),
        ("text", None, None, "must be a list"),
    ],
)
def test_errors_name_row_and_column(
    model: str, rows: Any, row: int | None, column: str | None, words: str
) -> None:
    answer = post(f"{model}/predict", {"rows": rows})
    assert answer.status_code == 422, answer.text
    error = answer.json()["error"]
    assert error.get("row") == row
    assert error.get("column") == column
    assert words in error["message"]
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    "body",
    [
        b'{"rows": [[0, 1, 2, NaN]]}',
        b'{"rows": [[0, 1, 2, Infinity]]}',
        b'{"rows": [[0, 1, 2, 1e999]]}',
        b"",
        b"[",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"rows": [[0, 1, 2, 3]], "sql": 1}',
        b'{"rows": null}',
    ],
)
def test_what_is_no_request_gets_422(model: str, body: bytes) -> None:
    for action in ("predict", "learn", "observe", "labels"):
        answer = post(f"{model}/{action}", body)
        assert answer.status_code == 422, answer.text
        assert post(f"{model}/{action}", body, NDJSON).status_code == 422
        assert post(f"{model}/{action}", body, ARROW).status_code == 422


def test_a_missing_value_is_null_where_the_learner_accepts_it(client: Client) -> None:
    client.create("missing", "Pooled", features=2, classes=["x", "y"], n_projections=16)
    client.learn("missing", [[0.0, np.nan], [1.0, 2.0]], ["x", "y"])
    X = np.full((20, 2), np.nan)  # as an Arrow table
    assert len(client.predict("missing", X).labels) == 20


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["x", 1], "another type"),
        (["x", None], "text, an integer or a boolean"),
        (["x", 1.5], "text, an integer or a boolean"),
        (["x", "tab\tin it"], "printable"),
        (["x", "y" * 201], "printable"),
        (["x"], "must be equal"),
        ([1, 2], "those of this model are text"),
        ([2**70, 1], "64 bits"),
    ],
)
def test_bad_labels_change_nothing(model: str, labels: Any, words: str) -> None:
    before = httpx.get(model).json()
    answer = post(f"{model}/learn", {"rows": ROWS, "labels": labels})
    assert answer.status_code == 422
    assert words in answer.json()["error"]["message"]
    assert httpx.get(model).json() == before


def test_untrusted_arrow(model: str) -> None:
    table = pa.table({name: [0.0] * 1000 for name in NAMES})
    options = pyarrow.ipc.IpcWriteOptions(compression="zstd")
    answer = post(f"{model}/predict", arrow(table, options=options), ARROW)
    assert "must not be compressed" in answer.json()["error"]["message"]
    good = arrow(table)
    rng = np.random.default_rng(0)
    for _ in range(60):
        bad = bytearray(good)
        for place in rng.integers(0, 600, 3):
            bad[place] = rng.integers(0, 256)
        assert post(f"{model}/predict", bytes(bad), ARROW).status_code in (
            200,
            422,
            413,
        )
    text = pa.table({**{name: [0.0] for name in NAMES}, "c": ["0"]})
    error = post(f"{model}/predict", arrow(text), ARROW).json()["error"]
    assert error["column"] == "c"
    nulls = pa.table({**{name: [0.0] for name in NAMES}, "c": pa.array([None], "f8")})
    error = post(f"{model}/predict", arrow(nulls), ARROW).json()["error"]
    assert (error["row"], error["column"]) == (0, "c")


def test_rows_of_all_batches_of_arrow_are_counted_before_they_are_read() -> None:
    table = pa.table({name: [0.0] * 12 for name in NAMES})
    columns = RequestColumns(len(NAMES), tuple(NAMES), missing=False)
    limits = Limits(max_rows=14)
    for batches in (table.to_batches(), table.to_batches(max_chunksize=5)):
        for rows in (0, 2, 3):
            more = pa.Table.from_batches([*batches, *table[:rows].to_batches()])
            parts = TableParts(("rows",), (), columns, limits, MemoryCharge())
            if rows <= 2:
                _check_messages(pa, arrow(more), parts)
                continue
            with pytest.raises(ApiError, match="too many rows"):
                _check_messages(pa, arrow(more), parts)


@pytest.mark.parametrize(
    ("request_body", "words"),
    [
        ({"n_features": 2}, "name must be"),
        ({"name": "../up", "n_features": 2}, "name must be"),
        ({"name": "a" * 65, "n_features": 2}, "name must be"),
        ({"name": "new"}, "features must be"),
        ({"name": "new", "features": []}, "at least one"),
        ({"name": "new", "features": ["a", "a"]}, "only once"),
        ({"name": "new", "features": ["a"], "n_features": 2}, "number of features"),
        ({"name": "new", "n_features": 10**6}, "max_features"),
        ({"name": "new", "n_features": 2, "learner": "SVM"}, "learner must be one of"),
        ({"name": "new", "n_features": 2, "classes": []}, "at least one"),
        ({"name": "new", "n_features": 2, "classes": ["a", 1]}, "another type"),
        (
            {"name": "new", "n_features": 2, "parameters": {"n": 1}},
            "has no parameter n;",
        ),
        (
            {"name": "new", **SMALL_RPNB, "parameters": {"n_estimators": -77}},
            "at least 1",
        ),
        (
            {"name": "new", **SMALL_RPNB, "parameters": {"n_estimators": 10**9}},
            "max_state",
        ),
        (
            {"name": "new", "n_features": 2, "parameters": {"n_jobs": 64}},
            "has no parameter n_jobs",
        ),
        (
            {"name": "new", **SMALL_RPNB, "parameters": {"class_prior": {"a": 1}}},
            "class_prior",
        ),
        ({"name": "new", "n_features": 2, "more": 1}, "no other fields"),
    ],
)
def test_a_model_that_cannot_be_is_refused(
    shared: ServerProcess, request_body: Any, words: str
) -> None:
    answer = post(f"{shared.address}/v1/models", request_body)
    assert answer.status_code in (413, 422)
    message = answer.json()["error"]["message"]
    assert words in message
    assert "77" not in message
    assert httpx.get(f"{shared.address}/v1/models/new").status_code == 404


def test_models_are_listed_created_once_and_deleted(client: Client) -> None:
    about = client.create("once", "AROW", features=3)
    assert about == client.model("once")
    assert "once" in [each["name"] for each in client.models()]
    with pytest.raises(ServeError, match="already") as caught:
        client.create("once", features=3)
    assert caught.value.status == 409
    with pytest.raises(ServeError, match="learned nothing"):
        client.download("once")
    client.delete("once")
    with pytest.raises(ServeError, match="no model") as caught:
        client.model("once")
    assert caught.value.status == 404
    assert client.create("once", features=2)["learner"] == "Pooled"
    client.delete("once")


def test_a_model_can_be_had_as_a_file_frozen_and_as_onnx(
    client: Client, tmp_path: Any
) -> None:
    client.create("files", "RPNB", features=NAMES, n_estimators=5, random_state=0)
    X, y = clusters(40)
    client.learn("files", X, y)
    expected = client.predict("files", X).labels
    for kind, load in (
        ("model", rpnb.RPNBClassifier.load),
        ("frozen", rpnb.FrozenRPNB.load),
    ):
        path = tmp_path / kind
        path.write_bytes(client.download("files", kind))
        loaded = load(path)
        assert loaded.feature_names_in_.tolist() == NAMES
        del loaded.feature_names_in_
        assert loaded.predict(X).tolist() == expected
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(client.download("files", "onnx"))
    assert session.run(["label"], {"X": X})[0].tolist() == expected
    with pytest.raises(ServeError, match="kind must be one of"):
        client.download("files", "pickle")


def test_uploads_are_untrusted_files(client: Client, shared: ServerProcess) -> None:
    client.create("origin", "RPNB", features=4, n_estimators=5, random_state=0)
    X, y = clusters(20)
    client.learn("origin", X, y)
    good = client.download("origin")
    rng = np.random.default_rng(1)
    cases = [b"", b"PK", good[:-30], good + b"x", b"\x80\x04\x95pickle"]
    for _ in range(40):
        bad = bytearray(good)
        for place in rng.integers(0, len(good), 4):
            bad[place] ^= 1 << rng.integers(0, 8)
        cases.append(bytes(bad))
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.json", b"{}")
        archive.writestr("mean.npy", b"\0" * 10_000_000)
    cases.append(bomb.getvalue())
    changes: list[dict[str, Any]] = [
        {"parameters": {"n_estimators": 10**9}},
        {"estimator": "FrozenRPNB"},
        {"estimator": "os.system"},
        {"n_features_in": 10**9},
        {"n_features_in": "4"},
        {"classes": [["a"]] * 3},
        {"classes_dtype": "O"},
    ]
    cases += [_rewritten(good, change) for change in changes]
    refused = 0
    for i, content in enumerate(cases):
        headers = {"content-type": "application/octet-stream"}
        address = f"{shared.address}/v1/models/stranger-{i}"
        answer = httpx.put(
            f"{address}/file", content=content, headers=headers, timeout=300
        )
        assert answer.status_code in (201, 413, 422), (i, answer.text)
        refused += answer.status_code != 201
        httpx.delete(address)
    # Some bits are unused, such as those of a date.
    assert refused > 0.8 * len(cases)


def _rewritten(good: bytes, change: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(good)) as source,
        zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as target,
    ):
        for name in source.namelist():
            content = source.read(name)
            if name == "metadata.json":
                content = json.dumps({**json.loads(content), **change}).encode()
            target.writestr(name, content)
    return out.getvalue()


def test_a_prediction_of_the_pool_is_explained_by_members_too(client: Client) -> None:
    given: dict[str, Any] = {"n_projections": 16, "random_state": 0}
    client.create("pool", "Pooled", features=NAMES, **given)
    X, y = clusters(60)
    client.learn("pool", X, y)
    model = rpnb.PooledClassifier(**given).partial_fit(X, y)
    expected = model.explain(X[:20])
    assert expected.members is not None
    found = client.explain("pool", X[:20])
    for i, each in enumerate(found):
        assert each["label"] == expected.labels[i]
        members = dict(zip(expected.member_names, expected.members[i], strict=True))
        assert each["members"] == pytest.approx(members)
        assert list(each["errors"]) == NAMES
        assert list(each["contributions"].values()) == pytest.approx(expected.values[i])
        assert sum(each["members"].values()) == pytest.approx(each["score"])


def test_the_page_has_the_features_and_members_that_decided(
    client: Client, shared: ServerProcess
) -> None:
    client.create("decided", "Pooled", features=NAMES, n_projections=16)
    client.create("alone", "GaussianNB", features=NAMES)
    X, y = clusters(60)
    for name in ("decided", "alone"):
        client.learn(name, X, y)
        client.predict(name, X[:5])
        (found,) = client.explain(name, X[4:5])
        address = f"{shared.address}/v1/models/{name}/scores"
        reason = httpx.get(address).json()["recent"][0]["reason"]
        for part, field, most in (
            ("features", "contributions", 3),
            ("members", "members", 2),
        ):
            values = found.get(field) or {}
            ranked = sorted(values.items(), key=lambda pair: -abs(pair[1]))[:most]
            assert reason[part] == [[key, pytest.approx(x)] for key, x in ranked]
        assert bool(reason["members"]) == (name == "decided")


def test_a_prediction_is_explained(client: Client) -> None:
    client.create("why", "RPNB", features=NAMES, n_estimators=5, random_state=0)
    X, y = clusters(60)
    with pytest.raises(ServeError, match="learned nothing"):
        client.explain("why", X[:1])
    client.learn("why", X, y)
    model = rpnb.RPNBClassifier(5, random_state=0).partial_fit(X, y)
    expected = model.explain(X[:30])
    for n in (3, 30):  # as JSON, and as an Arrow table
        found = client.explain("why", X[:n])
        assert [each["label"] for each in found] == expected.labels[:n].tolist()
        assert [each["against"] for each in found] == expected.against[:n].tolist()
        values = [list(each["contributions"].values()) for each in found]
        np.testing.assert_allclose(values, expected.values[:n], rtol=1e-9, atol=1e-12)
        assert list(found[0]["contributions"]) == NAMES
    client.create("dumb", "NoChange", features=2)
    with pytest.raises(ServeError, match="cannot explain"):
        client.explain("dumb", [[0.0, 1.0]])
