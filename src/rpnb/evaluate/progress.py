"""How far an evaluation has come: a bar where tqdm is installed, a line elsewhere."""

import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from typing import IO, Any, final


@final
class EvaluationProgress:
    """Shows the rows so far, at every checkpoint.

    Parameters
    ----------
    total
        Rows of the stream; None if not known.
    stream
        Where a line is written if there is no tqdm; by default the standard error.
    """

    def __init__(self, total: int | None, stream: IO[str] | None = None) -> None:
        self._total = total
        self._stream = stream
        self._rows = 0
        self._bar: Any = None
        if stream is None:
            try:
                bars: Any = import_module("tqdm.auto")
            except ImportError:
                self._stream = sys.stderr
            else:
                self._bar = bars.tqdm(total=total, unit=" rows", unit_scale=True)

    def checkpoints(self, every: int) -> Iterator[int]:
        """Yield every so many rows; a row is reached when the next is asked for."""
        for row in count(every, every):
            yield row
            self._show(row)

    def _show(self, rows: int) -> None:
        if self._bar is not None:
            self._bar.update(rows - self._rows)
        elif self._stream is not None:
            share = "" if self._total is None else f" of {self._total:,}"
            self._stream.write(f"\r{rows:,}{share} rows")
            self._stream.flush()
        self._rows = rows

    def close(self, rows: int) -> None:
        """Show that all rows are done."""
        self._show(rows)
        if self._bar is not None:
            self._bar.close()
        elif self._stream is not None:
            self._stream.write("\n")
