"""Output files of a command: either all are written, or none."""

import csv
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Self

from rpnb.atomic import AtomicFile
from rpnb.cli import CommandError

# Endings of formats that are not written: a table of text would be misleading.
_NOT_WRITTEN = frozenset(
    [
        *(".xlsx", ".xls", ".xlsb", ".ods", ".arff", ".arrow", ".ipc", ".json"),
        *(".svmlight", ".libsvm", ".svm", ".gz", ".bz2", ".xz", ".zst", ".zip"),
    ]
)
_NOT_CSV = _NOT_WRITTEN | {".parquet", ".pq", ".feather", ".jsonl", ".ndjson"}
# Bytes for a pipe that are kept in memory; more go to a temporary file.
_IN_MEMORY = 2**24


def refuse_other_format(path: Path, possible: str) -> None:
    """Refuse a name with the ending of a format that is not written.

    `possible` lists the endings that are, of which .csv alone may be the only one.
    """
    ending = path.suffix.lower()
    if ending in (_NOT_CSV if possible == ".csv" else _NOT_WRITTEN):
        raise CommandError(f"{path}: {ending} files cannot be written; use {possible}")


@contextmanager
def writing(path: object) -> Iterator[None]:
    """Turn a system error into one that names the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"{path} cannot be written: {reason}") from error


@dataclass(slots=True)
class _Output:
    """One file: its name, the file being written, and the name it gets at the end."""

    path: Path
    file: IO[Any]
    pending: AtomicFile
    buffered: bool

    def close(self) -> None:
        """Write what is buffered, and close the file."""
        if self.buffered and not self.file.closed:
            self.file.seek(0)
            with self.path.open("wb") as pipe:
                shutil.copyfileobj(self.file, pipe)
        self.file.close()


class Outputs:
    """Files with temporary names, which are renamed once all are written.

    Leaving the context before `commit` removes them. Text is written to pipes and
    devices directly; bytes are buffered until `commit`, since formats such as Parquet
    go back in a file. `inputs` are files being read, which must not be overwritten.
    """

    def __init__(self, inputs: Sequence[str | Path] = ()) -> None:
        self._inputs = list(inputs)
        self._outputs: list[_Output] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._outputs:
            with suppress(OSError):  # on a full disk, an error was raised before
                each.file.close()
            each.pending.discard()

    def open(self, path: Path) -> IO[str]:
        """Open a text file for writing."""
        return self._open(path, text=True)

    def open_bytes(self, path: Path) -> IO[bytes]:
        """Open a binary file for writing, in any order of its bytes."""
        return self._open(path, text=False)

    def _open(self, path: Path, text: bool) -> IO[Any]:
        pending = self._pending(path)
        buffered = not text and pending.temporary == path
        file: IO[Any]
        try:
            with writing(path):
                if text:
                    file = pending.temporary.open("w", encoding="utf-8", newline="")
                elif buffered:
                    file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed later
                else:
                    file = pending.temporary.open("wb")
        except BaseException:
            pending.discard()
            raise
        self._outputs.append(_Output(path, file, pending, buffered))
        return file

    def _pending(self, path: Path) -> AtomicFile:
        """Return the file to rename; refuse one that is read or written already."""
        for other in self._outputs:
            if os.path.realpath(path) == os.devnull:
                break  # may be used any number of times
            if os.path.realpath(path) == os.path.realpath(other.path):
                raise CommandError(f"{path} is used twice as an output file")
        for source in self._inputs:
            with suppress(OSError):
                if os.path.samefile(path, source):
                    raise CommandError(
                        f"{path} is an input file: choose another output file"
                    )
        try:
            return AtomicFile(path)
        except IsADirectoryError as error:
            raise CommandError(f"{path} is a folder, not an output file") from error
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error

    def commit(self) -> None:
        """Rename all files to their final names, once all are complete."""
        for each in sorted(self._outputs, key=lambda each: each.buffered):
            with writing(each.path):
                each.close()
        for each in self._outputs:
            with writing(each.path):
                each.pending.commit()


class PredictionsFile:
    """A CSV file with one line per row: its number, true label and predictions.

    Each learner has a column and, if `probabilities` is true, one for probabilities.
    """

    def __init__(
        self, file: IO[str], names: Sequence[str], probabilities: Sequence[bool]
    ) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        columns = ["row", "truth"]
        for name, has in zip(names, probabilities, strict=True):
            alone = len(names) == 1
            columns.append("prediction" if alone else name)
            if has:
                columns.append("probability" if alone else f"{name} probability")
        self._writer.writerow(columns)

    def write(
        self,
        rows: Any,
        truth: Sequence[Any],
        predictions: Sequence[Sequence[Any]],
        probabilities: Sequence[Any],
    ) -> None:
        """Write rows with the predicted labels and probabilities of each learner.

        A missing label or prediction is an empty cell.
        """
        columns = [rows.tolist(), truth]
        for labels, probability in zip(predictions, probabilities, strict=True):
            columns.append(labels)
            if probability is not None:
                column = [f"{p:.6g}" if p == p else "" for p in probability.tolist()]
                columns.append(column)
        self._writer.writerows(zip(*columns, strict=True))
