"""After a kill or a stop, the state equals that of a replay of the log."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rpnb.client import Client, ServeError
from rpnb.estimators.registry import learners
from rpnb.serve.log import SCHEMA_VERSION
from rpnb.serve.restoring import same_state
from serve.process import ServerProcess, run_command
from serve.replays import replayed_state
from serve.streams import clusters
from serve.test_refused_labels import SMALL

Start = Callable[..., ServerProcess]


def fill(client: Client, name: str, *, seed: int = 0) -> None:
    """Learn, observe and label some rows."""
    X, y = clusters(90, seed=seed)
    client.learn(name, X[:20], y[:20])
    found = client.predict(name, X[20:60], remember=True)
    assert found.ids is not None
    client.observe(name, X[60:], y[60:])
    client.label(name, found.ids[10:30], y[30:50])
    client.label(name, found.ids[:10], y[20:30])


@pytest.mark.parametrize("killed", [True, False])
def test_a_start_restores_every_learner(start: Start, killed: bool) -> None:
    server = start("--snapshot-rows", "50")
    names = ["RPNB", "Pooled", "AROW", "OnlineBagging", "GaussianNB", "NoChange"]
    assert set(names) <= set(learners())
    small: dict[str, dict[str, Any]] = {
        "RPNB": {"n_estimators": 5},
        "Pooled": {"n_projections": 16, "window": 64},
        "OnlineBagging": {"n_estimators": 2},
    }
    with Client(server.address) as client:
        for name in names:
            client.create(name, name, features=4, **small.get(name, {}))
            fill(client, name)
        before = {name: client.download(name) for name in names}
        figures = {name: client.model(name) for name in names}
    server.kill() if killed else server.stop()
    for name in names:
        replayed = replayed_state(server.folder, name)
        assert replayed is not None
        assert same_state(before[name], replayed), name
    checked = run_command("serve", server.folder, "--check")
    assert checked.returncode == 0, checked.stdout
    assert "DAMAGED" not in checked.stdout
    assert checked.stdout.count("a restart gives the state of") == len(names)
    again = start()
    with Client(again.address) as client:
        for name in names:
            assert client.download(name) == before[name], name
            same = {**client.model(name), "predicted": 0}
            assert same == {**figures[name], "predicted": 0}


@pytest.mark.parametrize("part", range(3))
def test_every_learner_is_created_taught_saved_uploaded_and_restarted(
    start: Start, part: int
) -> None:
    names = list(learners())[part::3]
    X, y = clusters(60, names=("ham", "spam"))
    two = ["ham", "spam"]
    server = start("--snapshot-rows", "25")
    with Client(server.address) as client:
        for name in names:
            client.create(name, name, features=4, classes=two, **SMALL.get(name, {}))
            client.learn(name, X[:20], y[:20])
            client.upload(f"{name}-again", client.download(name))
            for each in (name, f"{name}-again"):
                client.predict(
                    each, X[20:40], remember=True, ids=list(map(str, range(20)))
                )
                client.label(each, list(map(str, range(20))), y[20:40])
                client.observe(each, X[40:], y[40:])
        both = [name + end for name in names for end in ("", "-again")]
        before = {name: client.download(name) for name in both}
        for name in names:
            assert same_state(before[name], before[f"{name}-again"]), name
        predicted = {name: client.predict(name, X).labels for name in both}
    server.kill()
    with Client(start().address) as client:
        assert client.health()["status"] == "ok"
        for name in both:
            assert client.download(name) == before[name], name
            assert client.predict(name, X).labels == predicted[name]
            client.learn(name, X[:5], y[:5])


def test_a_mini_batch_is_one_event(start: Start) -> None:
    server = start()
    with Client(server.address) as client:
        client.create(
            "m", "RPNB", features=4, n_estimators=5, batch_size=16, random_state=0
        )
        fill(client, "m")
        before = client.download("m")
    server.kill()
    replayed = replayed_state(server.folder, "m")
    assert replayed is not None
    assert same_state(before, replayed)


def test_a_repeated_key_is_carried_out_once_even_after_a_kill(start: Start) -> None:
    server = start()
    X, y = clusters(30)
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4)
        first = client.observe("m", X, y, key="one")
        assert client.observe("m", X, y, key="one") == first
        client.learn("m", X, y, key="two")
        found = client.predict("m", X, remember=True)
        assert found.ids is not None
        labelled = client.label("m", found.ids, y, key="three")
        assert client.label("m", found.ids, y, key="three") == labelled
        with pytest.raises(ServeError, match="used for another request") as caught:
            client.learn("m", X[:3], y[:3], key="two")
        assert caught.value.code == "key_reused"
        # Its answer is only in memory when the process dies.
        last = client.observe("m", X, y, key="four")
    server.kill()
    with Client(start().address) as client:
        assert client.observe("m", X, y, key="one") == first
        assert client.observe("m", X, y, key="four") == last
        assert client.learn("m", X, y, key="two") == 30
        assert client.label("m", found.ids, y, key="three") == labelled
        assert client.model("m")["learned"] == 120


def test_a_model_from_a_file_goes_on_learning(start: Start) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("one", "RPNB", features=["a", "b", "c", "d"], n_estimators=5)
        fill(client, "one")
        client.upload("two", client.download("one"))
        assert client.model("two")["features"] == ["a", "b", "c", "d"]
        fill(client, "one", seed=1)
        fill(client, "two", seed=1)
        assert client.download("two") == client.download("one")
        before = client.download("two")
    server.kill()
    with Client(start().address) as client:
        assert client.download("two") == before


def test_a_forgotten_row_was_never_there(start: Start) -> None:
    """The state equals that of a model that never saw the rows, as do the files."""
    server = start("--snapshot-rows", "25")
    X, y = clusters(60)
    secret = 123456.789
    X[13, 2] = X[14, 2] = secret
    needle = np.float64(secret).tobytes()
    ids = [f"row-{i}" for i in range(60)]
    parameters: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
    with Client(server.address) as client:
        for name in ("all", "without"):
            client.create(name, "RPNB", features=4, **parameters)
        client.predict("all", X, remember=True, ids=ids)
        for part in (slice(0, 20), slice(20, 45), slice(45, 55)):
            client.label("all", ids[part], y[part])
        kept = [i for i in range(60) if i not in (13, 14, 50)]
        client.predict("without", X[kept], remember=True, ids=[ids[i] for i in kept])
        for part in (slice(0, 20), slice(20, 45), slice(45, 55)):
            some = [i for i in kept if part.start <= i < part.stop]
            client.label("without", [ids[i] for i in some], [y[i] for i in some])
        assert client.forget("all", ["row-13", "row-14", "row-50", "row-59", "x"]) == [
            *["forgotten"] * 4,
            "unknown",
        ]
        for path in server.folder.iterdir():
            assert needle not in path.read_bytes(), path
        assert client.forget("all", ["row-13"]) == ["unknown"]
        assert client.download("all") == client.download("without")
        about, other = client.model("all"), client.model("without")
        assert (about["learned"], about["waiting"]) == (52, 4)
        assert about["error"] == other["error"]
        assert client.label("all", ["row-13"], ["oak"]).results == ["unknown"]
        client.learn("all", X[:5], y[:5])
        before = client.download("all")
    server.kill()
    checked = run_command("serve", server.folder, "--check")
    assert checked.returncode == 0, checked.stdout
    again = start()
    with Client(again.address) as client:
        assert client.download("all") == before
    again.stop()
    for path in server.folder.iterdir():
        assert needle not in path.read_bytes(), path


def damage_latest_snapshot(folder: Path) -> None:
    with sqlite3.connect(folder / "log.sqlite") as connection:
        done = connection.execute(
            "UPDATE snapshots SET file=zeroblob(length(file)) "
            "WHERE event=(SELECT max(event) FROM snapshots)"
        ).rowcount
    connection.close()
    assert done == 1


def test_a_damaged_snapshot_is_named_and_nothing_is_lost(start: Start) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4)
        fill(client, "m")
        before = client.download("m")
    server.stop()
    damage_latest_snapshot(server.folder)
    checked = run_command("serve", server.folder, "--check")
    assert checked.returncode == 1
    assert "DAMAGED model m: the snapshot at event" in checked.stdout
    with Client(start().address) as client:
        assert client.download("m") == before
        assert "snapshot of model m" in client.health()["notes"][0]


def test_a_model_whose_first_state_is_lost_refuses_and_others_go_on(
    start: Start,
) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("sound", "GaussianNB", features=4)
        fill(client, "sound")
        client.upload("lost", client.download("sound"))
        fill(client, "lost")
    server.stop()
    with sqlite3.connect(server.folder / "log.sqlite") as connection:
        connection.execute(
            "UPDATE snapshots SET file=zeroblob(9) WHERE model="
            "(SELECT id FROM models WHERE name='lost')"
        )
    connection.close()
    with Client(start().address, retries=0) as client:
        with pytest.raises(ServeError, match="damaged") as caught:
            client.predict("lost", [[0.0] * 4])
        assert caught.value.status == 503
        with pytest.raises(ServeError, match="damaged"):
            client.download("lost")
        with pytest.raises(ServeError, match="damaged"):
            client.learn("lost", [[0.0] * 4], ["ash"])
        health = client.health()
        assert health["status"] == "failing"
        assert list(health["broken_models"]) == ["lost"]
        client.learn("sound", [[0.0] * 4], ["ash"])


def test_a_damaged_event_is_found(start: Start) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4)
        fill(client, "m")
    server.kill()
    with sqlite3.connect(server.folder / "log.sqlite") as connection:
        connection.execute("UPDATE events SET body=zeroblob(length(body)) WHERE id=2")
    connection.close()
    checked = run_command("serve", server.folder, "--check")
    assert checked.returncode == 1
    assert "DAMAGED model m: event 2 is damaged" in checked.stdout
    with Client(start().address, retries=0) as client:
        # The state before it predicts; nothing is appended after the gap.
        assert client.model("m")["learned"] == 20
        assert client.predict("m", [[0.0] * 4]).labels[0] is not None
        with pytest.raises(ServeError, match="cannot be replayed"):
            client.learn("m", [[0.0] * 4], ["ash"])


def test_old_events_are_deleted_and_the_rest_still_checks(start: Start) -> None:
    from rpnb.serve.log import open_log
    from rpnb.serve.model_rows import stored_models
    from rpnb.serve.snapshots import delete_events

    server = start("--snapshot-rows", "30")
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4)
        for seed in range(4):
            fill(client, "m", seed=seed)
        before = client.download("m")
    server.stop()
    connection = open_log(server.folder)
    (row,) = stored_models(connection)
    count = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    delete_events(connection, row[0], before=4e9)
    left = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    assert 0 < left < count
    connection.close()
    checked = run_command("serve", server.folder, "--check")
    assert checked.returncode == 0, checked.stdout
    with Client(start().address) as client:
        assert client.download("m") == before


def test_retention_keeps_every_event_after_its_base(start: Start) -> None:
    """A row whose event is kept can be forgotten, as if it was never sent."""
    server = start("--snapshot-rows", "30", "--keep-log", "30")
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4)
        for seed in range(4):
            fill(client, "m", seed=seed)
        X, y = clusters(3, seed=9)
        client.predict("m", X, remember=True, ids=["a", "b", "c"])
        client.label("m", ["a", "b"], y[:2])
    server.stop()
    path = server.folder / "log.sqlite"
    with sqlite3.connect(path) as connection:
        # As if all but the last snapshots were 40 days old.
        connection.execute(
            "UPDATE snapshots SET time=time-40*86400 WHERE event<"
            "(SELECT max(event) FROM snapshots)"
        )
        assert connection.execute("SELECT count(*) FROM snapshots").fetchone()[0] > 2
    connection.close()
    from rpnb.serve.limits import Limits
    from rpnb.serve.upkeep import Schedule
    from rpnb.serve.writer import Writer

    writer = Writer(server.folder, Limits(), Schedule(keep_events=30 * 86400.0))
    writer.upkeep.clean()
    writer._connection.close()
    with sqlite3.connect(path) as connection:
        bases = "SELECT event FROM snapshots WHERE base=1"
        ((base,),) = connection.execute(bases).fetchall()
        first = connection.execute("SELECT min(id) FROM events").fetchone()[0]
        assert first > base > 0
        gone = "SELECT count(*) FROM rows WHERE event<=?"
        assert connection.execute(gone, (base,)).fetchone() == (0,)
    connection.close()
    with Client(start().address) as client:
        assert client.forget("m", ["a"]) == ["forgotten"]
        before = client.download("m")
        assert client.model("m")["learned"] == 4 * 80 + 1
    replayed = replayed_state(server.folder, "m")
    assert replayed is not None
    assert same_state(before, replayed)
    assert run_command("serve", server.folder, "--check").returncode == 0


def test_a_copy_is_made_while_the_service_runs(start: Start, tmp_path: Path) -> None:
    server = start()
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4)
        fill(client, "m")
        before = client.download("m")
        done = run_command("serve", server.folder, "--backup", tmp_path / "copy")
        assert done.returncode == 0, done.stderr
        fill(client, "m", seed=1)
    replayed = replayed_state(tmp_path / "copy", "m")
    assert replayed is not None
    assert same_state(replayed, before)
    twice = run_command("serve", server.folder, "--backup", tmp_path / "copy")
    assert twice.returncode == 2
    assert "exists already" in twice.stderr


def test_tables_of_another_version_are_refused(start: Start) -> None:
    server = start()
    server.stop()
    with sqlite3.connect(server.folder / "log.sqlite") as connection:
        connection.execute("PRAGMA user_version=99")
    connection.close()
    refused = run_command("serve", server.folder, "--port", "0")
    assert refused.returncode == 2
    read = f"version 99, this rpnb reads version {SCHEMA_VERSION}"
    assert read in refused.stderr


def test_two_processes_cannot_have_one_folder(start: Start) -> None:
    server = start()
    second = run_command("serve", server.folder, "--port", "0")
    assert second.returncode == 2
    assert "in use" in second.stderr


def test_a_stop_is_graceful(start: Start) -> None:
    import httpx

    server = start()
    with Client(server.address) as client:
        client.create("m", "GaussianNB", features=4)
        fill(client, "m")
        with httpx.stream("GET", server.address + "/v1/live") as live:
            lines = live.iter_lines()
            assert json.loads(next(lines)[6:])["models"][0]["name"] == "m"
            server.stop()
            # The page's stream was ended, neither waited for nor cut off.
            assert all(line == "" or line.startswith("data: ") for line in lines)
    assert server.process.returncode == 0
    assert server.lines[-1]["message"] == "stopped"
    with sqlite3.connect(server.folder / "log.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM snapshots").fetchone() == (1,)
    connection.close()
    shutil.rmtree(server.folder)
