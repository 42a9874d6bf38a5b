"""Access, limits, security headers, and data that clients never get."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from rpnb.client import Client, ServeError
from rpnb.serve.log import make_private_folder
from rpnb.serve.server import is_loopback
from rpnb.serve.tokens import TokenFileError, add_token, read_tokens
from serve.process import ServerProcess, run_command

Start = Callable[..., ServerProcess]


def test_what_can_be_reached_from_this_machine_only() -> None:
    for host in ("localhost", "127.0.0.1", "127.8.9.1", "::1"):
        assert is_loopback(host) is True
    for host in ("0.0.0.0", "::", "192.168.0.1", "example.org", "localhost.org", ""):  # noqa: S104
        assert is_loopback(host) is False


def test_other_machines_are_served_only_with_tokens(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "example.org"):  # noqa: S104
        done = run_command("serve", tmp_path, "--host", host, "--port", "0")
        assert done.returncode == 2
        assert "a token file is needed" in done.stderr
    empty = tmp_path / "empty"
    empty.write_text("# nobody\n")
    done = run_command("serve", tmp_path / "d", "--token-file", empty)
    assert done.returncode == 2
    assert "no tokens" in done.stderr


def test_tokens_have_scopes_and_are_stored_hashed(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    secrets = {}
    for name, scopes in (
        ("reader", "predict"),
        ("teacher", "learn,predict"),
        ("owner", "admin,learn,predict"),
    ):
        done = run_command(
            *("serve", tmp_path, "--token-file", file, "--add-token", name, scopes)
        )
        secrets[name] = done.stdout.strip()
        assert secrets[name] not in file.read_text()
    assert os.stat(file).st_mode & 0o077 == 0
    server = start("--token-file", str(file))

    def status(who: str | None, call: Callable[[Client], object]) -> int:
        token = None if who is None else secrets.get(who, who)
        with Client(server.address, token=token, retries=0) as client:
            try:
                call(client)
            except ServeError as error:
                return error.status
            return 200

    def create(client: Client) -> object:
        return client.create("m", "GaussianNB", features=1)

    def learn(client: Client) -> object:
        return client.learn("m", [[1.0]], ["a"])

    def predict(client: Client) -> object:
        return client.predict("m", [[1.0]])

    def download(client: Client) -> object:
        return client.download("m")

    assert [status(who, create) for who in (None, "wrong", "reader", "teacher")] == [
        *(401, 401, 403, 403)
    ]
    assert status("owner", create) == 200
    assert [status(who, learn) for who in (None, "reader", "teacher")] == [
        401,
        403,
        200,
    ]
    assert [status(who, predict) for who in ("wrong", "reader")] == [401, 200]
    assert [status(who, download) for who in ("teacher", "owner")] == [403, 200]
    # Routes without data of models are open: probes and the files of the page.
    for path in ("/healthz", "/readyz", "/", "/page/page.js", "/openapi.json"):
        assert httpx.get(server.address + path).status_code == 200
    for path in ("/metrics", "/v1/models", "/v1/live", "/v1/models/m/live"):
        assert httpx.get(server.address + path).status_code == 401


def test_token_files_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    secret = add_token(file, "one", "predict")
    tokens = read_tokens(file)
    found = tokens.find(secret)
    assert found is not None
    assert found.name == "one"
    assert tokens.find(secret + "x") is None
    assert tokens.find("") is None
    with pytest.raises(TokenFileError, match="already"):
        add_token(file, "one", "predict")
    with pytest.raises(TokenFileError, match="scopes must be among"):
        add_token(file, "two", "everything")
    file.write_text("one predict abc\n")
    with pytest.raises(TokenFileError, match="line 1"):
        read_tokens(file)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_only_the_owner_reads_the_files(
    start: Start, tmp_path: Path, umask: int
) -> None:
    def modes(folder: Path) -> set[int]:
        assert folder.stat().st_mode & 0o777 == 0o700
        found = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
        assert "log.sqlite" in found
        return {*found.values()}

    before = os.umask(umask)
    try:
        server = start()
        with Client(server.address) as client:
            client.create("m", "GaussianNB", features=1)
            client.learn("m", [[1.0]], ["a"])
        assert modes(server.folder) == {0o600}
        assert len([*server.folder.iterdir()]) >= 4
        copy = tmp_path / "copy"
        assert run_command("serve", server.folder, "--backup", copy).returncode == 0
        assert modes(copy) == {0o600}
        server.kill()
        # Files of an earlier version, which others could read.
        server.folder.chmod(0o755)
        for path in server.folder.iterdir():
            path.chmod(0o644)
        server = start()
        assert modes(server.folder) == {0o600}
        tokens = tmp_path / "tokens"
        add_token(tokens, "one", "predict")
        assert tokens.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


def test_a_folder_of_others_keeps_its_permissions(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_name_of_another_site_reaches_nothing(shared: ServerProcess) -> None:
    for host in ("evil.example", f"evil.example:{shared.port}"):
        answer = httpx.get(f"{shared.address}/v1/models", headers={"host": host})
        assert answer.status_code == 421
    for host in ("localhost", f"127.0.0.1:{shared.port}", f"[::1]:{shared.port}"):
        answer = httpx.get(f"{shared.address}/v1/models", headers={"host": host})
        assert answer.status_code == 200
    # A form of another site can send text/plain; it is not read.
    answer = httpx.post(
        f"{shared.address}/v1/models",
        content=b'{"name": "form", "n_features": 1}',
        headers={"content-type": "text/plain"},
    )
    assert answer.status_code == 415


def test_answers_carry_security_headers(shared: ServerProcess) -> None:
    for path in ("/", "/v1/models", "/nowhere"):
        headers = httpx.get(shared.address + path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert "server" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/index.html.bak",
        "/v1/models/..%2f..%2fetc",
        "/v1/models/%00",
    ],
)
def test_paths_lead_nowhere_else(shared: ServerProcess, path: str) -> None:
    answer = httpx.get(shared.address + path)
    assert answer.status_code == (400 if "%00" in path else 404)
    assert "Traceback" not in answer.text


def test_limits_have_clear_errors(start: Start) -> None:
    server = start("--max-bytes", "5000", "--max-in-flight", "2")
    url = f"{server.address}/v1/models"
    with Client(server.address, retries=0) as client:
        client.create("m", "GaussianNB", features=1)
        with pytest.raises(ServeError, match="max_bytes is 5000") as caught:
            client.upload("n", b"x" * 6000)
        assert caught.value.status == 413

    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 1000

    json_type = {"content-type": "application/json"}
    answer = httpx.post(url, content=endless(), headers=json_type)
    assert answer.status_code == 413


def test_too_many_classes_and_models_are_refused() -> None:
    import sqlite3

    from rpnb.serve.commands import Create, Group, Learn
    from rpnb.serve.limits import ApiError, Limits
    from rpnb.serve.log import _SCHEMA
    from rpnb.serve.specs import ModelSpec, new_learner

    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(_SCHEMA)
    limits = Limits(max_classes=2, max_models=1)
    group = Group(connection, {}, limits, {})
    spec = ModelSpec("GaussianNB", {}, 1, None, None)
    group.run(Create(name="a", spec=spec, learner=new_learner(spec)))
    with pytest.raises(ApiError, match="max_models is 1"):
        group.run(Create(name="b", spec=spec, learner=new_learner(spec)))
    group.finish()
    X = np.zeros((3, 1))
    with pytest.raises(ApiError, match="max_classes is 2"):
        group.run(Learn(name="a", X=X, labels=["x", "y", "z"], observe=False))
    # A model with the same name, created after the request was checked.
    with pytest.raises(ApiError, match="no model"):
        group.run(Learn(name="a", number=99, X=X[:1], labels=["x"], observe=False))
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (0,)
    connection.close()
