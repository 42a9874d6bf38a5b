"""Files that a command writes: all of them whole, or none."""

import csv
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Self

from rpnb.cli import CommandError


class Outputs:
    """Files under temporary names, which get their names when all are written.

    Leaving it by an exception removes them.
    """

    def __init__(self) -> None:
        self._files: dict[Path, Path] = {}
        self._open: list[IO[str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._open:
            file.close()
        for temporary in self._files.values():
            temporary.unlink(missing_ok=True)

    def reserve(self, path: Path) -> Path:
        """Return the temporary name of a file that shall have the name `path`."""
        if path.is_dir():
            raise CommandError(f"{path} is a folder, not a file to write to")
        if path in self._files:
            raise CommandError(f"{path} is named twice as a file to write to")
        try:
            descriptor, name = tempfile.mkstemp(
                prefix=f".{path.name}.", suffix=".tmp", dir=path.parent
            )
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}") from error
        os.close(descriptor)
        self._files[path] = Path(name)
        return Path(name)

    def open(self, path: Path) -> IO[str]:
        """Return a file of text to write to."""
        file = self.reserve(path).open("w", encoding="utf-8", newline="")
        self._open.append(file)
        return file

    def finish(self) -> None:
        """Give all files their names."""
        for file in self._open:
            file.close()
        mask = os.umask(0)
        os.umask(mask)
        try:
            for path, temporary in self._files.items():
                os.chmod(temporary, 0o666 & ~mask)
                os.replace(temporary, path)
        except OSError as error:
            raise CommandError(f"cannot be written: {error}") from error


class PredictionsFile:
    """A CSV file with a line a row: its number, the truth, what was answered.

    Parameters
    ----------
    file
        Where to.
    names
        Of the learners; several have a column each.
    chances
        Whether there is a column for the probability, by learner.
    """

    def __init__(
        self, file: IO[str], names: Sequence[str], chances: Sequence[bool]
    ) -> None:
        self._writer = csv.writer(file, lineterminator="\n")
        columns = ["row", "truth"]
        for name, has in zip(names, chances, strict=True):
            alone = len(names) == 1
            columns.append("prediction" if alone else name)
            if has:
                columns.append("probability" if alone else f"{name} probability")
        self._writer.writerow(columns)

    def write(
        self,
        rows: Any,
        truth: Any,
        answers: Sequence[Sequence[Any]],
        chances: Sequence[Any],
    ) -> None:
        """Write rows, with the labels and chances of each learner's answers.

        An answer that there was not is empty.
        """
        columns = [rows.tolist(), truth.tolist()]
        for labels, chance in zip(answers, chances, strict=True):
            columns.append(labels)
            if chance is not None:
                column = [f"{c:.6g}" if c == c else "" for c in chance.tolist()]
                columns.append(column)
        self._writer.writerows(zip(*columns, strict=True))
