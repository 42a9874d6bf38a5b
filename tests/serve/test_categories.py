"""Frames and categories in requests: the same labels as in Python."""

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
from numpy.testing import assert_array_equal

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
        (
            ["big", "Rome", 1],
            "row 0, column size must be a number or null, .*are named as such when the "
            "model is created",
        ),
        ([1.0, ["Rome"], 1], "row 0, column city must be text, a number or null"),
        ([1.0, {"a": 1}, 1], "row 0, column city must be text, a number or null"),
    ],
)
def test_other_values_are_refused(client: Client, row: list[Any], said: str) -> None:
    if "strict_rows" not in [each["name"] for each in client.models()]:
        small(client, "strict_rows")
    with pytest.raises(ServeError, match=said):
        client.observe("strict_rows", [dict(zip(NAMES, row, strict=True))], ["a"])


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
def test_unknown_columns_are_refused(
    client: Client, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ServeError, match=said):
        client.create("none", "Pooled", features=NAMES, **given)


def test_a_row_of_text_only_is_refused_by_column(client: Client) -> None:
    small(client, "text_only")
    with pytest.raises(ServeError, match="column size must be a number"):
        client.predict("text_only", [["x", "y", "z"]])


def test_what_changed_names_categories(start: Callable[..., ServerProcess]) -> None:
    server = start()
    draw = np.random.default_rng(3)
    client = Client(server.address)
    client.create(
        *("m", "Pooled"),
        features=["size", "city"],
        members=["binned_bayes"],
        categorical_features=["city"],
    )
    first: Any = [[0.0, "Rome"], [1.0, "Oslo & <b>"]]
    client.learn("m", first, ["a", "b"])

    def predict(n: int, share: float) -> list[str]:
        cities = np.where(draw.random(n) < share, "Rome", "Oslo & <b>").tolist()
        rows: Any = [[float(draw.normal()), city] for city in cities]
        return client.predict("m", rows, remember=True).ids or []

    def cells() -> set[str]:
        figures = httpx.get(f"{server.address}/v1/models/m/scores").json()
        alarms = figures["unlabelled"]["latest_alarms"]
        changes = [each for alarm in alarms for each in alarm["changes"]]
        return {
            cell
            for change in changes
            if change["name"] == "city"
            for cell, *_ in change["cells"]
        }

    ids = predict(1000, 0.9) + predict(1000, 0.1)
    assert cells() == {"Rome", "Oslo & <b>"}
    client.close()
    server.kill()
    server = start()
    assert cells() == {"Rome", "Oslo & <b>"}
    client = Client(server.address)
    client.forget("m", ids[:1])  # and with it the names, which may be of nobody else
    assert len(cells()) == 2
    assert not cells() & {"Rome", "Oslo & <b>"}
    predict(10, 0.5)
    client.close()
    server.kill()
    server = start()
    assert cells() == {"Rome", "Oslo & <b>"}


@pytest.mark.parametrize("names", [["a", "b", "c"], ["label", "b", "id"]])
@pytest.mark.parametrize("n", [3, 40])
def test_columns_of_a_frame_of_numbers_are_found_by_name(
    client: Client, names: list[str], n: int
) -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    rows[5, 2] = np.nan
    frame = pd.DataFrame(rows, columns=names)
    name = f"frame-{names[0]}-{n}"
    client.create(name, features=frame, random_state=0)
    client.learn(name, frame, ["p", "q"] * 30)
    plain = client.predict(name, rows[:n], probabilities=True)
    for some in (frame[:n], frame[:n][names[::-1]]):
        found = client.predict(name, some, probabilities=True)
        assert_array_equal(found.probabilities, plain.probabilities)
    with pytest.raises(ServeError, match=names[1]):
        client.predict(name, frame[:n].rename(columns={names[1]: "other"}))


def test_a_model_without_names_takes_frames_by_position(client: Client) -> None:
    client.create("positions", features=2, random_state=0)
    frame = pd.DataFrame(np.arange(34.0).reshape(17, 2), columns=["u", "v"])
    assert len(client.observe("positions", frame, ["p", *["q"] * 16])) == 17
    frame.columns = pd.Index([7, 9])
    assert len(client.predict("positions", frame).labels) == 17
