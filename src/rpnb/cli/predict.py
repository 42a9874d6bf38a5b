"""`rpnb predict`: predict the rows of a file with a saved model."""

import argparse
import csv
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpnb.cli.options import positive
from rpnb.cli.run.arguments import FORMATS, add_file_options

if TYPE_CHECKING:
    from rpnb.files import LabelledFile

_ABOUT = """\
Predict the rows of a file with a model from `rpnb fit` or `rpnb run --save`. The file
needs the columns that the model was trained with, in any order; other columns,
including that of the label, are ignored. Nothing is learned.
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "rpnb predict FILE --load MODEL [options]"
    parser.description = _ABOUT
    parser.add_argument(
        "file",
        metavar="FILE",
        help=f"a file ({', '.join(FORMATS)}; text may be compressed: gz, bz2, xz, "
        "zst, zip), or - for the standard input",
    )
    parser.add_argument(
        "--load",
        type=Path,
        required=True,
        metavar="MODEL",
        help="a model written by `rpnb fit` or `rpnb run --save`",
    )
    parser.add_argument(
        "--next",
        action="store_true",
        help="treat the rows as the next ones of the stream, and use the most recent "
        "labels (default: rows are in any order)",
    )
    parser.add_argument(
        "--costs",
        type=Path,
        metavar="CSV",
        help="predict the label with the lowest expected cost, by a CSV table with "
        "true labels in the first column and predicted labels in the first line",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="output file; its ending (.csv, .tsv, .jsonl, .parquet, .feather) selects "
        "the format (default: CSV to the standard output)",
    )
    parser.add_argument(
        "--probabilities",
        choices=("none", "prediction", "all"),
        default="prediction",
        help="write no probabilities, those of the predictions, or those of all "
        "classes (default: prediction, if the learner has probabilities)",
    )
    add_file_options(parser.add_argument_group("reading"))
    parser.add_argument(
        "--chunk-rows",
        type=positive,
        default=32768,
        metavar="N",
        help="rows read at a time; no result depends on it (default: 32768)",
    )
    parser.add_argument("--quiet", action="store_true", help="print no notes")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the predictions; return the exit code."""
    from rpnb.cli import CommandError, interrupts_raise
    from rpnb.cli.run.inputs import load_model
    from rpnb.cli.run.outputs import Outputs, writing
    from rpnb.cli.table_files import open_table
    from rpnb.files import FileError, ReadAhead

    state, models = load_model(arguments.load)
    (model,) = models.values()
    costs = None
    if arguments.costs is not None:
        costs = read_costs(arguments.costs, model.classes_.tolist())
    interrupts_raise()
    start, rows = time.monotonic(), 0
    path = arguments.output
    read = [arguments.file, arguments.load]
    with Outputs(read if costs is None else [*read, arguments.costs]) as outputs:
        try:
            source = _open(arguments, state, model)
            notes = source.notes
            if not arguments.quiet:
                sys.stderr.writelines(f"{source.name}: {note}\n" for note in notes)
            ahead = ReadAhead(source.chunks(arguments.chunk_rows))
            try:
                with (
                    writing(path or "the standard output"),
                    open_table(path, outputs) as table,
                ):
                    for chunk in ahead.items():
                        columns = dict(_columns(model, chunk.X, arguments, costs))
                        table.write({"row": chunk.rows, **columns})
                        rows += len(chunk.rows)
            finally:
                ahead.close()
                source.close()
            if not arguments.quiet:
                later = [note for note in source.notes if note not in notes]
                sys.stderr.writelines(f"{source.name}: {note}\n" for note in later)
        except FileError as error:
            raise CommandError(str(error)) from error
        outputs.commit()
    if path is not None and not arguments.quiet:
        seconds = max(time.monotonic() - start, 1e-9)
        speed = f"{rows / seconds:,.0f} rows/s"
        sys.stderr.write(f"{rows:,} rows written to {path}, {speed}\n")
    return 0


def _open(
    arguments: argparse.Namespace, state: Mapping[str, Any], model: Any
) -> "LabelledFile":
    """Return the file, with columns read as in training."""
    from rpnb.cli.run.inputs import (
        file_options,
        resuming,
        saved_categorical,
        saved_missing,
    )
    from rpnb.files import LabelledFile, ReadOptions

    options = file_options(arguments)
    if "features" in state:  # sparse rows
        options["features"] = state["features"]
        options["zero_based"] = arguments.zero_based or state.get("zero_based")
    with resuming(arguments.load):
        return LabelledFile(
            arguments.file,
            ReadOptions(
                target=None,
                labelled=False,
                categorical=saved_categorical(arguments.load, state),
                missing=saved_missing(arguments.load, state, model),
                **options,
            ),
            arguments.format,
            state,
        )


def _columns(
    model: Any,
    X: Any,
    arguments: argparse.Namespace,
    costs: list[list[float]] | None,
) -> Iterator[tuple[str, Any]]:
    """Yield the columns of the result: predictions, and probabilities if requested."""
    import numpy as np

    from rpnb.cli import CommandError

    probabilities = arguments.probabilities
    try:
        predict = model.predict_next if arguments.next else model.predict
        labels = predict(X) if costs is None else predict(X, costs=costs)
        yield "prediction", labels
        if probabilities == "none" or not hasattr(model, "predict_proba"):
            if probabilities == "all":
                raise CommandError(
                    f"--probabilities all: {type(model).__name__} has no probabilities"
                )
            return
        P = (model.predict_next_proba if arguments.next else model.predict_proba)(X)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if probabilities == "prediction" and costs is None:
        yield "probability", P.max(axis=1)
        return
    if probabilities == "prediction":
        places = np.searchsorted(model.classes_, labels)
        yield "probability", P[np.arange(P.shape[0]), places]
        return
    for m, label in enumerate(model.classes_.tolist()):
        yield f"probability of {label}", P[:, m]


def read_costs(path: Path, classes: list[Any]) -> list[list[float]]:
    """Return the costs in a CSV file by true and predicted class, in their order.

    Refuses a table with a missing, an unknown or a repeated class.
    """
    from rpnb.cli import CommandError

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if any(map(str.strip, line))]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"--costs: {path} cannot be read: {error}") from error
    names = [str(label) for label in classes]
    cells = [[cell.strip() for cell in line] for line in lines]
    columns = cells[0][1:] if cells else []
    rows = [line[0] for line in cells[1:]]
    for what, found in (("column", columns), ("row", rows)):
        if sorted(found) != sorted(names):
            raise CommandError(
                f"--costs: {path} must have exactly one {what} for each class: "
                f"{', '.join(names)}; it has {', '.join(found) or 'none'}"
            )
    table = {}
    for line in cells[1:]:
        if len(line) != len(names) + 1:
            raise CommandError(
                f"--costs: {path}: the row of {line[0]} must have {len(names)} costs, "
                f"got {len(line) - 1}"
            )
        for column, cell in zip(columns, line[1:], strict=True):
            try:
                table[line[0], column] = float(cell)
            except ValueError as error:
                raise CommandError(
                    f"--costs: {path}: the cost of predicting {column} for {line[0]} "
                    f"must be a number, got {cell!r}"
                ) from error
    return [[table[true, predicted] for predicted in names] for true in names]
