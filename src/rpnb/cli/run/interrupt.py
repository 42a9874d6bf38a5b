"""Ctrl-C during a run: finish with the rows so far instead of losing them."""

import signal
import threading
from types import FrameType
from typing import Any, Self


class Interrupt:
    """Context in which, from `record` on, the first Ctrl-C is only recorded.

    Before, and from the second on, it does what it did outside.

    >>> with Interrupt() as interrupt:
    ...     interrupt.record()
    ...     interrupt.came()
    False
    """

    def __init__(self) -> None:
        self._came = False
        self._before: Any = None
        self._recording = False

    def came(self) -> bool:
        """Return whether Ctrl-C was pressed."""
        return self._came

    def record(self) -> None:
        """Record the next Ctrl-C from now on."""
        if threading.current_thread() is threading.main_thread():
            # Elsewhere signals do not come.
            self._before = signal.signal(signal.SIGINT, self._note)
            self._recording = True

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        """Record the first Ctrl-C; let the next one interrupt."""
        self._came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._recording:
            signal.signal(signal.SIGINT, self._before)
