"""Whether a kernel is compiled or on disk; a line while kernels are compiled."""

import sys
import threading
import time
from typing import Any, Final, Literal, TypeAlias

from numba.core import event
from numba.extending import is_jitted

Readiness: TypeAlias = Literal["ready", "on disk", "to be compiled"]

#: Said once per process, if compiling takes more than a second.
MESSAGE: Final = (
    "rpnb: compiling for this machine; the code is kept, so this happens once\n"
)
_PATIENCE: Final = 1.0


def is_ready(kernel: Any) -> bool:
    """Whether a kernel can be called at once.

    A kernel that is compiled for some types is taken to be so for all.
    """
    return not is_jitted(kernel) or bool(kernel.signatures)


def readiness(kernel: Any) -> Readiness:
    """Return whether a kernel can be called at once, must be read, or be compiled.

    A kernel that is on disk for some types is taken to be so for all.
    """
    if is_ready(kernel):
        return "ready"
    files = getattr(kernel._cache, "_cache_file", None)
    if files is not None and files._load_index():
        return "on disk"
    return "to be compiled"


class CompilingListener(event.Listener):
    """Adds up the time of compiling; writes a line when it takes more than a second.

    The line goes to the standard error, once: where that is a terminal, or where a
    command asks for it. Kernels of other packages count too.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.wanted: bool | None = None
        self._lock = threading.Lock()
        self._depth = 0
        self._start = 0.0
        self._timer: threading.Timer | None = None
        self._said = False

    def on_start(self, event: Any) -> None:
        """Note that a kernel is being compiled; those inside it are part of it."""
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            self._start = time.monotonic()
            if not self._said:
                left = max(_PATIENCE - self.seconds, 0.0)
                self._timer = threading.Timer(left, self.say)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: Any) -> None:
        """Note that it is compiled."""
        with self._lock:
            self._depth -= 1
            if self._depth > 0:
                return
            self.seconds += time.monotonic() - self._start
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def say(self) -> None:
        """Write the line, unless it has been written."""
        with self._lock:
            if self._said:
                return
            self._said = True
        wanted = sys.stderr.isatty() if self.wanted is None else self.wanted
        if wanted:
            sys.stderr.write(MESSAGE)
            sys.stderr.flush()


_listener = CompilingListener()
_register: Any = event.register
_register("numba:compile", _listener)


def say_while_compiling(wanted: bool) -> None:
    """Write a line when compiling takes more than a second, or never."""
    _listener.wanted = wanted


def compiling_seconds() -> float:
    """Return how long this process has spent compiling kernels."""
    return _listener.seconds
