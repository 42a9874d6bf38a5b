"""Waiting rows, and the choice of those to label."""

from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest

from oracles.asking import asked_rows
from rpnb.client import Client
from rpnb.evaluate import estimate_error
from serve.process import ServerProcess
from serve.streams import clusters

X, Y = clusters(300)
ROWS = X.tolist()


def ask(server: ServerProcess, rows: list[Any], **query: Any) -> dict[str, Any]:
    body = {"rows": rows}
    if "ids" in query:
        body["ids"] = query.pop("ids")
    answer = httpx.post(f"{server.address}/v1/models/m/ask", params=query, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def questions(server: ServerProcess, **query: Any) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(
        f"{server.address}/v1/models/m/ask", params=query
    ).json()
    return found


@pytest.fixture
def server(start: Callable[..., ServerProcess]) -> ServerProcess:
    found = start()
    with Client(found.address) as client:
        client.create("m", "GaussianNB", features=4)
        client.learn("m", X[:60], Y[:60])
    return found


def test_rows_are_drawn_as_by_the_twin_over_requests_and_a_kill(
    server: ServerProcess, start: Callable[..., ServerProcess]
) -> None:
    first = ask(server, ROWS[:50], budget=0.2)
    server.kill()
    again = start()
    rest = [ask(again, ROWS[i : i + 50], budget=0.2) for i in range(50, 300, 50)]
    found = [first, *rest]
    confidence = [each for part in found for each in part["confidence"]]
    doubt = np.clip(1.0 - np.array(confidence), 0.0, 1.0)
    expected, chances = asked_rows(doubt.tolist(), 0.2, 0.2, 0)
    assert [each for part in found for each in part["asked"]] == expected
    weights = [each for part in found for each in part["weights"]]
    assert weights == [
        pytest.approx(1.0 / p) if drawn else None
        for p, drawn in zip(chances, expected, strict=True)
    ]
    ids = [each for part in found for each in part["ids"]]
    there = [i for i, drawn in enumerate(expected) if drawn]
    waiting = questions(again)
    assert waiting["ids"] == [ids[i] for i in there]
    assert waiting["weights"] == [weights[i] for i in there]
    assert (waiting["offered"], waiting["drawn"]) == (300, len(there))
    assert questions(again, limit=2)["ids"] == waiting["ids"][:2]
    # A label removes a row from the list, and the error is estimated from labels.
    with Client(again.address) as client:
        client.label("m", waiting["ids"][:5], [Y[i] for i in there[:5]])
    assert questions(again)["ids"] == waiting["ids"][5:]
    labels = [each for part in found for each in part["labels"]]
    estimate = estimate_error(
        [Y[i] for i in there],
        [labels[i] for i in there],
        [weights[i] for i in there],
    )
    truth = np.mean([a != b for a, b in zip(labels, Y, strict=True)])
    assert abs(estimate.error - truth) < 4.0 * max(estimate.standard_error, 0.01)


def test_a_row_that_is_there_keeps_what_was_drawn(server: ServerProcess) -> None:
    ids = [f"r{i}" for i in range(30)]
    first = ask(server, ROWS[:30], ids=ids, budget=0.1)
    second = ask(server, ROWS[:40], ids=[*ids, *(f"s{i}" for i in range(10))])
    assert second["asked"][:30] == first["asked"]
    assert second["weights"][:30] == first["weights"]
    assert questions(server)["offered"] == 40


def test_the_error_is_estimated_from_the_labels_of_chosen_rows(
    server: ServerProcess,
) -> None:
    with Client(server.address) as client:
        found = client.ask("m", ROWS, budget=0.2)
        opened = client.asked("m")
        assert (opened["labels"], opened["error"]) == (0, None)
        there = [i for i, asked in enumerate(found["asked"]) if asked]
        client.label("m", [found["ids"][there[0]]], [Y[there[0]]])
        assert client.asked("m")["standard_error"] is None
        # In any order, with rows that were not chosen, which do not count.
        other = [i for i, asked in enumerate(found["asked"]) if not asked][:40]
        rest = [*there[:0:-1], *other]
        client.label("m", [found["ids"][i] for i in rest], [Y[i] for i in rest])
        done = client.asked("m")
        expected = estimate_error(
            [Y[i] for i in there],
            [found["labels"][i] for i in there],
            [found["weights"][i] for i in there],
        )
        assert done["ids"] == []
        assert done["labels"] == len(there)
        assert done["error"] == expected.error
        assert done["standard_error"] == expected.standard_error
        scores = httpx.get(f"{server.address}/v1/models/m/scores").json()
        asked = scores["unlabelled"]["asked"]
        assert asked == {
            "offered": len(ROWS),
            "drawn": len(there),
            "open": 0,
            **{key: done[key] for key in ("labels", "error", "standard_error")},
        }
        # The error of all labelled rows is another figure.
        assert client.model("m")["error"] != expected.error
        client.forget("m", [found["ids"][i] for i in there])
        assert client.asked("m")["labels"] == 0
        assert client.asked("m", limit=1)["error"] is None


def test_a_learner_without_probabilities_asks_at_random(
    start: Callable[..., ServerProcess],
) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("m", "AROW", features=4)
        client.learn("m", X[:60], Y[:60])
    found = ask(server, ROWS, budget=0.1)
    assert found["asked"] == asked_rows([1.0] * 300, 0.1, 1.0, 0)[0]


@pytest.mark.parametrize(
    "query", [{"budget": 0}, {"budget": "x"}, {"random_share": 2}, {"budget": "nan"}]
)
def test_a_bad_budget_is_refused_and_draws_nothing(
    server: ServerProcess, query: dict[str, Any]
) -> None:
    answer = httpx.post(
        f"{server.address}/v1/models/m/ask", params=query, json={"rows": ROWS[:2]}
    )
    assert answer.status_code == 422
    assert next(iter(query)) in answer.json()["error"]["message"]
    assert questions(server)["offered"] == 0


def test_a_deleted_model_is_forgotten(server: ServerProcess) -> None:
    ask(server, ROWS[:50])
    with Client(server.address) as client:
        client.delete("m")
        client.create("m", "GaussianNB", features=4)
    assert questions(server) == {
        "ids": [],
        "times": [],
        "weights": [],
        "offered": 0,
        "drawn": 0,
        "labels": 0,
        "error": None,
        "standard_error": None,
    }


def test_the_client_asks_in_batches_as_one_request_would(server: ServerProcess) -> None:
    with Client(server.address, batch_size=70) as client:
        found = client.ask("m", X, budget=0.1)
    assert {"ids", "labels", "asked", "weights"} <= set(found)
    assert all(len(values) == 300 for values in found.values())
    doubt = np.clip(1.0 - np.array(found["confidence"]), 0.0, 1.0)
    assert found["asked"] == asked_rows(doubt.tolist(), 0.1, 0.2, 0)[0]
    opened = questions(server, limit=1000)
    chosen = [i for i, asked in zip(found["ids"], found["asked"], strict=True) if asked]
    assert sorted(opened["ids"]) == sorted(chosen)
