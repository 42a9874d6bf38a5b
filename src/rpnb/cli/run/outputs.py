"""Output files of a command: either all are written, or none."""

import csv
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
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


class Outputs:
    """Files with temporary names, which are renamed once all are written.

    Leaving the context before `commit` removes them. Pipes and devices are written to
    directly. `inputs` are files being read, which must not be overwritten.
    """

    def __init__(self, inputs: Sequence[str | Path] = ()) -> None:
        self._inputs = list(inputs)
        self._files: dict[Path, AtomicFile] = {}
        self._copies: dict[Path, Path] = {}
        self._open: list[IO[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open:
            with suppress(OSError):  # on a full disk, an error was raised before
                file.close()
        for pending in self._files.values():
            pending.discard()
        for temporary in self._copies.values():
            temporary.unlink(missing_ok=True)

    def reserve(self, path: Path) -> Path:
        """Return the temporary name of a file that will have the name `path`.

        If `path` is a pipe or a device, it gets the complete content at the end.
        """
        temporary = self._reserve(path)
        if temporary == path:
            descriptor, name = tempfile.mkstemp(prefix="rpnb-")
            os.close(descriptor)
            temporary = self._copies[path] = Path(name)
        return temporary

    def _reserve(self, path: Path) -> Path:
        for other in self._files:
            if os.path.realpath(path) == os.devnull:
                break  # may be used any number of times
            if path == other or os.path.realpath(path) == os.path.realpath(other):
                raise CommandError(f"{path} is used twice as an output file")
        for source in self._inputs:
            with suppress(OSError):
                if os.path.samefile(path, source):
                    raise CommandError(
                        f"{path} is an input file: choose another output file"
                    )
        try:
            self._files[path] = AtomicFile(path)
        except IsADirectoryError as error:
            raise CommandError(f"{path} is a folder, not an output file") from error
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error
        return self._files[path].temporary

    def open(self, path: Path) -> IO[str]:
        """Open a text file for writing."""
        temporary = self._reserve(path)
        with writing(path):
            file = temporary.open("w", encoding="utf-8", newline="")
        self._open.append(file)
        return file

    def open_bytes(self, path: Path) -> IO[bytes]:
        """Open a binary file for writing."""
        temporary = self.reserve(path)
        with writing(path):
            file = temporary.open("wb")
        self._open.append(file)
        return file

    def commit(self) -> None:
        """Rename all files to their final names."""
        for file in self._open:
            with writing(file.name):
                file.close()
        for path, pending in self._files.items():
            with writing(path):
                if path in self._copies:
                    with self._copies[path].open("rb") as source, path.open("wb") as to:
                        shutil.copyfileobj(source, to)
                pending.commit()


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
