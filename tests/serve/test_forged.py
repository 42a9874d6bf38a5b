"""Cross-site requests are refused: content types, origins, hosts."""

import re
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from rpnb.client import Client
from serve.process import ServerProcess, wait_until

JSON = "content-type: application/json"
CREATE = '{"name": "forged", "learner": "GaussianNB", "n_features": 1}'


def ask(
    server: ServerProcess,
    line: str,
    *headers: str,
    body: str = "",
    version: str = "1.1",
) -> tuple[int, str]:
    """Send raw bytes as a request; return the status and the whole response."""
    head = [f"{line} HTTP/{version}", *headers, "connection: close"]
    if body:
        head.append(f"content-length: {len(body)}")
    with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
        connection.sendall("\r\n".join([*head, "", body]).encode())
        answer = b""
        while data := connection.recv(65536):
            answer += data
    status = answer.split(b" ", 2)[1]
    return int(status), answer.decode()


@pytest.fixture(scope="module")
def served(shared: ServerProcess) -> Iterator[ServerProcess]:
    """Return a server whose model must not change."""
    with Client(shared.address, timeout=300) as client:
        client.create("target", "GaussianNB", features=1)
        client.learn("target", [[0.0], [1.0]], ["a", "b"])
        client.predict("target", [[0.5]], remember=True, ids=["kept"])
        before = client.model("target")
        yield shared
        after = client.model("target")
        assert {**after, "predicted": 0} == {**before, "predicted": 0}
        assert "forged" not in {each["name"] for each in client.models()}


@pytest.mark.parametrize(
    "kind",
    [
        None,
        "",
        "text/plain",
        "text/plain;charset=UTF-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "text/plain; application/json",
        "application/jsonx",
        "application/json, text/plain",
    ],
)
def test_a_write_needs_a_known_content_type(
    served: ServerProcess, kind: str | None
) -> None:
    headers = ["host: localhost"] + ([] if kind is None else [f"content-type: {kind}"])
    labelled = '{"rows": [[1.0]], "labels": ["a"]}'
    for path, body in (
        ("", CREATE),
        ("/target/learn", labelled),
        ("/target/observe", labelled),
        ("/target/labels", '{"ids": ["kept"], "labels": ["a"]}'),
        ("/target/forget", '{"ids": ["kept"]}'),
        ("/target/predict?remember=true", '{"rows": [[1.0]]}'),
        ("/target/explain", '{"rows": [[1.0]]}'),
    ):
        line = f"POST /v1/models{path}"
        assert ask(served, line, *headers, body=body)[0] == 415, path
        assert ask(served, line, *headers)[0] == 415, path
    if kind != "application/octet-stream":
        line = "PUT /v1/models/forged/file"
        assert ask(served, line, *headers, body="x")[0] == 415
    two = [JSON, "content-type: text/plain"]
    for both in (two, two[::-1], [JSON, JSON]):
        line = "POST /v1/models"
        assert ask(served, line, "host: localhost", *both, body=CREATE)[0] == 400


def test_content_types_that_are_known(served: ServerProcess) -> None:
    for kind in ("application/json", "Application/JSON; charset=utf-8"):
        headers = ["host: localhost", f"content-type: {kind}"]
        line = "POST /v1/models/target/predict"
        assert ask(served, line, *headers, body='{"rows": [[1.0]]}')[0] == 200
    headers = ["host: localhost", "content-type: application/x-ndjson"]
    assert ask(served, line, *headers, body='{"row": [1.0]}\n')[0] == 200


@pytest.mark.parametrize(
    "header",
    [
        "origin: http://evil.example",
        "origin: https://evil.example",
        "origin: null",
        "origin: http://localhost.evil.example",
        "origin: http://localhost:1",
        "origin: http://localhost@evil.example",
        "origin: file://",
        "origin:",
        "origin: http://localhost/path",
        "sec-fetch-site: cross-site",
        "sec-fetch-site: same-site",
        "sec-fetch-site: Cross-Site",
        "sec-fetch-site: unknown",
    ],
)
def test_requests_of_other_origins_are_refused(
    served: ServerProcess, header: str
) -> None:
    host = f"host: localhost:{served.port}"
    status, answer = ask(served, "POST /v1/models", host, JSON, header, body=CREATE)
    assert status == 403
    assert '"origin"' in answer
    for line in (
        "GET /v1/models",
        "GET /v1/models/target",
        "GET /healthz",
        "DELETE /v1/models/target",
        "POST /v1/models/target/forget",
        "OPTIONS /v1/models",
    ):
        assert ask(served, line, host, JSON, header)[0] in (403, 405), line
        assert "access-control" not in answer.lower()


