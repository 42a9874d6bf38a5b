"""Progress of an evaluation: a bar of rich or tqdm, or a line of text.

In a notebook, tqdm draws the bar; in a terminal, rich does, or tqdm if rich is not
installed. If neither can, a line of text with the rows so far overwrites itself.
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from typing import IO, Any, Protocol, final


class _Bar(Protocol):
    """A display of the number of rows."""

    def show(self, rows: int) -> None:
        """Show the rows so far."""

    def close(self) -> None:
        """End the display."""


@final
class EvaluationProgress:
    """Shows the rows so far at every checkpoint.

    Parameters
    ----------
    total
        Number of rows of the stream; None if unknown.
    """

    def __init__(self, total: int | None) -> None:
        self._bar = _bar(total)

    def checkpoints(self, every: int) -> Iterator[int]:
        """Yield multiples of `every`, showing each once the next is requested."""
        for row in count(every, every):
            yield row
            self._bar.show(row)

    def close(self, rows: int) -> None:
        """Show that all rows are done."""
        self._bar.show(rows)
        self._bar.close()


def in_notebook() -> bool:
    """Return whether this runs in a Jupyter kernel with a front end."""
    # In a notebook IPython is already imported; never import it here.
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _bar(total: int | None) -> _Bar:
    """Return the best bar for the current environment."""
    bars: list[tuple[str, type[_RichBar] | type[_TqdmBar]]] = [("tqdm.auto", _TqdmBar)]
    if sys.stderr.isatty() and not in_notebook():
        bars.insert(0, ("rich.progress", _RichBar))
    for name, bar in bars:
        try:
            library: Any = import_module(name)
        except ImportError:
            continue
        return bar(library, total)
    return _TextLine(total, sys.stderr)


@final
class _TqdmBar:
    """A bar of tqdm, for notebooks and terminals."""

    def __init__(self, tqdm: Any, total: int | None) -> None:
        self._rows = 0
        self._bar = tqdm.tqdm(total=total, unit=" rows", unit_scale=True)

    def show(self, rows: int) -> None:
        """Show the rows so far."""
        self._bar.update(rows - self._rows)
        self._rows = rows

    def close(self) -> None:
        """End the bar."""
        self._bar.close()


@final
class _RichBar:
    """A bar of rich in a terminal, with rows, speed and remaining time."""

    def __init__(self, rich: Any, total: int | None) -> None:
        console = import_module("rich.console").Console(stderr=True)
        known = total is not None
        rows = "{task.completed:>9,.0f}" + (" of {task.total:,.0f} rows" * known)
        speed = "{task.fields[speed]}"
        self._progress = rich.Progress(
            rich.BarColumn(bar_width=32),
            rich.TextColumn(rows if known else rows + " rows"),
            rich.TextColumn(speed, style="progress.data.speed"),
            rich.TimeRemainingColumn() if known else rich.TimeElapsedColumn(),
            console=console,
        )
        self._task = self._progress.add_task("", total=total, speed="")
        self._progress.start()

    def show(self, rows: int) -> None:
        """Show the rows so far."""
        (task,) = self._progress.tasks
        elapsed = task.elapsed or 0.0
        speed = f"{rows / elapsed:,.0f} rows/s" if elapsed > 0.0 else ""
        self._progress.update(self._task, completed=rows, speed=speed)

    def close(self) -> None:
        """End the bar."""
        self._progress.stop()


@final
class _TextLine:
    """A line of text that overwrites itself."""

    def __init__(self, total: int | None, stream: IO[str]) -> None:
        self._stream = stream
        self._of = "" if total is None else f" of {total:,}"

    def show(self, rows: int) -> None:
        """Show the rows so far."""
        self._stream.write(f"\r{rows:,}{self._of} rows")
        self._stream.flush()

    def close(self) -> None:
        """End the line."""
        self._stream.write("\n")
