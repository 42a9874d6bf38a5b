"""The command with 200 damaged logs: undamaged models are served as before."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from rpnb.client import Client, ServeError
from rpnb.serve.log import FILE
from serve.process import ServerProcess, environment, run_command

Start = Callable[..., ServerProcess]
TOOLS = Path(__file__).parents[2] / "tools"
LOGS = 200

# One process that has everything imported: each command runs in a fork of it.
_RUN = """
import json, sys, tempfile
from pathlib import Path
from fuzzer.worker import case_of, run_case
name = "fuzzer.damaged_logs"
findings = []
for seed in range(int(sys.argv[1]), int(sys.argv[2])):
    case = case_of(name, seed)
    found = run_case(name, case)
    if found is not None:
        findings.append([case, found])
print(json.dumps(findings))
"""


@pytest.mark.parametrize("part", range(4))
def test_every_start_serves_sound_models_or_ends_with_one_line(part: int) -> None:
    size = LOGS // 4
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", _RUN, str(part * size), str((part + 1) * size)],
        capture_output=True,
        text=True,
        check=True,
        env={**environment(), "PYTHONPATH": f"{environment()['PYTHONPATH']}:{TOOLS}"},
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []


def change(folder: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(folder / FILE)
    with connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


def test_a_damaged_schema_is_one_line(start: Start) -> None:
    server = start()
    server.stop()
    connection = sqlite3.connect(server.folder / FILE)
    with connection:
        connection.execute("PRAGMA writable_schema=ON")
        damage = "UPDATE sqlite_master SET sql=? WHERE name='rows'"
        connection.execute(damage, ('CREATE TABLE rows(\n"\n)',))
    connection.close()
    done = run_command("serve", server.folder)
    assert done.returncode == 2
    assert "malformed database schema" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert run_command("serve", server.folder, "--check").returncode == 1


def test_damage_of_each_table_is_found(start: Start) -> None:
    rows = [[0.0, 1.0], [2.0, 3.0]]
    server = start()
    with Client(server.address, retries=0) as client:
        for name in ("m1", "m2", "m3", "m4"):
            client.create(name, "GaussianNB", features=2)
            client.learn(name, rows, ["a", "b"])
            client.predict(name, rows, remember=True, ids=["r0", "r1"])
            client.learn(name, rows, ["b", "a"], key="k")
    server.stop()
    folder = server.folder
    # Invalid UTF-8 in the figures of a snapshot: the log is replayed instead.
    text = "UPDATE snapshots SET scores=CAST(x'7bff' AS TEXT) WHERE model=1"
    change(folder, text)
    change(folder, "UPDATE rows SET x=x'00' WHERE model=2 AND id='r0'")
    change(folder, "UPDATE models SET spec=replace(spec, '2', '3') WHERE id=3")
    change(folder, "UPDATE events SET model=1 WHERE model=4")
    change(folder, "UPDATE keys SET answer='{' WHERE model=2")
    done = run_command("serve", folder, "--check")
    assert done.returncode == 1
    assert done.stderr == ""
    for words in (
        "model m1: event",
        "model m2: 1 rows that wait are damaged",
        "model 3 is damaged: its checksum does not match",
    ):
        assert f"DAMAGED {words}" in done.stdout
    with Client(start().address, retries=0) as client:
        health = client.health()
        assert health["status"] == "failing"
        assert any("model 3 is damaged" in note for note in health["notes"])
        assert any("snapshot of model m1" in note for note in health["notes"])
        assert set(health["degraded_models"]) == {"m1"}
        # A row that is damaged is not learned as something else.
        assert client.label("m2", ["r0", "r1"], ["a", "a"]).results == [
            "unknown",
            "learned",
        ]
        with pytest.raises(ServeError, match="damaged"):
            client.predict("m2", rows, remember=True, ids=["r0", "r5"])
        with pytest.raises(ServeError, match="damaged"):
            client.learn("m2", rows, ["b", "a"], key="k")
        # The name of a damaged model is still taken.
        with pytest.raises(ServeError, match="already"):
            client.create("m3", "GaussianNB", features=2)
        assert len(client.predict("m4", rows).labels) == 2
        url = str(client._http.base_url)
        assert httpx.get(f"{url}/v1/models/m3").status_code == 404


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" * 300])
def test_files_that_are_no_log(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    for words in (["--check"], ["--check", "--set-aside"], ["--put-back", "1"]):
        done = run_command("serve", tmp_path, *words)
        assert done.returncode in (0, 1, 2)
        assert len(done.stderr.splitlines()) == (done.returncode == 2)
        assert "Traceback" not in done.stdout
