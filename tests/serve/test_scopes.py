"""The scopes of a token hold on every route, however its path is written."""

import socket
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Self

import pytest

from rpnb.client import Client
from rpnb.serve.app import make_app
from rpnb.serve.http.guard import Guard
from rpnb.serve.http.routes import Access, Route
from rpnb.serve.limits import Limits
from rpnb.serve.metrics import Metrics
from rpnb.serve.tokens import add_token
from rpnb.serve.writer import Writer
from serve.process import ServerProcess

#: The scope that each route needs, None if nobody needs a token.
ROUTES: dict[tuple[str, str], str | None] = {
    ("POST", "/v1/models/{name}/predict"): "predict",
    ("POST", "/v1/models/{name}/explain"): "predict",
    ("POST", "/v1/models/{name}/ask"): "predict",
    ("GET", "/v1/models/{name}/ask"): "predict",
    ("POST", "/v1/models/{name}/labels"): "learn",
    ("POST", "/v1/models/{name}/observe"): "learn",
    ("POST", "/v1/models/{name}/learn"): "learn",
    ("POST", "/v1/models/{name}/forget"): "admin",
    ("GET", "/v1/models"): "predict",
    ("POST", "/v1/models"): "admin",
    ("GET", "/v1/models/{name}"): "predict",
    ("DELETE", "/v1/models/{name}"): "admin",
    ("GET", "/v1/models/{name}/file"): "admin",
    ("PUT", "/v1/models/{name}/file"): "admin",
    ("GET", "/v1/models/{name}/scores"): "predict",
    ("GET", "/v1/models/{name}/challengers"): "predict",
    ("POST", "/v1/models/{name}/challengers"): "admin",
    ("DELETE", "/v1/models/{name}/challengers/{challenger}"): "admin",
    ("POST", "/v1/models/{name}/challengers/{challenger}/promote"): "admin",
    ("POST", "/v1/models/{name}/rollback"): "admin",
    ("GET", "/v1/models/{name}/versions"): "predict",
    ("POST", "/v1/models/{name}/versions"): "admin",
    ("DELETE", "/v1/models/{name}/versions/{version}"): "admin",
    ("GET", "/v1/models/{name}/live"): "predict",
    ("GET", "/v1/live"): "predict",
    ("GET", "/v1/learners"): "predict",
    ("GET", "/healthz"): None,
    ("GET", "/readyz"): None,
    ("GET", "/metrics"): "predict",
    ("GET", "/openapi.json"): None,
    ("GET", "/"): None,
    ("GET", "/page/{file}"): None,
}
PLACES = {"name": "m", "file": "page.js", "challenger": "c", "version": "v"}
HOLDERS = (None, "wrong", "predict", "learn", "admin")
ROWS = '{"rows": [[1.0, 2.0]]}'
LABELLED = '{"rows": [[1.0, 2.0]], "labels": ["a"]}'
BODIES = {
    "predict": ROWS,
    "explain": ROWS,
    "ask": ROWS,
    "labels": '{"ids": ["kept"], "labels": ["b"]}',
    "observe": LABELLED,
    "learn": LABELLED,
    "forget": '{"ids": ["kept"]}',
    "challengers": '{"name": "new", "learner": "GaussianNB"}',
    "promote": "{}",
    "rollback": "{}",
    "versions": '{"name": "new"}',
    "models": '{"name": "new", "learner": "GaussianNB", "n_features": 1}',
    "file": "no model",
}
AFTER = (
    *("%0a", "%0d", "%0d%0a", "%0A%0A", "%00", "%09", "%0b", "%1f", "%7f", "%20"),
    *("%c2%85", "%e2%80%a8", "%ff", "%c0%af", "/", "//", "/.", "/./", "/..", "/%2e"),
    *("%2f", "%2F", "%5c", "\\", ";", ";a=b", "%3b", "%3ba=b", "?a=b", "%3f", "#a"),
    *("%23", ".json", ".", "%2e", "%", "%0", "%u000a", "%252f", "%250a", "+", "*"),
    *("/live", "/page/", "/healthz", "%0a/live", "/%0a", "\u00a0"),
)
BEFORE = (
    *("/", "//", "/.", "/%2e", "/x/..", "/x/%2e%2e", "/page/..", "/page/%2e%2e"),
    *("/;a=b", "%2f", "/%0a", "http://localhost", "http://evil.example", "*"),
)


