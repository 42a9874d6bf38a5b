"""Backtests reproduce the service to the bit, and simulate other learners."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb.client import Client
from rpnb.evaluate.differences import DifferenceTracker
from rpnb.serve.backtest import backtest
from rpnb.serve.specs import ModelSpec
from serve.process import ServerProcess, run_command
from serve.streams import clusters

CLASSES = ["ash", "elm", "oak"]


def specification(learner: str, **parameters: Any) -> ModelSpec:
    return ModelSpec(learner, parameters, 4, None, tuple(CLASSES))


def live_through(client: Client, name: str, seed: int, *, forget: bool = False) -> None:
    """Keep rows for late or missing labels, learn rows and observe rows."""
    rng = np.random.default_rng(seed)
    X, y = clusters(240, seed=seed)
    client.learn(name, X[:20], y[:20])
    waiting: list[tuple[str, str]] = []
    for start in range(20, 240, 20):
        some = slice(start, start + 20)
        if start % 60 == 0:
            client.observe(name, X[some], y[some])
            continue
        ids = client.predict(name, X[some], remember=True).ids
        assert ids is not None
        waiting += zip(ids[2:], y[some][2:], strict=True)
        rng.shuffle(waiting)
        now, waiting = waiting[:15], waiting[15:]
        client.label(name, [each for each, _ in now], [label for _, label in now])
        if forget and start == 160:
            assert client.forget(name, [now[3][0]]) == ["forgotten"]


def figures(client: Client, name: str) -> dict[str, Any]:
    scores: dict[str, Any] = client.model(name)
    return {
        key: scores[key]
        for key in (
            "learned",
            "scored",
            "error",
            "window_error",
            "references",
            "alarms",
        )
    }


@pytest.mark.parametrize("forget", [False, True])
def test_the_serving_learner_has_the_figures_of_the_service(
    start: Callable[..., ServerProcess], forget: bool
) -> None:
    server = start("--snapshot-rows", "50")
    with Client(server.address) as client:
        client.create(
            "m", "RPNB", features=4, classes=CLASSES, n_estimators=5, random_state=1
        )
        live_through(client, "m", 1)
    server.kill()
    server = start("--snapshot-rows", "50")
    with Client(server.address) as client:
        live_through(client, "m", 2, forget=forget)
        served = figures(client, "m")
        # While the service runs.
        found = backtest(server.folder, "m", {"NB": specification("GaussianNB")})
        first = found.learners[0]
        assert first.serving
        scores = client.model("m")
        assert {key: first.scores.summary()[key] for key in served} == served
        assert first.rows == scores["scored"] > 300
        assert first.error == scores["error"]
        assert (found.elsewhere == 0) or forget
    server.stop()
    # The figures of the last snapshot, all of them, to the bit.
    log = sqlite3.connect(server.folder / "log.sqlite")
    (text,) = log.execute(
        "SELECT scores FROM snapshots ORDER BY event DESC LIMIT 1"
    ).fetchone()
    log.close()
    assert json.dumps(first.scores.to_json()) == text


def test_another_learner_has_the_figures_it_would_have_had_as_the_serving_one(
    client: Client, shared: ServerProcess
) -> None:
    parameters: dict[str, dict[str, Any]] = {
        "Pooled": {"window": 300, "random_state": 3},
        "GaussianNB": {},
        "AROW": {},
    }
    for name, given in parameters.items():
        client.create(name, name, features=4, classes=CLASSES, **given)
        live_through(client, name, 5)
    specs = {name: specification(name, **given) for name, given in parameters.items()}
    for name in parameters:
        found = backtest(shared.folder, name, specs)
        assert found.elsewhere == 0
        for row in found.learners[1:]:
            served = figures(client, row.name)
            assert {key: row.scores.summary()[key] for key in served} == served
            # The same learner as the serving one: no row differs, in any figure.
            if row.name == name:
                assert (row.error, row.log_loss, row.kappa) == (
                    found.learners[0].error,
                    found.learners[0].log_loss,
                    found.learners[0].kappa,
                )
                assert row.differences["error"].mean[-1] == 0.0
            else:
                assert row.differences["error"].mean[-1] == pytest.approx(
                    row.error - found.learners[0].error  # type: ignore[operator]
                )


def test_differences_are_those_of_the_library(
    client: Client, shared: ServerProcess
) -> None:
    client.create("d", "GaussianNB", features=4, classes=CLASSES)
    client.create("e", "AROW", features=4, classes=CLASSES)
    X, y = clusters(150, seed=9)
    wrong = {}
    for name in ("d", "e"):
        labels = client.observe(name, X, y)
        wrong[name] = [float(a != b) for a, b in zip(labels, y, strict=True)]
    tracker = DifferenceTracker(("e", "d"), (), "error")
    tracker.add(np.array([wrong["e"], wrong["d"]]))
    tracker.add_checkpoint()
    # The intervals of both losses hold together.
    expected = tracker.difference("e", "d", 0.95)
    assert expected is not None
    spec = {"AROW": specification("AROW")}
    found = backtest(shared.folder, "d", spec, confidence=0.9)
    difference = found.learners[1].differences["error"]
    assert difference.mean[-1] == expected.mean[-1]
    assert (difference.low[-1], difference.high[-1]) == (
        expected.low[-1],
        expected.high[-1],
    )
    assert "log_loss" not in found.learners[1].differences  # AROW has none
    assert found.learners[0].log_loss is not None


def test_command(client: Client, shared: ServerProcess) -> None:
    client.create("shown", "GaussianNB", features=4, classes=CLASSES)
    live_through(client, "shown", 6)
    words = ("backtest", shared.folder, "--model", "shown", "--learners")
    done = run_command(*words, "arow,GaussianNB", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [each["name"] for each in found["learners"]] == [
        "GaussianNB (serving)",
        "AROW",
    ]
    assert found["learners"][0]["error"] == client.model("shown")["error"]
    assert found["learners"][0]["kappa"] > 0.5
    assert found["learners"][1]["log_loss"] is None
    done = run_command(*words, "AROW", "RPNB", "--param", "RPNB.n_estimators=5")
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["learner", "rows", "error", "log-loss"]
    assert lines[3].startswith("RPNB (n_estimators=5)")
    assert "not significant" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "none", "--learners", "AROW"], "has no model 'none'; it has: "),
        (["--model", "refuse", "--learners", "AROv"], "did you mean AROW"),
        (["--model", "refuse", "--learners", ","], "name at least one learner"),
        (
            ["--model", "refuse", "--learners", "AROW", "--param", "RPNB.a=1"],
            "RPNB is not among --learners",
        ),
        (
            ["--model", "refuse", "--learners", "AROW", "--param", "AROW.x=1"],
            "AROW has no parameter 'x'",
        ),
        (
            ["--model", "refuse", "--learners", "AROW", "--param", "AROW.C=-1"],
            "AROW (C=-1) cannot learn this log: C must",
        ),
        (
            ["--model", "refuse", "--learners", "SOP"],
            "SOP cannot learn this log: ",
        ),
        (
            ["--model", "refuse", "--learners", "AROW", "--confidence", "1"],
            "must be between 0 and 1",
        ),
    ],
)
def test_refusals(
    client: Client, shared: ServerProcess, words: list[str], message: str
) -> None:
    if "refuse" not in [each["name"] for each in client.models()]:
        client.create("refuse", "GaussianNB", features=4)
        client.learn("refuse", *clusters(30))
    done = run_command("backtest", shared.folder, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_columns_of_categories_are_those_of_the_model(
    client: Client, shared: ServerProcess
) -> None:
    client.create(
        "mixed",
        "Pooled",
        features=["tree", "size"],
        categorical_features=["tree"],
        random_state=0,
    )
    pair: list[dict[str, Any]] = [
        {"tree": "oak", "size": 1.0},
        {"tree": "elm", "size": 2.0},
    ]
    client.observe("mixed", pair * 20, ["a", "b"] * 20)
    words = ("backtest", shared.folder, "--model", "mixed", "--learners")
    refused = run_command(*words, "AROW")
    assert refused.returncode == 2
    assert (
        "the model has categorical_features, which AROW does not support"
        in refused.stderr
    )
    done = run_command(*words, "Pooled", "--param", "Pooled.window=500", "--json")
    first, second = json.loads(done.stdout)["learners"]
    assert first["error"] == client.model("mixed")["error"]
    assert second["name"] == "Pooled (window=500)"
    assert second["parameters"]["categorical_features"] == [0]


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    words = ("--model", "m", "--learners", "AROW")
    done = run_command("backtest", tmp_path, *words)
    assert done.returncode == 2
    assert "it is not a folder of rpnb serve" in done.stderr
