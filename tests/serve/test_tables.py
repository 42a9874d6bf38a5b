"""Requests with categories, text and dates give the same labels as in Python."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pytest

import rpnb
from rpnb.client import Client, ServeError
from serve.process import ServerProcess

N = 150
rng = np.random.default_rng(2)
WORDS = np.array(["ship", "arrived", "late", "again", "today", "parcel", "lost"])
FRAME = pd.DataFrame(
    {
        "weight": rng.normal(size=N).round(3),
        "country": pd.Categorical(rng.choice(["NO", "IT", "CH"], N)),
        "sent": pd.Timestamp("2026-01-01")
        + pd.to_timedelta(rng.integers(0, 10**7, N), unit="s"),
        "note": [" ".join(rng.choice(WORDS, 6)) for _ in range(N)],
        "open": rng.random(N) < 0.5,
    }
)
FRAME.loc[::30, ["country", "note"]] = None
FRAME.loc[5, "sent"] = pd.NaT
LABELS = ["late" if "lost" in str(note) else "in time" for note in FRAME["note"]]
SMALL: dict[str, Any] = {"n_projections": 16, "random_state": 0}
PLAIN: list[dict[str, Any]] = [
    {
        "weight": row.weight,
        "country": None if pd.isna(row.country) else row.country,
        "sent": None if pd.isna(row.sent) else row.sent.isoformat(),
        "note": None if pd.isna(row.note) else row.note,
        "open": int(row.open),
    }
    for row in FRAME.itertuples()
]
NAMED: dict[str, Any] = {
    "categorical_features": ["country"],
    "text_features": ["note"],
    "date_features": ["sent"],
}


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    model = rpnb.PooledClassifier(**SMALL)
    found: list[Any] = model.predict_then_learn(FRAME, LABELS).tolist()
    return found


def test_a_frame_is_learned_as_in_python(client: Client, expected: list[Any]) -> None:
    about = client.create("frame", features=FRAME, **SMALL)
    assert about["columns"] == ["number", "category", "date", "text", "number"]
    assert [*client.observe("frame", FRAME, LABELS)] == expected
    client.create("polars", features=pl.from_pandas(FRAME), **SMALL)
    assert [*client.observe("polars", pl.from_pandas(FRAME), LABELS)] == expected


def test_json_has_text_and_dates(client: Client, expected: list[Any]) -> None:
    client.create("as_objects", features=[*FRAME], **SMALL, **NAMED)
    assert [*client.observe("as_objects", PLAIN, LABELS)] == expected
    lists: Any = [list(row.values()) for row in PLAIN]
    client.create("as_lists", features=[*FRAME], **SMALL, **NAMED)
    assert [*client.observe("as_lists", lists, LABELS)] == expected
    reasons = client.explain("as_objects", PLAIN[:2])
    assert [*reasons[0]["contributions"]] == [*FRAME]


def test_arrow_has_text_and_dates(
    client: Client, shared: ServerProcess, expected: list[Any]
) -> None:
    client.create("arrow_table", features=FRAME, **SMALL)
    table = pa.Table.from_pandas(FRAME.assign(open=FRAME["open"].astype(float)))
    table = table.set_column(3, "note", table["note"].dictionary_encode())
    table = table.append_column("label", pa.array(LABELS))
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    answer = httpx.post(
        f"{shared.address}/v1/models/arrow_table/observe",
        content=sink.getvalue(),
        headers={"content-type": "application/vnd.apache.arrow.stream"},
        timeout=60,
    )
    assert answer.json().get("labels") == expected, answer.text


def test_files_go_to_python_and_back(client: Client, tmp_path: Path) -> None:
    client.create("there", features=FRAME, classes=sorted({*LABELS}), **SMALL)
    client.learn("there", FRAME, LABELS)
    path = tmp_path / "m.rpnb"
    path.write_bytes(client.download("there"))
    model = rpnb.load(path)
    assert [*model.feature_names_in_] == [*FRAME]
    labels = model.predict_next(FRAME).tolist()
    assert client.predict("there", FRAME).labels == labels
    own = rpnb.PooledClassifier(**SMALL).fit(FRAME, LABELS)
    own.save(path)
    client.upload("back", path.read_bytes())
    assert client.model("back")["columns"] == client.model("there")["columns"]
    assert client.predict("back", FRAME).labels == own.predict_next(FRAME).tolist()
    client.learn("back", FRAME, LABELS)
    own.partial_fit(FRAME, LABELS)
    assert client.predict("back", FRAME).labels == own.predict_next(FRAME).tolist()


def test_late_labels_and_a_kill(
    start: Callable[..., ServerProcess], expected: list[Any]
) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("kept", features=FRAME, **SMALL)
        client.learn("kept", FRAME[:80], LABELS[:80])
        waiting = client.predict("kept", FRAME[80:], remember=True)
    server.kill()
    with Client(start().address) as client:
        client.label("kept", waiting.ids or [], LABELS[80:])
        found = client.predict("kept", FRAME).labels
    model = rpnb.PooledClassifier(**SMALL).partial_fit(FRAME, LABELS)
    assert found == model.predict_next(FRAME).tolist()


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("note", 3, "row 0, column note must be text or null"),
        ("sent", "soon", "row 0, column sent must be a date such as"),
        ("sent", 3, "row 0, column sent must be a date such as"),
        ("weight", "x", "row 0, column weight must be a number or null"),
        ("country", ["x"], "row 0, column country must be text, a number or null"),
    ],
)
def test_other_values_are_refused(
    client: Client, column: str, value: Any, said: str
) -> None:
    if "strict_table" not in [each["name"] for each in client.models()]:
        client.create("strict_table", features=[*FRAME], **SMALL, **NAMED)
    with pytest.raises(ServeError, match=said):
        client.observe("strict_table", [{**PLAIN[0], column: value}], ["late"])


def test_other_learners_refuse_tables_by_name(client: Client) -> None:
    with pytest.raises(ServeError, match="PA takes numbers only; use the learner Po"):
        client.create("none", "PA", features=FRAME)
    with pytest.raises(ServeError, match="date_features: RPNB takes numbers only"):
        client.create("none", "RPNB", features=["a"], date_features=["a"])
