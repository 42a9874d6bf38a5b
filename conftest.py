"""Examples of the documentation run in a folder of their own; workers take turns."""

import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher

try:
    import fcntl
except ImportError:  # Windows, where workers may compile the same kernel twice
    fcntl = None  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def _own_folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)


def pytest_configure(config: pytest.Config) -> None:
    """Let one worker of pytest-xdist compile or load kernels at a time.

    Otherwise workers that start with nothing compile the same kernels side by side;
    so the second finds on the disk what the first has compiled.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or fcntl is None:
        return
    path = Path(tempfile.gettempdir(), f"rpnb-tests-{worker['testrunuid']}.lock")
    file = path.open("w")
    config.add_cleanup(lambda: path.unlink(missing_ok=True))
    config.add_cleanup(file.close)
    compile_one = Dispatcher.compile
    turn = threading.RLock()
    depth = 0

    def compile_in_turn(dispatcher: Any, signature: Any) -> Any:
        nonlocal depth
        with turn:
            if depth == 0:
                fcntl.flock(file, fcntl.LOCK_EX)
            depth += 1
            try:
                return compile_one(dispatcher, signature)
            finally:
                depth -= 1
                if depth == 0:
                    fcntl.flock(file, fcntl.LOCK_UN)

    kernel_class: Any = Dispatcher
    kernel_class.compile = compile_in_turn
