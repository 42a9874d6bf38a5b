"""How far a study has come: a line that renews itself, or a line now and then."""

import os
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

if TYPE_CHECKING:
    from rpnb.study.run import StudyProgress

# Seconds between two lines where there is no terminal, and between two renewals.
LINE_EVERY = 10.0
RENEW_EVERY = 0.1
_BAR = 20


class Phased(Protocol):
    """What is to be shown: a state in one of a few phases."""

    @property
    def phase(self) -> str:
        """Name of the phase."""


class Display:
    """Shows the progress of a study on a stream, as the stream can.

    Parameters
    ----------
    stream
        Where to. If it is a terminal, one line is renewed; if not, lines follow.
    say
        Returns the line of a state, with or without a bar; that of a study by default.
    """

    def __init__(self, stream: TextIO, say: Callable[..., str] | None = None) -> None:
        self._stream = stream
        self._say: Callable[..., str] = line if say is None else say
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._shown_at = float("-inf")
        self._phase = ""

    def __call__(self, progress: Phased) -> None:
        """Show where the study stands, if it is time to."""
        now = time.monotonic()
        # The first sign of a phase is welcome at once where it replaces another.
        new = self._live and progress.phase != self._phase
        every = RENEW_EVERY if self._live else LINE_EVERY
        if not new and now - self._shown_at < every:
            return
        if not self._live and self._shown_at == float("-inf"):
            self._shown_at = now  # nothing to say yet
            return
        self._shown_at, self._phase = now, progress.phase
        if self._live:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r" + self._say(progress, bar=True)[:width] + "\x1b[K")
        else:
            self._stream.write(self._say(progress, bar=False) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the stream at the beginning of an empty line."""
        if self._live and self._phase:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def line(progress: "StudyProgress", *, bar: bool) -> str:
    """Return one line on how far a study has come."""
    done, total = progress.done, progress.total
    share = done / total if total else 1.0
    parts = [gauge(share)] if bar else []
    if progress.phase == "reading":
        parts.append(f"reading datasets: {done} of {total}")
    else:
        parts += [
            f"{done} of {total} runs ({share:.0%})",
            f"{progress.cells_done} of {progress.cells} dataset × method",
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
    """Return a bar that is filled to a share.

    >>> gauge(0.25)
    '[#####...............]'
    """
    filled = round(_BAR * share)
    return f"[{'#' * filled}{'.' * (_BAR - filled)}]"


def duration(seconds: float) -> str:
    """Return a time as people say it.

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
