"""Options of `rpnb serve`, without a server."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from rpnb.cli import main
from rpnb.cli.serve import _options, declare
from rpnb.serve.limits import Limits
from rpnb.serve.upkeep import Schedule

DAY = 86400.0


def options(*words: str) -> Any:
    parser = argparse.ArgumentParser()
    declare(parser)
    return _options(parser.parse_args(words))


def test_without_options_all_is_as_by_default() -> None:
    found = options("folder")
    assert found.folder == Path("folder")
    assert (found.host, found.port) == ("127.0.0.1", 8000)
    assert found.tokens is None
    assert found.limits == Limits()
    assert found.schedule == Schedule()
    assert found.log_requests is False


def test_days_are_seconds_and_limits_are_set_one_by_one() -> None:
    limits = ["--max-waiting", "7", "--max-bytes", "8", "--max-in-flight", "9"]
    limits += ["--max-memory", "5", "--max-state", "6"]
    times = ("--max-age", "2", "--keep-log", "3", "--snapshot-rows", "11")
    where = ("--host", "::1", "--port", "0", "--log-requests")
    found = options("f", *limits, *times, *where)
    assert found.limits == Limits(
        max_waiting=7,
        max_bytes=8,
        max_in_flight=9,
        max_age=2 * DAY,
        max_memory=5 * 2**20,
        max_state=6,
    )
    assert found.schedule == Schedule(snapshot_rows=11, keep_events=3 * DAY)
    assert (found.host, found.port, found.log_requests) == ("::1", 0, True)


def test_a_token_needs_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path)
    assert main(["serve", folder, "--add-token", "me", "predict,learn"]) == 2
    assert "--add-token needs --token-file" in capsys.readouterr().err
    tokens = tmp_path / "tokens"
    words = ["--add-token", "me", "predict,learn", "--token-file", str(tokens)]
    assert main(["serve", folder, *words]) == 0
    token = capsys.readouterr().out.strip()
    assert len(token) > 20
    assert token not in tokens.read_text()
    assert options(folder, "--token-file", str(tokens)).tokens is not None
