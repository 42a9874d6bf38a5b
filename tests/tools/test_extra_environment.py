"""Environments of extras are created once, and commands skipped if they cannot be."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from extra_environment import main, make, wanted


def test_the_requirements_are_those_of_the_extra() -> None:
    assert any(each.startswith("pyspark") for each in wanted("spark"))
    with pytest.raises(KeyError):
        wanted("nothing")


def test_nothing_is_run_without_java(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["spark", str(tmp_path / "env"), "-c", "raise SystemExit(1)"]) == 0
    assert "needs Java" in capsys.readouterr().out
    assert not (tmp_path / "env").exists()


def test_it_is_made_once_sees_what_is_here_and_says_if_it_cannot_be_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "env"
    installed: list[Any] = []
    answers = [(1, "ERROR: No matching distribution found for x"), (0, "")]
    run = subprocess.run

    def answer(words: Any, **more: Any) -> Any:
        if "pip" not in words:
            return run(words, **more)
        installed.append(words)
        code, text = answers[len(installed) - 1]
        return subprocess.CompletedProcess(words, code, "", text)

    monkeypatch.setattr("subprocess.run", answer)
    assert "no registry is reachable" in str(make(folder, ["x"]))
    assert make(folder, ["x"]) is None
    assert make(folder, ["x"]) is None
    assert len(installed) == 2
    seen = run([folder / "bin" / "python", "-c", "import numpy"], check=False)
    assert seen.returncode == 0
