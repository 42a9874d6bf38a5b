"""A stand-in for OpenML, and the folder of data files if there is one."""

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_data_folder_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RPNB_DATA", raising=False)


@pytest.fixture
def data_folder() -> Path:
    """The folder with the 32 data files, which users do not have."""
    if not SHARED.is_dir():
        pytest.skip("needs the files of the paper's datasets")
    return SHARED


Column = tuple[str, Sequence[str] | None]  # a name, and values where it is nominal


@dataclass
class Server:
    """The content of the stand-in, and the requests it got."""

    base: str = ""
    replies: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def offer(
        self, number: int, columns: Sequence[Column], rows: Sequence[Sequence[str]]
    ) -> None:
        """Serve a dataset whose last column is the target."""
        declared = [
            f"@ATTRIBUTE '{name}' " + ("NUMERIC" if v is None else f"{{{','.join(v)}}}")
            for name, v in columns
        ]
        data = [",".join(row) for row in rows]
        arff = "\n".join(["@RELATION r", *declared, "@DATA", *data, ""]).encode()
        path = f"/data/v1/download/{number}/dataset.arff"
        description = {
            "id": str(number),
            "name": f"dataset-{number}",
            "version": "1",
            "status": "active",
            "format": "ARFF",
            "description": "a stand-in",
            "url": self.base + path,
            "md5_checksum": hashlib.md5(arff, usedforsecurity=False).hexdigest(),
        }
        features = [
            {
                "index": str(j),
                "name": name,
                "data_type": "numeric" if values is None else "nominal",
                "is_target": "true" if j == len(columns) - 1 else "false",
                "is_ignore": "false",
                "is_row_identifier": "false",
                "number_of_missing_values": "0",
            }
            for j, (name, values) in enumerate(columns)
        ]
        qualities = [{"name": "NumberOfInstances", "value": str(float(len(rows)))}]
        api = "/api/v1/json/data"
        self._answer(f"{api}/{number}", {"data_set_description": description})
        self._answer(
            f"{api}/features/{number}", {"data_features": {"feature": features}}
        )
        self._answer(
            f"{api}/qualities/{number}", {"data_qualities": {"quality": qualities}}
        )
        self.replies[path] = arff

    def _answer(self, path: str, content: dict[str, Any]) -> None:
        self.replies[path] = json.dumps(content).encode()


@contextmanager
def running() -> Iterator[Server]:
    """A stand-in for OpenML on a free port of loopback: what scikit-learn asks for."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.asked.append(self.path)
            reply = server.replies.get(self.path)
            if reply is None:  # 412 is OpenML's word for an unknown number
                self.send_error(412)
                return
            self.send_response(200)
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(gzip.compress(reply, 1))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        server.base = f"http://127.0.0.1:{listener.server_port}"
        thread = threading.Thread(target=listener.serve_forever, args=(0.02,))
        thread.start()
        yield server
        listener.shutdown()
        thread.join()


@pytest.fixture
def openml_stand_in() -> Iterator[Server]:
    with running() as server:
        yield server
