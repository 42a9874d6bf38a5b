"""With a full disk or a locked database, reads continue and nothing is lost."""

import resource
import sqlite3
import threading
from collections.abc import Callable

import httpx
import pytest

from rpnb.client import Client, ServeError
from rpnb.serve.restoring import same_state
from serve.process import ServerProcess, wait_until
from serve.replays import replayed_state
from serve.streams import clusters

Start = Callable[..., ServerProcess]
X, Y = clusters(400)


def fails_with(client: Client, words: str) -> None:
    with pytest.raises(ServeError, match=words) as caught:
        client.learn("m", X, Y)
    assert caught.value.status == 503
    assert words in client.health()["writes"]
    assert httpx.get(str(client._http.base_url) + "/readyz").status_code == 503
    # Reads continue.
    assert len(client.predict("m", X[:3]).labels) == 3
    assert client.model("m")["learned"] == 400


def recovers(client: Client, server: ServerProcess) -> None:
    wait_until(lambda: client.health()["writes"] == "ok")
    assert client.health()["status"] == "ok"
    client.learn("m", X, Y)
    assert client.model("m")["learned"] == 800
    state = client.download("m")
    server.kill()
    replayed = replayed_state(server.folder, "m")
    assert replayed is not None
    assert same_state(state, replayed)


def test_a_full_disk(start: Start) -> None:
    server = start()
    with Client(server.address, retries=0) as client:
        client.create("m", "GaussianNB", features=4)
        client.learn("m", X, Y)
        # No file of the process may grow, like on a full disk.
        largest = max(each.stat().st_size for each in server.folder.iterdir())
        pid = server.process.pid
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
        fails_with(client, "the log cannot be written")
        infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, infinite)
        recovers(client, server)


def test_a_locked_database(start: Start) -> None:
    server = start()
    with Client(server.address, retries=0) as client:
        client.create("m", "GaussianNB", features=4)
        client.learn("m", X, Y)
        other = sqlite3.connect(server.folder / "log.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        fails_with(client, "database is locked")
        other.execute("ROLLBACK")
        other.close()
        recovers(client, server)


def test_a_client_waits_for_the_log_to_be_writable_again(start: Start) -> None:
    server = start()
    with Client(server.address, retries=8) as client:
        client.create("m", "GaussianNB", features=4)
        other = sqlite3.connect(
            server.folder / "log.sqlite", isolation_level=None, check_same_thread=False
        )
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(3.0, other.execute, ["ROLLBACK"])
        timer.start()
        assert client.learn("m", X, Y) == 400
        timer.join()
        other.close()
        assert client.model("m")["learned"] == 400
