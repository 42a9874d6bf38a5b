"""Progress of a run, as one line."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rpnb.cli.progress_line import gauge


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProgress:
    """Progress of a run: rows so far, and the errors of each learner."""

    rows: int
    share: float | None
    """share of the file that has been read; None if unknown"""
    seconds: float
    errors: Mapping[str, tuple[float, float]]
    """error of each learner over all rows, and over the last `window` rows"""
    window: int
    updates: int
    """rows that changed the first learner's model"""
    phase: str = "running"


def line(progress: StreamProgress, *, bar: bool) -> str:
    """Return one line of text on the progress."""
    parts = [gauge(progress.share)] if bar and progress.share is not None else []
    share = "" if progress.share is None else f" ({progress.share:.0%})"
    parts.append(f"{progress.rows:,} rows{share}")
    parts.append(f"{progress.rows / max(progress.seconds, 1e-9):,.0f} rows/s")
    for name, (error, recent) in progress.errors.items():
        parts.append(f"{name} {error:.2%}, last {progress.window:,}: {recent:.2%}")
    parts.append(f"{progress.updates:,} updates")
    megabytes = memory()
    if megabytes is not None:
        parts.append(f"{megabytes:.0f} MB")
    return "  ".join(parts)


def memory(*, peak: bool = False) -> float | None:
    """Return the memory of this process in megabytes; None if unknown.

    Parameters
    ----------
    peak
        Whether to return the maximum so far instead of the current value.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return float(status.split("VmHWM:" if peak else "VmRSS:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return None