def test_requests_of_the_same_origin_and_of_no_page(served: ServerProcess) -> None:
    line, body = "POST /v1/models/target/predict", '{"rows": [[1.0]]}'
    port = served.port
    for host, *more in (
        (f"localhost:{port}", f"origin: http://localhost:{port}"),
        (f"LOCALHOST:{port}", f"Origin: http://localhost:{port}"),
        (f"127.0.0.1:{port}", f"origin: http://127.0.0.1:{port}"),
        (f"[::1]:{port}", f"origin: http://[::1]:{port}"),
        ("localhost", "origin: http://localhost"),
        ("localhost:80", "origin: http://localhost"),
        ("localhost", "sec-fetch-site: same-origin"),
        ("localhost", "sec-fetch-site: none"),
        ("localhost",),
    ):
        assert ask(served, line, f"host: {host}", JSON, *more, body=body)[0] == 200
    # A link on another site may open the page, but nothing that needs a token.
    link = ["sec-fetch-site: cross-site", "sec-fetch-mode: navigate"]
    link += ["sec-fetch-dest: document", "host: localhost"]
    assert ask(served, "GET /", *link)[0] == 200
    assert ask(served, "GET /v1/models", *link)[0] == 403
    frame = [each.replace("document", "iframe") for each in link]
    assert ask(served, "GET /", *frame)[0] == 403


@pytest.mark.parametrize(
    "host",
    [
        "localhost:x@evil",
        "localhost:80@evil",
        "localhost:x",
        "localhost:",
        "localhost:123456",
        "localhost:99999",
        "localhost:-1",
        "localhost:8 0",
        "localhost/",
        "localhost?",
        "localhost#",
        "user@localhost",
        "localhost, evil.example",
        "[::1",
        "[::1]x",
        "[::1]:x",
        "[localhost]",
        "::1",
        "",
        "local host",
        "localhost\\@evil",
        "\u006cocalhost\u00e9",
    ],
)
def test_malformed_hosts_are_refused(served: ServerProcess, host: str) -> None:
    for path in ("/v1/models", "/healthz", "/", "/v1/models/"):
        status, answer = ask(served, f"GET {path}", f"host: {host}")
        assert status == 400, path
        assert "evil" not in answer


def test_other_hosts_and_two_hosts_are_refused(served: ServerProcess) -> None:
    for host in (
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "10.0.0.1",
    ):
        status, answer = ask(served, "GET /v1/models", f"host: {host}")
        assert status == 421
        assert host not in answer
    good, evil = "host: localhost", "host: evil.example"
    for two in ((good, evil), (evil, good), (good, good)):
        assert ask(served, "GET /v1/models", *two)[0] == 400
    assert ask(served, "GET /v1/models")[0] == 400
    assert ask(served, "GET /v1/models", version="1.0")[0] == 400
    assert ask(served, "GET http://evil.example/v1/models", good)[0] in (200, 400)


def test_other_headers_that_are_sent_twice(served: ServerProcess) -> None:
    line, body = "POST /v1/models/target/predict", '{"rows": [[1.0]]}'
    for name, values in (
        ("authorization", ("Bearer a", "Bearer b")),
        ("origin", ("http://localhost", "http://evil.example")),
        ("sec-fetch-site", ("same-origin", "cross-site")),
        ("idempotency-key", ("a", "b")),
        ("content-encoding", ("identity", "gzip")),
    ):
        twice = [f"{name}: {value}" for value in values]
        assert ask(served, line, "host: localhost", JSON, *twice, body=body)[0] == 400


def test_no_answer_is_a_redirect(served: ServerProcess) -> None:
    for path in ("/v1/models/", "/healthz/", "//evil.example/", "/page", "/v1"):
        status, answer = ask(served, f"GET {path}", "host: localhost")
        assert status in (400, 404), path
        assert "location:" not in answer.lower()


