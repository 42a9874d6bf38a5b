"""Files that a command writes: all of them whole, or none."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

from rpnb.atomic import AtomicFile
from rpnb.cli import CommandError


class Outputs:
    """Files under temporary names, which get their names when all are written.

    Leaving the context before `commit` removes them.
    """

    def __init__(self) -> None:
        self._files: dict[Path, AtomicFile] = {}
        self._open: list[IO[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open:
            file.close()
        for pending in self._files.values():
            pending.discard()

    def reserve(self, path: Path) -> Path:
        """Return the temporary name of a file that shall have the name `path`."""
        if path in self._files:
            raise CommandError(f"{path} is named twice as a file to write to")
        try:
            self._files[path] = AtomicFile(path)
        except IsADirectoryError as error:
            raise CommandError(f"{path} is a folder, not a file to write to") from error
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error
        return self._files[path].temporary

    def open(self, path: Path) -> IO[str]:
        """Return a file of text to write to."""
        file = self.reserve(path).open("w", encoding="utf-8", newline="")
        self._open.append(file)
        return file

    def open_bytes(self, path: Path) -> IO[bytes]:
        """Return a file of bytes to write to."""
        file = self.reserve(path).open("wb")
        self._open.append(file)
        return file

    def commit(self) -> None:
        """Give all files their names."""
        for file in self._open:
            file.close()
        try:
            for pending in self._files.values():
                pending.commit()
        except OSError as error:
            raise CommandError(f"cannot be written: {error}") from error


class PredictionsFile:
    """A CSV file with one line per row: its number, true label and predictions.

    Parameters
    ----------
    file
        The open file.
    names
        Of the learners; each has a column.
    probabilities
        For each learner, whether it has a column of probabilities.
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
        truth: Any,
        predictions: Sequence[Sequence[Any]],
        probabilities: Sequence[Any],
    ) -> None:
        """Write rows with the predicted labels and probabilities of each learner.

        A missing prediction is empty.
        """
        columns = [rows.tolist(), truth.tolist()]
        for labels, probability in zip(predictions, probabilities, strict=True):
            columns.append(labels)
            if probability is not None:
                column = [f"{p:.6g}" if p == p else "" for p in probability.tolist()]
                columns.append(column)
        self._writer.writerows(zip(*columns, strict=True))
