"""The tutorial, from its file to the promotion, as a reader would follow it."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from serve.process import ServerProcess, run_command

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
ADDRESS = "http://127.0.0.1:8000"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_tutorial_runs(
    start: Callable[..., ServerProcess],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = start()
    monkeypatch.chdir(tmp_path)
    printed: dict[str, str] = {}
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            code = text.replace(ADDRESS, server.address)
            exec(compile(code, "tutorial", "exec"), {})  # noqa: S102 - our own words
            continue
        for line in text.splitlines():
            program, command, *words = shlex.split(line)
            if program == "rpnb" and command != "serve":
                folder = {"machines-service": str(server.folder)}
                done = run_command(command, *(folder.get(word, word) for word in words))
                assert done.returncode == 0, done.stderr
                printed[command] = done.stdout
    assert (tmp_path / "readings.html").stat().st_size > 10_000
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 5001
    assert "Pooled" in printed["compare"]
    assert "Pooled" in printed["backtest"]
    # The pool is promoted, since the interval says that it is better.
    assert capsys.readouterr().out.splitlines()[-1] == "pool"