# In a real browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
ATTACK = """async (address) => {
  const learn = '{"rows": [[9.0]], "labels": ["b"]}';
  const bodies = (text) => [
    text, new Blob([text]), new Blob([text], {type: "text/plain"}),
    new Blob([text], {type: "application/json"}),
    new Blob([text], {type: "application/octet-stream"}),
    new TextEncoder().encode(text), new URLSearchParams(text),
  ];
  const targets = [
    ["/v1/models", '{"name": "forged", "learner": "GaussianNB", "n_features": 1}'],
    ["/v1/models/target/learn", learn], ["/v1/models/target/observe", learn],
    ["/v1/models/target/labels", '{"ids": ["kept"], "labels": ["b"]}'],
    ["/v1/models/target/forget", '{"ids": ["kept"]}'],
    ["/v1/models/target/predict?remember=true", '{"rows": [[9.0]]}'],
  ];
  const found = {sent: 0, beacons: 0, read: 0, refused: 0};
  for (const [path, text] of targets) {
    for (const body of bodies(text)) {
      for (const mode of ["no-cors", "cors"]) {
        try {
          const answer = await fetch(address + path, {method: "POST", mode, body});
          found.sent += 1;
          if (answer.type !== "opaque") found.read += 1;
        } catch { found.refused += 1; }
      }
      try { if (navigator.sendBeacon(address + path, body)) found.beacons += 1; }
      catch { found.refused += 1; }
    }
    const form = document.createElement("form");
    form.method = "POST"; form.enctype = "text/plain"; form.target = "frame";
    form.action = address + path;
    const field = document.createElement("input");
    field.name = text.slice(0, -1) + ', "x": "'; field.value = '"}';
    form.append(field); document.body.append(form); form.submit();
  }
  for (const [method, path] of [
    ["DELETE", "/v1/models/target"], ["PUT", "/v1/models/forged/file"],
    ["GET", "/v1/models"], ["GET", "/v1/models/target/file"], ["GET", "/healthz"],
  ]) {
    try {
      const answer = await fetch(address + path, {method});
      found.read += 1;
    } catch { found.refused += 1; }
  }
  return found;
}"""


class _OtherSite(BaseHTTPRequestHandler):
    """A page of another origin."""

    def do_GET(self) -> None:
        content = b"<!doctype html><title>evil</title><iframe name=frame></iframe>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("site", ["127.0.0.1", "localhost"])
def test_pages_of_other_origins_in_a_browser(served: ServerProcess, site: str) -> None:
    """Return two foreign origins: another port (same site), and another site."""
    sync_api = pytest.importorskip("playwright.sync_api")
    other = ThreadingHTTPServer(("127.0.0.1", 0), _OtherSite)
    thread = threading.Thread(target=other.serve_forever)
    thread.start()
    try:
        with Client(served.address) as client, sync_api.sync_playwright() as playwright:
            before, refused = client.models(), answered(served)
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page()
            page.goto(f"http://{site}:{other.server_port}/")
            found = page.evaluate(ATTACK, served.address)
            # The browser may still be sending. Five of seven bodies are sent without a
            # question before, by fetch in two modes and by a beacon.
            wait_until(lambda: sum_of_refused(served, refused) >= 6 * 5 * 3)
            browser.close()
            assert client.models() == before
    finally:
        other.shutdown()
        thread.join()
        other.server_close()
    # The browser did send them: it was the service that refused.
    assert found["beacons"] >= 6 * 5
    assert found["read"] == 0
    assert set(answered(served) - refused) <= {403, 405, 415}


def sum_of_refused(server: ServerProcess, before: Counter[int]) -> int:
    new = answered(server) - before
    return new[403] + new[415]


def answered(server: ServerProcess) -> Counter[int]:
    """Return the number of answered requests from pages, by status."""
    found: Counter[int] = Counter()
    text = httpx.get(f"{server.address}/metrics").text
    for method, status, n in re.findall(
        r'^rpnb_requests_total{method="(\w+)",.*status="(\d+)"} (\d+)',
        text,
        re.MULTILINE,
    ):
        if method in ("POST", "OPTIONS"):
            found[int(status)] += int(n)
    return found
