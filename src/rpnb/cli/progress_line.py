"""Progress on the terminal: a line that is updated, or a new line now and then."""

import os
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rpnb.study.run import StudyProgress

# Seconds between two lines without a terminal, and between two updates on one.
LINE_EVERY = 10.0
UPDATE_EVERY = 0.1
_BAR = 20


class Phased(Protocol):
    """A progress report that belongs to a phase."""

    @property
    def phase(self) -> str:
        """Name of the phase."""


class Display:
    """Writes progress reports to a stream, at most every few seconds.

    On a terminal, one line is updated; otherwise lines are added. `format_line` formats
    a report, with or without a bar.
    """

    def __init__(self, stream: TextIO, format_line: Callable[..., str]) -> None:
        self._stream, self._format = stream, format_line
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown_at = float("-inf")
        self._phase = ""

    def __call__(self, progress: Phased) -> None:
        """Write a progress report, unless the last one is too recent."""
        now = time.monotonic()
        # On a terminal, the first report of a phase is shown at once.
        new = self._live and progress.phase != self._phase
        every = UPDATE_EVERY if self._live else LINE_EVERY
        if not new and now - self._shown_at < every:
            return
        if not self._live and self._shown_at == float("-inf"):
            self._shown_at = now  # the first line comes later
            return
        self._shown_at, self._phase = now, progress.phase
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(
                "\r" + self._format(progress, bar=True)[:width] + "\x1b[K"
            )
        else:
            self._stream.write(self._format(progress, bar=False) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Clear the line that is being updated, if any."""
        if self._live and self._phase:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def line(progress: "StudyProgress", *, bar: bool) -> str:
    """Return one line on the progress of a study."""
    done, total = progress.done, progress.total
    parts = [gauge(progress.share)] if bar else []
    if progress.phase == "reading":
        parts.append(f"reading datasets: {done} of {total}")
    else:
        parts += [
            f"{done} of {total} runs, {progress.share:.0%} of the expected time",
            f"{progress.cells_done} of {progress.cells} pairs of dataset and method",
        ]
        if progress.computed and progress.seconds > 0.0:
            parts.append(f"{progress.computed / progress.seconds:.1f} runs/s")
        parts.append(f"{duration(progress.seconds)} so far")
        if progress.seconds_left is not None:
            parts.append(f"{duration(progress.seconds_left)} left")
    if progress.failed:
        parts.append(f"{progress.failed} failed")
    if progress.latest:
        parts.append(progress.latest)
    return "  ".join(parts)


def gauge(share: float) -> str:
    """Return a progress bar that is filled to a share.

    >>> gauge(0.25)
    '[#####...............]'
    """
    filled = round(_BAR * share)
    return f"[{'#' * filled}{'.' * (_BAR - filled)}]"


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(7.2), duration(125), duration(3 * 3600 + 61)
    ('7 s', '2 min 5 s', '3 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
