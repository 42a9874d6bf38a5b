"""How far a pass over a stream has come, in a line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rpnb.cli.progress import gauge


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProgress:
    """Where a pass stands: rows so far, and each learner's error, so far and of late.

    Attributes
    ----------
    share
        Of the file that was read, if that can be known.
    errors
        By learner, the error over all rows and over the last `window`.
    updates
        Rows that changed the first learner's model.
    """

    rows: int
    share: float | None
    seconds: float
    errors: Mapping[str, tuple[float, float]]
    window: int
    updates: int
    phase: str = "running"


def line(progress: StreamProgress, *, bar: bool) -> str:
    """Return one line on how far a pass has come."""
    parts = [gauge(progress.share)] if bar and progress.share is not None else []
    share = "" if progress.share is None else f" ({progress.share:.0%})"
    parts.append(f"{progress.rows:,} rows{share}")
    parts.append(f"{progress.rows / max(progress.seconds, 1e-9):,.0f} rows/s")
    for name, (so_far, of_late) in progress.errors.items():
        parts.append(f"{name} {so_far:.2%}, last {progress.window:,}: {of_late:.2%}")
    parts.append(f"{progress.updates:,} updates")
    megabytes = memory()
    if megabytes is not None:
        parts.append(f"{megabytes:.0f} MB")
    return "  ".join(parts)


def memory(*, peak: bool = False) -> float | None:
    """Return the memory that this process holds, in megabytes, where it can be known.

    Parameters
    ----------
    peak
        The most that it has held, rather than what it holds now.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return float(status.split("VmHWM:" if peak else "VmRSS:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return None
