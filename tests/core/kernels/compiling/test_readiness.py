"""Whether kernels are compiled, and what is said while they are."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from rpnb.core.kernels.compiling import readiness as module
from rpnb.core.kernels.compiling.readiness import (
    MESSAGE,
    CompilingListener,
    compiling_seconds,
    readiness,
    say_while_compiling,
)


class Files:
    def __init__(self, index: dict[str, str]) -> None:
        self._index = index

    def _load_index(self) -> dict[str, str]:
        return self._index


class Kernel:
    """A kernel as Numba holds it: signatures in the process, files on disk."""

    def __init__(self, signatures: list[str], files: Files | None) -> None:
        self.signatures = signatures
        self._cache: Any = type("Cache", (), {})()
        if files is not None:
            self._cache._cache_file = files


def test_a_kernel_is_ready_on_disk_or_to_be_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert readiness(len) == "ready"  # plain Python needs no compiling
    monkeypatch.setattr(module, "is_jitted", lambda _: True)
    assert readiness(Kernel(["f8"], Files({}))) == "ready"
    assert readiness(Kernel([], Files({"f8": "file"}))) == "on disk"
    assert readiness(Kernel([], Files({}))) == "to be compiled"
    assert readiness(Kernel([], None)) == "to be compiled"  # nowhere to write to


@pytest.mark.parametrize("wanted", [True, False, None])
def test_a_line_is_written_once_while_compiling_takes_long(
    wanted: bool | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.02)
    listener = CompilingListener()
    listener.wanted = wanted
    for _ in range(2):
        listener.on_start(None)
        listener.on_start(None)  # a kernel that the first one calls
        time.sleep(0.2)
        listener.on_end(None)
        listener.on_end(None)
    listener.say()
    # Without a wish it depends on the terminal, and here is none.
    assert capsys.readouterr().err == (MESSAGE if wanted else "")
    assert 0.3 < listener.seconds < 30.0


def test_seconds_are_those_from_the_first_start_to_the_last_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([10.0, 13.0, 20.0, 21.0])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    listener = CompilingListener()
    listener.on_start(None)
    listener.on_start(None)  # a kernel that the first one calls
    listener.on_end(None)
    assert listener.seconds == 0.0
    listener.on_end(None)
    assert listener.seconds == 3.0
    listener.on_start(None)
    listener.on_end(None)
    assert listener.seconds == 4.0


def test_short_compiling_is_not_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    listener = CompilingListener()
    listener.wanted = True
    listener.on_start(None)
    waiting = listener._timer
    listener.on_end(None)
    assert waiting is not None
    waiting.join(0.5)  # before the second is over
    assert not waiting.is_alive()
    assert listener._timer is None
    assert capsys.readouterr().err == ""
    listener.say()
    listener.on_start(None)  # nothing is left to be said
    assert listener._timer is None
    listener.on_end(None)


def test_the_process_has_one_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_listener", CompilingListener())
    say_while_compiling(True)
    assert module._listener.wanted is True
    assert compiling_seconds() == 0.0
