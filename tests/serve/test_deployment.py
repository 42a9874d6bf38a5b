"""The folder `deploy` and the Dockerfile, tested without a container engine."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from rpnb.client import Client
from serve.process import ServerProcess, command_line, environment, run_command

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
NOBODY = 65534


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the metrics of a service with a model and a topic."""
    pytest.importorskip("confluent_kafka")
    topic = ("--kafka", "127.0.0.1:1", "--kafka-topic", "rows=deployed")
    folder = tmp_path_factory.mktemp("deployed")
    with ServerProcess(folder, *topic) as server:
        with Client(server.address) as client:
            client.create("deployed", features=1)
            client.observe("deployed", [[0.0], [1.0]], ["a", "b"])
        text = httpx.get(f"{server.address}/metrics").text
    # Samples, and figures that have none yet.
    return set(re.findall(r"^(?:# TYPE )?(rpnb_\w+)", text, re.MULTILINE))


def expressions() -> Iterator[tuple[str, str]]:
    """Yield all expressions of the dashboard and the alert rules, with their titles."""
    board = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in board["templating"]["list"]:
        yield variable["name"], variable["definition"]
    for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


def test_dashboard_and_alerts_use_figures_that_are_exported(
    exported: set[str],
) -> None:
    used = set()
    for what, expression in expressions():
        names = set(re.findall(r"rpnb_\w+", expression))
        assert names <= exported, what
        assert expression.count("(") == expression.count(")"), what
        used |= names
    # What is exported and nobody looks at are the sums of a histogram and counters of
    # single steps.
    assert len(used) > 15


def test_what_is_known_before_labels_come_is_shown_and_watched(
    exported: set[str],
) -> None:
    board = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())
    shown = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"rpnb_\w+", target["expr"])
    }
    early = {name for name in exported if name.startswith("rpnb_model_waiting_")}
    early |= {"rpnb_model_input_moved", "rpnb_model_predicted_moved"}
    early |= {"rpnb_model_mix_share"}
    assert early <= shown
    alerts = " ".join(each for what, each in expressions() if what.startswith("Rpnb"))
    for figure in ("low", "outside", "alarms"):
        assert f"rpnb_model_waiting_{figure}" in alerts


def test_the_dashboard_is_whole() -> None:
    board = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())
    panels: list[dict[str, Any]] = board["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    places: set[tuple[int, int]] = set()
    for each in panels:
        box = each["gridPos"]
        assert box["x"] + box["w"] <= 24
        cells = {
            (x, y)
            for x in range(box["x"], box["x"] + box["w"])
            for y in range(box["y"], box["y"] + box["h"])
        }
        assert not cells & places, each["title"]
        places |= cells
        assert each["datasource"]["uid"] == "prometheus"
    sources = yaml.safe_load((DEPLOY / "grafana" / "datasource.yaml").read_text())
    assert sources["datasources"][0]["uid"] == "prometheus"


def test_every_file_that_compose_mounts_is_there() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        for mount in service.get("volumes", ()):
            source, target = mount.split(":")[:2]
            if source.startswith("."):
                assert (DEPLOY / source).is_file(), (name, mount)
            else:
                assert source in compose["volumes"], (name, mount)
            assert target.startswith("/")
        for secret in service.get("secrets", ()):
            assert secret in compose["secrets"]
    rpnb = compose["services"]["rpnb"]
    assert rpnb["read_only"]
    assert rpnb["cap_drop"] == ["ALL"]
    assert "ports" not in rpnb  # reached by the proxy alone
    scrape = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    path = scrape[0]["authorization"]["credentials_file"]
    assert path.rpartition("/")[2] in compose["services"]["prometheus"]["secrets"]
    assert scrape[0]["static_configs"][0]["targets"] == ["rpnb:8000"]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    for source in " ".join(copied).split():
        assert (ROOT / source).exists()
        assert f"!{source}" in allowed


def entry_point(folder: Path) -> list[str]:
    """Return the entry point of the image, with another folder as /data."""
    (found,) = re.findall(r"^ENTRYPOINT (\[.*\])$", DOCKERFILE, re.MULTILINE)
    words: list[str] = json.loads(found)
    return [word.replace("/data", str(folder)) for word in words[1:]]


def health_check(port: int) -> str:
    """Return the program of the image's health check, for another port."""
    (found,) = re.findall(r"^  CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    program: str = json.loads(found)[2]
    return program.replace("8000", str(port))


@pytest.mark.skipif(
    sys.platform != "linux" or os.name != "posix" or os.geteuid() != 0,
    reason="needs the rights to become another user",
)
def test_it_runs_as_another_user_on_a_read_only_root(tmp_path: Path) -> None:
    """Run as in the image: one writable folder, no capabilities, no home, a tmpfs."""
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        pytest.skip("needs unshare and setpriv of util-linux")
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, NOBODY, NOBODY)
    # Python itself may be in a folder of root, unlike in an image.
    rights = "-all,+dac_read_search"
    user = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs"
    user += f" --inh-caps={rights} --ambient-caps={rights}"
    words = command_line(*entry_point(Path("/mnt")), "--port", "0")
    # These sources, and Python, may themselves be below /tmp.
    covered = any(Path(each).is_relative_to("/tmp") for each in (ROOT, sys.prefix))  # noqa: S108
    temporary = "/run" if covered else "/tmp"  # noqa: S108
    script = (
        f"mount --bind {shlex.quote(str(data))} /mnt "
        f"&& mount -t tmpfs none {temporary} "
        "&& mount -o remount,bind,ro / && ! touch /here 2>/dev/null && exec "
    )
    private = ["unshare", "--mount", "sh", "-c"]
    variables = {**environment(), "HOME": "/nonexistent", "TMPDIR": temporary}
    if subprocess.run([*private, script + "true"], check=False).returncode:  # noqa: S603
        pytest.skip("private mounts are not allowed here")
    add = shlex.join([*words, "--add-token", "me", "predict,learn,admin"])
    made = subprocess.run(  # noqa: S603
        [*private, f"{script}{user} {add}"],
        capture_output=True,
        text=True,
        check=True,
        env=variables,
    )
    token = made.stdout.strip()
    process = subprocess.Popen(  # noqa: S603
        [*private, f"{script}{user} {shlex.join(words)}"],
        stderr=subprocess.PIPE,
        text=True,
        env=variables,
    )
    assert process.stderr is not None
    try:
        text = ""
        for line in process.stderr:
            text += line
            if '"listening"' in line:
                break
        else:
            pytest.fail(text)
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        port = int(json.loads(text.splitlines()[-1])["address"].rpartition(":")[2])
        with Client(f"http://127.0.0.1:{port}", token=token) as client:
            client.create("flowers", features=2, random_state=0)
            client.learn("flowers", [[0.0, 1.0], [1.0, 0.0]] * 20, ["a", "b"] * 20)
            assert client.predict("flowers", [[0.0, 1.0]]).labels == ["a"]
            assert client.download("flowers")  # by way of a temporary file
        probe = [sys.executable, "-c", health_check(port)]
        assert subprocess.run(probe, check=False).returncode == 0  # noqa: S603
    finally:
        process.terminate()
        assert process.wait(60) == 0
    reader.join()
    process.stderr.close()
    assert {path.stat().st_uid for path in data.rglob("*")} == {NOBODY}
    assert run_command("serve", data / "log", "--check").returncode == 0
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=4)
