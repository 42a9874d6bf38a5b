"""Ctrl-C between two chunks, never within one."""

import signal
import threading
from types import FrameType
from typing import Self


class Interrupt:
    """While it is entered, the first Ctrl-C is noted; a second one interrupts.

    >>> with Interrupt() as interrupt:
    ...     interrupt.came()
    False
    """

    def __init__(self) -> None:
        self._came = False
        self._before: object = None
        self._main = threading.current_thread() is threading.main_thread()

    def came(self) -> bool:
        """Return whether to stop."""
        return self._came

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def __enter__(self) -> Self:
        if self._main:  # elsewhere signals do not come
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._main:
            signal.signal(signal.SIGINT, self._before)  # type: ignore[arg-type]
