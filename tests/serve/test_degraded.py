"""After an event that cannot be replayed, the state before it keeps serving."""

import json
import sqlite3
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from rpnb.client import Client, ServeError
from rpnb.estimators.protocol import learner_of
from rpnb.serve.label_rules import Label
from rpnb.serve.log import checksum_of, pack_labels, pack_rows
from serve.process import ServerProcess, run_command
from serve.streams import clusters

Start = Callable[..., ServerProcess]
X, Y = clusters(60)
X, Y = X[:, :3], ["spam" if y == "oak" else "ham" for y in Y]


def statement(folder: Path, text: str, *values: Any) -> list[Any]:
    """Run a statement on the log of a service that is stopped."""
    with sqlite3.connect(folder / "log.sqlite") as connection:
        found = connection.execute(text, values).fetchall()
    connection.close()
    return found


def append_event(folder: Path, labels: list[Label], kind: str = "learn") -> int:
    """Write an event that the service would have refused."""
    now, n = time.time(), len(labels)
    body = pack_rows(np.ones((n, 3)), labels)
    statement(
        folder,
        "INSERT INTO events(model, kind, time, n, body, checksum, header) "
        "VALUES(1,?,?,?,?,?,?)",
        *(kind, now, n, body, zlib.crc32(body), checksum_of(1, kind, now, n)),
    )
    return int(statement(folder, "SELECT max(id) FROM events")[0][0])


def fill(start: Start, learner: str = "AROW") -> tuple[Path, bytes, list[Any]]:
    """Learn 50 rows in five events; return the folder, the state and predictions."""
    server = start()
    with Client(server.address) as client:
        client.create("m", learner, features=3, classes=["ham", "spam"])
        client.create("other", "GaussianNB", features=3)
        for i in range(0, 40, 10):
            client.learn("m", X[i : i + 10], Y[i : i + 10])
        client.predict("m", X[40:50], remember=True, ids=[f"r{i}" for i in range(10)])
        client.label("m", [f"r{i}" for i in range(8)], Y[40:48])
        found = client.download("m"), client.predict("m", X).labels
    server.kill()
    return server.folder, *found


def serves(server: ServerProcess, state: bytes, labels: list[Any], rows: int) -> None:
    """Check that a degraded model predicts with a state and is unchanged."""
    with Client(server.address, retries=0) as client:
        assert client.model("m")["learned"] == rows
        assert client.download("m") == state
        assert client.predict("m", X).labels == labels
        # Rows may still wait for labels, which are accepted again later.
        found = client.predict("m", X[:1], remember=True)
        for call in (
            lambda: client.learn("m", X[:1], Y[:1]),
            lambda: client.observe("m", X[:1], Y[:1]),
            lambda: client.label("m", found.ids or [], Y[:1]),
            lambda: client.forget("m", ["r1"]),
        ):
            with pytest.raises(ServeError, match="--set-aside") as caught:
                call()
            assert caught.value.status == 503
        about = client.model("m")
        assert about["degraded"] is True
        assert "cannot be replayed" in about["problem"]
        health = client.health()
        assert health["status"] == "degraded"
        assert list(health["degraded_models"]) == ["m"]
        assert health["broken_models"] == {}
        # Data from clients is not shown on open routes.
        assert "Ham" not in json.dumps(health)
        text = httpx.get(f"{server.address}/metrics").text
        assert 'rpnb_model_degraded{model="m"} 1.0' in text
        assert 'rpnb_model_degraded{model="other"} 0.0' in text
        assert 'rpnb_model_broken{model="m"} 1.0' in text
        assert httpx.get(f"{server.address}/readyz").status_code == 200
        client.learn("other", X, Y)


@pytest.mark.parametrize("bad", ["refused", "checksum", "text", "rows"])
def test_the_state_before_the_event_is_kept_and_served(start: Start, bad: str) -> None:
    folder, state, labels = fill(start)
    event = append_event(folder, ["ham", "Ham" if bad == "refused" else "spam"])
    append_event(folder, ["ham"])
    if bad == "checksum":
        statement(folder, "UPDATE events SET checksum=1 WHERE id=?", event)
    elif bad != "refused":
        body = b"\xff\xff" if bad == "text" else pack_labels([10**6], ["ham"])
        statement(
            folder,
            "UPDATE events SET body=?, checksum=?, kind='labels' WHERE id=?",
            *(body, zlib.crc32(body), event),
        )
    server = start()
    serves(server, state, labels, 48)
    assert f"event {event}" in server.text
    server.stop()
    # Restarts and snapshots do not change that.
    again = start()
    serves(again, state, labels, 48)
    again.kill()
    checked = run_command("serve", folder, "--check")
    assert checked.returncode == 1
    assert f"event {event}" in checked.stdout
    assert "Traceback" not in checked.stderr
    # Only that event is set aside: the one after it is learned.
    done = run_command("serve", folder, "--check", "--set-aside")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("was set aside") == 1
    assert f"event {event} was set aside" in done.stdout
    with Client(start().address, retries=0) as client:
        assert client.model("m")["learned"] == 49


