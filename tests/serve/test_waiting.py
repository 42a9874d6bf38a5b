"""Figures before labels arrive equal those of the library, also after a restart."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from rpnb.baselines import make
from rpnb.client import Client
from rpnb.evaluate.waiting import ErrorForecast
from rpnb.serve.followers import Followers
from rpnb.serve.log import open_log
from rpnb.serve.model_rows import stored_models
from rpnb.serve.restoring import restore
from rpnb.serve.served_model import ServedModel
from serve.process import ServerProcess, wait_until


def rows(n: int, seed: int = 0) -> tuple[Any, list[str]]:
    """Return rows whose second feature moves at two thirds of the stream."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 3)) + y[:, None]
    X[2 * n // 3 :, 1] += 4.0
    return X, np.array(["ash", "elm"])[y].tolist()


def unlabelled(server: ServerProcess, name: str) -> Any:
    """Return the figures of predictions without labels."""
    return httpx.get(f"{server.address}/v1/models/{name}/scores").json()["unlabelled"]


def fill(client: Client, name: str, n: int, late: int, step: int = 100) -> Any:
    """Predict rows in parts, and label each part `late` parts later; return errors."""
    client.create(name, "GaussianNB", features=3, classes=["ash", "elm"])
    X, y = rows(n)
    client.learn(name, X[:50], y[:50])
    asked: list[Any] = []
    for start in range(0, n, step):
        part = slice(start, start + step)
        found = client.predict(name, X[part], remember=True)
        asked.append((found.ids, y[part], found.labels, found.confidence))
        if len(asked) > late:
            ids, labels, *_ = asked[-1 - late]
            client.label(name, ids, labels)
    return asked


def test_figures_are_those_of_the_library(
    shared: ServerProcess, client: Client
) -> None:
    asked = fill(client, "before-labels", 3000, late=3)
    found = unlabelled(shared, "before-labels")
    forecast = ErrorForecast()
    for _, labels, predicted, confidence in asked[:-3]:
        wrong = [a != b for a, b in zip(labels, predicted, strict=True)]
        forecast.add_labelled(confidence, wrong)
    last = np.concatenate([confidence for *_, confidence in asked[-3:]])
    expected = forecast.expected(last, outside=found["outside"])
    assert found["waiting"] == 300
    assert (found["expected"], found["low"], found["high"]) == pytest.approx(
        (expected.expected, expected.low, expected.high)
    )
    assert found["known"] == expected.known
    inputs = [each for each in found["latest_alarms"] if each["what"] == "inputs"]
    assert inputs[0]["row"] == 2500
    assert inputs[0]["changes"][0]["name"] == "x2"
    assert found["moved"]["rows"][-1] == 3000
    assert {name for name, _ in found["moved"]["columns"]} == {
        *("x1", "x2", "x3", "predicted class")
    }
    text = httpx.get(f"{shared.address}/metrics").text
    for name in ("expected", "low", "high", "known", "outside"):
        assert f'rpnb_model_waiting_{name}{{model="before-labels"}}' in text
    for kind, count in found["alarms_by_kind"].items():
        alarms = f'rpnb_model_waiting_alarms{{kind="{kind}",model="before-labels"}}'
        assert f"{alarms} {float(count)}" in text
        kinds = [each["what"] for each in found["latest_alarms"]]
        assert kinds.count(kind) == count
    assert found["alarms"] == sum(found["alarms_by_kind"].values())
    assert found["alarms_by_kind"]["inputs"] > 0
    moved = dict(found["moved"]["columns"])["predicted class"][-1]
    assert found["predicted_moved"] == moved
    assert f'rpnb_model_predicted_moved{{model="before-labels"}} {moved}' in text
    assert 'rpnb_model_input_moved{feature="x2",model="before-labels"}' in text


def served(server: ServerProcess, name: str) -> ServedModel:
    """Restore a model from the log of a server."""
    connection = open_log(server.folder, read_only=True)
    row = next(row for row in stored_models(connection) if row[1] == name)
    model = restore(connection, row).model
    connection.close()
    return model


def test_a_follower_that_begins_later_finds_the_same(
    start: Callable[..., ServerProcess],
) -> None:
    server = start()
    with Client(server.address, timeout=300) as client:
        fill(client, "one", 1200, late=2)
        early = unlabelled(server, "one")
        X, y = rows(900, seed=1)
        found = client.predict("one", X, remember=True)
        client.label("one", (found.ids or [])[:400], y[:400])
        followed = _later(server, early)
    model = served(server, "one")
    found = json.loads(json.dumps(Followers(server.folder).details(model)))
    assert found == followed
    server.kill()
    again = start()
    assert unlabelled(again, "one") == followed


def _later(server: ServerProcess, early: Any) -> Any:
    """Return the figures after they have been read again."""
    wait_until(lambda: unlabelled(server, "one")["rows"] != early["rows"])
    return unlabelled(server, "one")


def test_rows_that_are_forgotten_are_in_no_figure(
    start: Callable[..., ServerProcess],
) -> None:
    server = start()
    with Client(server.address, timeout=300) as client:
        asked = fill(client, "one", 1000, late=2)
        assert unlabelled(server, "one")["rows"] == 1000
        client.forget("one", asked[-1][0])
        found = unlabelled(server, "one")
        assert (found["rows"], found["waiting"]) == (900, 100)
        client.forget("one", asked[0][0])
        assert unlabelled(server, "one")["rows"] == 800


def test_learners_without_probabilities_have_alarms_only(
    shared: ServerProcess, client: Client
) -> None:
    assert not hasattr(make("PA"), "predict_proba")
    client.create("silent", "PA", features=3, classes=["ash", "elm"])
    X, y = rows(1600)
    client.learn("silent", X[:50], y[:50])
    client.predict("silent", X, remember=True)
    found = unlabelled(shared, "silent")
    assert (found["waiting"], found["expected"], found["known"]) == (0, None, False)
    assert found["latest_alarms"][0]["row"] == 1500
    assert found["latest_alarms"][0]["changes"][0]["name"] == "x2"


def test_a_learner_that_is_promoted_begins_without_a_past(
    start: Callable[..., ServerProcess],
) -> None:
    server = start()
    with Client(server.address, timeout=300) as client:
        asked = fill(client, "one", 1500, late=2)
        assert unlabelled(server, "one")["expected"] is not None
        client.challenge("one", "other", "GaussianNB")
        client.promote("one", "other")
        before = unlabelled(server, "one")
        assert (before["waiting"], before["expected"]) == (0, None)
        client.label("one", *asked[-1][:2])
        X, y = rows(700, seed=4)
        found = client.predict("one", X, remember=True)
        client.label("one", (found.ids or [])[:400], y[:400])
    model = served(server, "one")
    now = Followers(server.folder).details(model)
    assert now["waiting"] == 300
    assert now["reason"] == "too few labels have arrived (400 of about 1,750)"
    assert [each for each in now["latest_alarms"] if each["what"] == "errors"] == []


def test_categories_and_dates_are_watched_as_what_they_are(
    shared: ServerProcess, client: Client
) -> None:
    rng = np.random.default_rng(5)
    features = ["when", "colour", "size"]
    given: dict[str, Any] = {"categorical_features": ["colour"], "n_projections": 16}
    client.create(
        "kinds",
        features=features,
        date_features=["when"],
        classes=["ash", "elm"],
        **given,
    )
    # One colour is more frequent in the second half.
    colours = np.where(
        rng.random(2000) < np.repeat([0.1, 0.6], 1000),
        "red",
        rng.choice([f"shade {k}" for k in range(60)], 2000),
    )
    values: list[dict[str, Any]] = [
        {
            "when": f"2026-01-{1 + i % 28:02d}",
            "colour": str(colour),
            "size": float(size),
        }
        for i, (colour, size) in enumerate(
            zip(colours, rng.normal(size=2000), strict=True)
        )
    ]
    for start in range(0, 2000, 500):
        client.predict("kinds", values[start : start + 500], remember=True)
    found = unlabelled(shared, "kinds")
    names = {name for name, _ in found["moved"]["columns"]}
    assert names == {"colour", "when", "size", "predicted class"}
    assert found["clocks"] == []
    alarms = [each for each in found["latest_alarms"] if each["what"] == "inputs"]
    changes = {change["name"]: change for each in alarms for change in each["changes"]}
    assert "colour" in changes
    assert "size" not in changes
    # A cell is one category, with its share before and after, not a range of them.
    name, before, after = max(changes["colour"]["cells"], key=lambda cell: cell[2])
    assert name == "red"
    assert (before, after) == pytest.approx((0.1, 0.6), abs=0.05)


def test_the_page_does_not_wait_until_the_log_is_read(
    start: Callable[..., ServerProcess],
) -> None:
    server = start()
    with Client(server.address) as client:
        fill(client, "one", 500, late=2)
    address = f"{server.address}/v1/models/one/live"
    for expected in (None, 500):  # the second page finds what the first one began
        with httpx.stream("GET", address, timeout=60) as answer:
            lines = (line for line in answer.iter_lines() if line.startswith("data:"))
            first = json.loads(next(lines)[len("data:") :])
            assert (first["unlabelled"] or {"rows": None})["rows"] == expected
            assert first["learned"] > 0
            second = json.loads(next(lines)[len("data:") :])
            assert second["unlabelled"]["rows"] == 500
