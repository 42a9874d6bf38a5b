"""Categories in rows of requests: text in the body, the same labels as in Python."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.ipc
import pytest

import rpnb
from rpnb.client import Client, ServeError
from serve.process import ServerProcess

N = 200
rng = np.random.default_rng(1)
ROWS: list[list[Any]] = [
    [float(rng.normal()), str(rng.choice(["Rome", "Oslo", "Bern"])), int(i % 4)]
    for i in range(N)
]
for i in range(0, N, 40):
    ROWS[i][1] = None
LABELS = ["a" if (row[1] == "Oslo") ^ (row[2] in (0, 3)) else "b" for row in ROWS]
NAMES = ["size", "city", "kind"]
GIVEN: dict[str, Any] = {"categorical_features": ["city", "kind"], "random_state": 0}


def small(client: Client, name: str, **more: Any) -> None:
    client.create(name, "Pooled", features=NAMES, n_projections=16, **GIVEN, **more)


def expected() -> list[Any]:
    model = rpnb.PooledClassifier(n_projections=16, **GIVEN)
    frame = pd.DataFrame(ROWS, columns=NAMES)
    found: list[Any] = model.predict_then_learn(frame, LABELS).tolist()
    return found


def test_rows_with_text_are_learned_as_in_python(client: Client) -> None:
    small(client, "observed")
    assert [*client.observe("observed", ROWS, LABELS)] == expected()
    objects = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    small(client, "objects")
    assert [*client.observe("objects", objects, LABELS)] == expected()
    unseen: Any = [[0.5, "Lima", 9], [0.5, None, None]]
    assert len(client.predict("observed", unseen).labels) == 2


def test_arrow_has_text_in_columns_of_categories(
    client: Client, shared: ServerProcess
) -> None:
    small(client, "arrow")
    columns = dict(zip(NAMES, zip(*ROWS, strict=True), strict=True))
    table = pa.table({**columns, "label": LABELS})
    table = table.set_column(1, "city", table["city"].dictionary_encode())
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    answer = httpx.post(
        f"{shared.address}/v1/models/arrow/observe",
        content=sink.getvalue(),
        headers={"content-type": "application/vnd.apache.arrow.stream"},
        timeout=60,
    )
    assert answer.json()["labels"] == expected()


def test_a_model_with_declared_classes_and_its_file(
    client: Client, tmp_path: Path
) -> None:
    small(client, "declared", classes=["a", "b"])
    client.learn("declared", ROWS, LABELS)
    path = tmp_path / "m.rpnb"
    path.write_bytes(client.download("declared"))
    model = rpnb.load(path)
    frame = pd.DataFrame(ROWS, columns=NAMES)
    expected = model.predict_next(frame).tolist()
    assert client.predict("declared", ROWS).labels == expected
    client.upload("again", path.read_bytes())
    assert client.predict("again", ROWS).labels == expected


def test_it_is_the_same_after_a_restart(start: Callable[..., ServerProcess]) -> None:
    server = start()
    with Client(server.address) as client:
        small(client, "kept")
        client.learn("kept", ROWS[:150], LABELS[:150])
    server.kill()
    with Client(start().address) as client:
        assert client.model("kept")["parameters"]["categorical_features"] == [1, 2]
        client.learn("kept", ROWS[150:], LABELS[150:])
        found = client.predict("kept", ROWS).labels
    model = rpnb.PooledClassifier(n_projections=16, **GIVEN)
    model.partial_fit(pd.DataFrame(ROWS, columns=NAMES), LABELS)
    assert found == model.predict_next(pd.DataFrame(ROWS, columns=NAMES)).tolist()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (["big", "Rome", 1], "row 0, column size must be a number or null"),
        ([1.0, ["Rome"], 1], "row 0, column city must be text, a number or null"),
        ([1.0, {"a": 1}, 1], "row 0, column city must be text, a number or null"),
    ],
)
def test_other_values_are_refused(client: Client, row: list[Any], said: str) -> None:
    if "strict_rows" not in [each["name"] for each in client.models()]:
        small(client, "strict_rows")
    with pytest.raises(ServeError, match=said):
        client.observe("strict_rows", [{**dict(zip(NAMES, row, strict=True))}], ["a"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"categorical_features": ["town"]}, "names of features, or their numbers"),
        ({"categorical_features": [3]}, "names of features, or their numbers"),
        ({"text_features": ["town"]}, "text_features must have names of features"),
        ({"date_features": [7]}, "date_features must have names of features"),
        (
            {"text_features": ["city"], "date_features": ["city"]},
            "column city is in text_features and in date_features",
        ),
    ],
)
def test_columns_that_are_none_are_refused(
    client: Client, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ServeError, match=said):
        client.create("none", "Pooled", features=NAMES, **given)


def test_a_request_of_nothing_but_text_is_json(client: Client) -> None:
    small(client, "text_only")
    with pytest.raises(ServeError, match="column size must be a number"):
        client.predict("text_only", [["x", "y", "z"]])