def test_an_event_is_set_aside_and_put_back(start: Start) -> None:
    folder, state, labels = fill(start)
    first = append_event(folder, ["Ham"])
    second = append_event(folder, ["spam", "SPAM"], "observe")
    third = append_event(folder, ["spam"])
    before = statement(folder, "SELECT * FROM events ORDER BY id")
    done = run_command("serve", "--check", folder, "--set-aside")
    assert done.returncode == 0, done.stdout + done.stderr
    for event in (first, second):
        assert f"event {event} was set aside" in done.stdout
    assert f"event {third} was set aside" not in done.stdout
    server = start()
    with Client(server.address, retries=0) as client:
        about = client.model("m")
        assert (about["learned"], about["set_aside"], about["degraded"]) == (
            49,
            2,
            False,
        )
        assert client.health()["status"] == "ok"
        client.learn("m", X[50:], Y[50:])
        after = client.download("m")
    server.stop()
    assert run_command("serve", folder, "--check").returncode == 0
    # They are in the log unchanged, with the reason and the time.
    kept = statement(folder, "SELECT id, n, reason, since FROM aside ORDER BY id")
    assert [each[:2] for each in kept] == [(first, 1), (second, 2)]
    assert all("two classes" in each[2] for each in kept)
    assert all(abs(each[3] - time.time()) < 600 for each in kept)
    again = run_command("serve", folder, "--put-back", str(first))
    assert again.returncode == 0, again.stderr
    assert f"event {first} was put back" in again.stdout
    run_command("serve", folder, "--put-back", str(second))
    assert statement(folder, "SELECT * FROM aside") == []
    events = statement(folder, "SELECT * FROM events ORDER BY id")
    assert events[: len(before)] == before
    server = start()
    serves(server, state, labels, 48)
    server.stop()
    assert run_command("serve", folder, "--check", "--set-aside").returncode == 0
    with Client(start().address) as client:
        assert client.download("m") == after


def test_labels_that_were_set_aside_can_be_forgotten(start: Start) -> None:
    folder, *_ = fill(start)
    (seq,) = statement(folder, "SELECT seq FROM rows WHERE id='r9'")[0]
    body = pack_labels([seq], ["Ham"])
    statement(
        folder,
        "INSERT INTO events(model, kind, time, n, body, checksum, header) "
        "VALUES(1,'labels',0,1,?,?,?)",
        *(body, zlib.crc32(body), checksum_of(1, "labels", 0.0, 1)),
    )
    (event,) = statement(folder, "SELECT max(id) FROM events")[0]
    statement(folder, "UPDATE rows SET event=? WHERE id='r9'", event)
    assert run_command("serve", folder, "--check", "--set-aside").returncode == 0
    with Client(start().address, retries=0) as client:
        before = client.download("m")
        assert client.label("m", ["r9"], ["ham"]).results == ["duplicate"]
        assert client.forget("m", ["r9", "r3"]) == ["forgotten"] * 2
        assert client.model("m")["learned"] == 47
        assert client.download("m") != before
        client.delete("m")
    assert statement(folder, "SELECT count(*) FROM aside") == [(0,)]


def test_a_key_whose_event_was_set_aside(start: Start) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("m", "AROW", features=3, classes=["ham", "spam"])
        client.learn("m", X, Y)
        client.observe("m", X[:1], ["ham"], key="k")
    server.kill()
    folder = server.folder
    statement(folder, "UPDATE keys SET answer=NULL WHERE key='k'")
    statement(folder, "UPDATE events SET checksum=1 WHERE kind='observe'")
    assert run_command("serve", folder, "--check", "--set-aside").returncode == 0
    with Client(start().address, retries=0) as client:
        with pytest.raises(ServeError, match="set aside") as caught:
            client.observe("m", X[:1], ["ham"], key="k")
        assert caught.value.status == 409


