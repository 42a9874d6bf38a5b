"""The examples of the guide run against a real server."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serve.process import ServerProcess

GUIDES = Path(__file__).parents[2] / "docs" / "how-to"
GUIDE = GUIDES / "serve.md"
ADDRESS = "http://127.0.0.1:8000"
BLOCK = re.compile(r"^```(sh|python|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_guide_runs(start: Callable[..., ServerProcess]) -> None:
    server = start()
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    answers: list[object] = []
    for kind, text in blocks:
        code = text.replace(ADDRESS, server.address)
        if kind == "python":
            exec(compile(code, "guide", "exec"), {})  # noqa: S102 - our own words
        elif kind == "json":
            # The guide shows the answer of the command before it.
            shown = json.loads(code)
            assert answers[-1] == shown
        for line in code.replace("\\\n", "").splitlines() if kind == "sh" else ():
            words = shlex.split(line)
            if words[0] == "curl":
                done = subprocess.run(  # noqa: S603 - our own words
                    words, capture_output=True, text=True, check=True
                )
                answers.append(json.loads(done.stdout))
    assert len(answers) == 3


def test_the_example_of_asking_runs(start: Callable[..., ServerProcess]) -> None:
    server = start()
    text = (GUIDES / "asking.md").read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    (code,) = [code for kind, code in blocks if "import Client" in code]
    names: dict[str, Any] = {}
    code = code.replace(ADDRESS, server.address)
    exec(compile(code, "guide", "exec"), names)  # noqa: S102 - our own words
    # Both rows are among the first ten, which are always chosen.
    assert len(names["wanted"]) == 2
    assert names["known"]["ids"] == []
    assert names["known"]["labels"] == 2