UNPRINTABLE = ("%0a", "%0d", "%00", "%09", "%0b", "%1f", "%7f", "%c2%85")


def disguises(path: str) -> Iterator[str]:
    """Yield other spellings of a path; some are equivalent, some invalid."""
    yield path
    for each in AFTER:
        yield path + each
    for each in BEFORE:
        yield each + path
    yield path.upper()
    yield path.title()
    yield path.replace("/", "//")
    yield path.replace("/", "/./")
    yield path.replace("/", "\\")
    yield "/" + path[1:].replace("/", "%2f")
    yield "/" + path[1:].replace("/", "%5c")
    yield path.lstrip("/")
    for at in range(1, len(path)):
        if path[at].isalnum():
            yield f"{path[:at]}%{ord(path[at]):02x}{path[at + 1 :]}"
    parts = path.split("/")
    for at in range(1, len(parts)):
        for each in ("%0a", "%0d", "%00", "%2f", "%2f..", ";a=b", "%20", "/..", "."):
            yield "/".join([*parts[:at], parts[at] + each, *parts[at + 1 :]])


class Sender:
    """Sends raw requests, on one connection as long as it is open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def status(self, method: str, path: str, token: str | None, body: str) -> int:
        """Return the status of an answer, 0 if the connection was closed."""
        kind = "application/octet-stream" if method == "PUT" else "application/json"
        head = [f"{method} {path} HTTP/1.1", "host: localhost"]
        if body:
            head += [f"content-length: {len(body)}", f"content-type: {kind}"]
        if token is not None:
            head.append(f"authorization: Bearer {token}")
        request = "\r\n".join([*head, "", body]).encode()
        for _ in range(2):
            fresh = self._socket is None
            connection = self._socket or socket.create_connection(
                ("127.0.0.1", self._port), 60
            )
            self._socket = connection
            try:
                connection.sendall(request)
                answer = self._read(connection)
            except (ConnectionError, EOFError):
                answer = b""
                self.close()
            if answer or fresh:
                break
        return int(answer.split(b" ", 2)[1]) if answer else 0

    def _read(self, connection: socket.socket) -> bytes:
        """Return the head of an answer, whose content is read or given up."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more(connection)
        head, _, content = data.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((x for x in lines if x.startswith(b"content-length:")), None)
        if length is None or b"connection: close" in lines:
            self.close()
            return head
        left = int(length.partition(b":")[2]) - len(content)
        while left > 0:
            left -= len(self._more(connection))
        return head

    def _more(self, connection: socket.socket) -> bytes:
        data = connection.recv(65536)
        if not data:
            raise EOFError
        return data


def served_routes(folder: Path) -> set[tuple[str, str]]:
    writer = Writer(folder, Limits())
    app = make_app(writer, Metrics(writer))
    writer.start()
    writer.stop()
    return {(route.method, route.path) for route in app.routes}


def test_no_route_is_left_out_of_the_walk(tmp_path: Path) -> None:
    assert served_routes(tmp_path) == set(ROUTES)