def test_a_model_never_predicts_from_an_empty_state(start: Start) -> None:
    """The first event is damaged: the state before it has learned nothing."""
    folder, *_ = fill(start)
    statement(folder, "UPDATE events SET checksum=1 WHERE id=1")
    server = start()
    with Client(server.address, retries=0) as client:
        for call in (
            lambda: client.predict("m", X),
            lambda: client.predict("m", X, remember=True),
            lambda: client.download("m"),
            lambda: client.learn("m", X, Y),
        ):
            with pytest.raises(ServeError, match="event 1") as caught:
                call()
            assert caught.value.status == 503
        health = client.health()
        assert health["status"] == "failing"
        assert list(health["broken_models"]) == ["m"]
        client.learn("other", X, Y)
    server.stop()
    done = run_command("serve", folder, "--check", "--set-aside")
    assert done.returncode == 0, done.stdout
    with Client(start().address, retries=0) as client:
        assert client.model("m")["learned"] == 38
        assert None not in client.predict("m", X).labels


def test_an_event_before_a_sound_snapshot_does_not_matter_to_a_start(
    start: Start,
) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("m", "AROW", features=3, classes=["ham", "spam"])
        client.learn("m", X[:9], Y[:9])
        client.learn("m", X, Y)
        state = client.download("m")
    server.stop()  # writes a snapshot
    statement(server.folder, "UPDATE events SET checksum=1 WHERE id=1")
    done = run_command("serve", server.folder, "--check", "--set-aside")
    assert done.returncode == 1
    assert "was set aside" not in done.stdout
    with Client(start().address, retries=0) as client:
        assert client.download("m") == state
        assert client.model("m")["degraded"] is False
        client.learn("m", X, Y)


def test_words_that_do_not_fit(start: Start, tmp_path: Path) -> None:
    server = start()
    wrong: list[tuple[list[str | Path], str]] = [
        ([server.folder, "--set-aside"], "--check"),
        ([server.folder, "--check", "--set-aside"], "in use"),
        ([server.folder, "--put-back", "1"], "in use"),
        ([tmp_path / "no", "--check", "--set-aside"], "not a folder of rpnb serve"),
        ([tmp_path / "no", "--put-back", "1"], "not a folder of rpnb serve"),
    ]
    for words, said in wrong:
        done = run_command("serve", *words)
        assert done.returncode == 2, words
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    server.stop()
    done = run_command("serve", server.folder, "--put-back", "1")
    assert done.returncode == 2
    assert "no event 1" in done.stderr


def test_a_failure_while_serving_falls_back_to_the_log(tmp_path: Path) -> None:
    """Whatever fails, the state is that of the events before, never half of one."""
    import asyncio

    from rpnb.serve.commands import Create, Learn
    from rpnb.serve.limits import ApiError, Limits
    from rpnb.serve.specs import ModelSpec, new_learner
    from rpnb.serve.writer import Writer

    writer = Writer(tmp_path, Limits())
    writer.start()
    spec = ModelSpec("GaussianNB", {}, 3, None, ("ham", "spam"))

    async def learn(i: int, observe: bool = False) -> Any:
        rows, labels = X[i : i + 2].copy(), Y[i : i + 2]
        return await writer.submit(
            Learn(name="m", X=rows, labels=labels, observe=observe)
        )

    async def work() -> None:
        await writer.submit(Create(name="m", spec=spec, learner=new_learner(spec)))
        await learn(0)
        model = writer.models["m"]
        sound = model.to_bytes()
        whole: Any = type(learner_of(model.learner)).learn

        def half(self: Any, state: Any, X: Any, y: Any, *more: Any) -> None:
            if y.shape[0] > 1 or calls:
                calls.append(y.shape[0])
                whole(self, state, X[:1], y[:1], *more[:-1], None)
                raise MemoryError("no more")
            whole(self, state, X, y, *more)

        calls: list[int] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(learner_of(model.learner)), "learn", half)
            with pytest.raises(ApiError, match="could not be learned") as caught:
                await learn(2)
        assert caught.value.status == 503
        assert len(calls) >= 2
        assert model.broken is not None
        # While learning fails, earlier events cannot be replayed either.
        assert model.predicts is False
        with pytest.raises(ApiError, match="event"):
            await learn(4)
        assert sound is not None

    asyncio.run(work())
    writer.stop()
    again = Writer(tmp_path, Limits())
    assert again.models["m"].broken is None
    assert again.models["m"].scores.learned == 4
    again.start()
    again.stop()