class Service(ServerProcess):
    """A server with a model, and a token of each scope."""

    def __init__(self, folder: Path) -> None:
        file = folder / "tokens"
        self.tokens: dict[str | None, str | None] = {None: None, "wrong": "rpnb_wrong"}
        for scope in ("predict", "learn", "admin"):
            self.tokens[scope] = add_token(file, scope, scope)
        everything = add_token(file, "all", "predict,learn,admin")
        super().__init__(folder / "served", "--token-file", str(file))
        self.owner = Client(self.address, token=everything, timeout=300)
        self.reset()

    def reset(self) -> None:
        """Make the model as it was at the beginning."""
        for each in self.owner.models():
            self.owner.delete(each["name"])
        self.owner.create("m", "GaussianNB", features=2)
        self.owner.learn("m", [[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
        self.owner.predict("m", [[0.5, 0.5]], remember=True, ids=["kept"])
        self.owner.challenge("m", "p", "GaussianNB")
        self.owner.challenge("m", "c", "GaussianNB")
        self.owner.promote("m", "p")
        self.owner.name_version("m", "v")

    def state(self) -> dict[str, Any]:
        """Return what no request without the scope may change."""
        models = {each["name"]: each for each in self.owner.models()}
        for each in models.values():
            del each["predicted"], each["created"]
        learners = self.owner.challengers("m")
        names = {each["name"] for each in learners["challengers"]}
        more = {key: learners[key] for key in ("promotions", "versions")}
        return {**models, "challengers": names, **more}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("scopes")) as server:
        yield server
        server.owner.close()


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_disguised_path_needs_the_scope_of_its_route(
    service: Service, method: str, path: str
) -> None:
    needed = ROUTES[method, path]
    plain = path.format(**PLACES)
    body = BODIES.get(plain.rpartition("/")[2], "") if method in ("POST", "PUT") else ""
    before = service.state()
    let_in = []
    with Sender(service.port) as sender:
        for disguise, holder in product(dict.fromkeys(disguises(plain)), HOLDERS):
            if needed is None or holder == needed:
                continue
            status = sender.status(method, disguise, service.tokens[holder], body)
            # A path to another route may be open, but must change nothing.
            elsewhere = status == 200 and leads_elsewhere(disguise, holder, method)
            if not (400 <= status < 500 or status == 0 or elsewhere):
                let_in.append((disguise, holder, status))
    assert let_in == []
    assert service.state() == before


def leads_elsewhere(path: str, holder: str | None, method: str) -> bool:
    """Return whether a path is exactly that of an allowed route."""
    plain = path.partition("?")[0].partition("#")[0]
    for (verb, route), scope in ROUTES.items():
        if verb == method and scope in (None, holder):
            parts, pattern = plain.split("/"), route.split("/")
            if len(parts) == len(pattern) and all(
                a == b or (b.startswith("{") and a.isalnum())
                for a, b in zip(parts, pattern, strict=True)
            ):
                return True
    return False


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_whoever_has_the_scope_gets_an_answer_and_no_failure(
    service: Service, method: str, path: str
) -> None:
    needed = ROUTES[method, path]
    plain = path.format(**PLACES)
    body = BODIES.get(plain.rpartition("/")[2], "") if method in ("POST", "PUT") else ""
    token = service.tokens[needed]
    with Sender(service.port) as sender:
        assert sender.status(method, plain, token, body) in (200, 201, 422)
        found = {
            each: sender.status(method, each, token, body) for each in disguises(plain)
        }
    for disguise, status in found.items():
        assert status < 500, disguise
        # No redirect: its address would have to come from somewhere.
        assert not 300 <= status < 400, disguise
        if any(each in disguise.lower() for each in UNPRINTABLE):
            assert status == 400, disguise
    service.reset()


def test_the_newline_that_was_let_in(service: Service) -> None:
    reader = service.tokens["predict"]
    actions = ("learn", "observe", "labels", "forget", "file")
    with Sender(service.port) as sender:
        for action, end in product(actions, ("", "%0a")):
            method = "GET" if action == "file" else "POST"
            body = BODIES[action] if method == "POST" else ""
            path = f"/v1/models/m/{action}{end}"
            assert sender.status(method, path, reader, body) == (400 if end else 403)


def test_a_route_without_a_scope_does_not_start(tmp_path: Path) -> None:
    async def forgotten(_request: object) -> None:
        """Return nothing."""

    writer = Writer(tmp_path, Limits())
    metrics = Metrics(writer)
    app = make_app(writer, metrics)
    Guard(app, Limits(), None, metrics)
    route = Route("GET", "/v1/forgotten", forgotten)
    app = app._replace(routes=(*app.routes, route))
    with pytest.raises(TypeError, match="the route /v1/forgotten has no scope"):
        Guard(app, Limits(), None, metrics)
    forgotten.access = Access("everything")  # type: ignore[attr-defined, arg-type]
    with pytest.raises(TypeError, match="the route /v1/forgotten has no scope"):
        Guard(app, Limits(), None, metrics)
    writer.start()
    writer.stop()
