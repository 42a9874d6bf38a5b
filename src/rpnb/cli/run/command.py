"""`rpnb run`: learn from a file, predicting each row before it is learned."""

import argparse
from pathlib import Path

from rpnb.cli.options import delimiter, encoding, natural, number_sign, positive
from rpnb.files import FORMATS

#: The metrics of `rpnb.evaluate`, named here because importing them takes time.
METRICS = (
    *("accuracy", "error", "macro_f1", "balanced_accuracy", "kappa", "kappa_temporal"),
    *("log_loss", "brier", "calibration_error", "coverage", "auc"),
    *("average_precision", "best_f1"),
)
_ABOUT = """\
For rows that arrive one after the other (a table in any order: `rpnb fit`).
Read a file once, row by row: predict each label with what was known before the row,
then learn the row. The error of these predictions is that of a model in use.
"""
_EXAMPLES = """\
examples:
  rpnb run rows.csv --target label
  rpnb run sales.csv --target -1 --delimiter tab --decimal , --drop note
  rpnb run rows.parquet --target label --compare Pooled RPNB AROW --report rows.html
  rpnb run monday.csv --target label --save model.rpnb
  rpnb run tuesday.csv --target label --load model.rpnb
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "rpnb run FILE --target COLUMN [options]"
    parser.description = _ABOUT
    parser.epilog = _EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="the learner; `rpnb learners` lists them (default: Pooled, the most "
        "accurate; RPNB, the paper's and much faster, on Spark)",
    )
    parser.add_argument(
        "--compare",
        nargs="+",
        default=[],
        metavar="NAME",
        help="several learners, all in one pass over the file",
    )
    add_arguments(parser)
    _add_engine(parser.add_argument_group("engine"))
    parser.set_defaults(run=run, usual=False)


def add_arguments(parser: argparse.ArgumentParser, *, stream: bool = True) -> None:
    """Declare what `rpnb run`, `rpnb compare` and `rpnb fit` have in common.

    Rows are a `stream`, in the order of the file, or a table without an order.
    """
    parser.add_argument(
        "file",
        metavar="FILE",
        help=f"a file ({', '.join(FORMATS)}; text may be compressed: gz, bz2, xz, "
        "zst, zip); - for the standard input; or one of the datasets that `rpnb "
        "datasets` lists",
    )
    reading = parser.add_argument_group("reading")
    _add_columns(reading)
    add_file_options(reading)
    _add_order(parser.add_argument_group("order and limits"), stream)
    _add_results(parser.add_argument_group("results"), stream)
    from rpnb.cli.learners import add_options

    add_options(parser)


def _add_engine(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--engine",
        choices=("process", "spark"),
        default="process",
        help="learn in this process, or on Apache Spark: FILE may then be a folder, "
        "and --batch-size must be given (default: process)",
    )
    group.add_argument(
        "--master",
        metavar="URL",
        help="the cluster of --engine spark (default: this machine, local[*])",
    )


def _add_columns(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--target",
        metavar="COLUMN",
        help="the column of the labels, by name or by number (1 the first, -1 the "
        "last)",
    )
    group.add_argument(
        "--unlabelled",
        choices=("refuse", "predict"),
        default="refuse",
        help="refuse rows without a label, or predict them and do not learn them "
        "(default: refuse)",
    )
    group.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="leave columns out",
    )
    group.add_argument(
        "--as-category",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="columns whose numbers, or many texts, are categories",
    )
    group.add_argument(
        "--categorical",
        choices=("native", "codes", "one-hot"),
        help="categories, text and dates as the learner takes them; categories as "
        "integers in the order of their first appearance, as in the paper; or one "
        "column per value, for which the file is read twice (default: native for "
        "learners that take them, such as Pooled, and codes for others)",
    )
    group.add_argument(
        "--missing",
        choices=("refuse", "mean"),
        help="refuse missing values, or put in the mean of the column in the rows "
        "before; missing categories are one more category (default: leave them to "
        "learners that take them, such as Pooled, and refuse them for others)",
    )


def _add_order(group: "argparse._ArgumentGroup", stream: bool) -> None:
    group.add_argument(
        "--scale",
        action="store_true",
        help="scale each row by the mean and deviation of the rows before it; Pooled "
        "does so itself",
    )
    if stream:
        group.add_argument(
            "--drift",
            choices=("adwin", "ddm", "eddm", "page_hinkley"),
            help="reset a learner when this detector finds that its errors rise",
        )
    group.add_argument(
        "--shuffle",
        type=natural,
        metavar="SEED",
        default=None if stream else 0,
        help="take the rows in a random order; all columns are held in memory for it"
        + ("" if stream else " (default: 0)"),
    )
    group.add_argument(
        "--classes",
        nargs="+",
        metavar="LABEL",
        help="labels that are known from the first row on (default: as they appear)",
    )
    group.add_argument(
        "--max-classes",
        type=positive,
        default=1000,
        metavar="N",
        help="refuse a target with more labels (default: 1000)",
    )
    group.add_argument(
        "--max-categories",
        type=positive,
        default=1000,
        metavar="N",
        help="refuse a column of text with more values (default: 1000)",
    )
    group.add_argument(
        "--chunk-rows",
        type=positive,
        default=32768,
        metavar="N",
        help="rows read at a time; no result depends on it (default: 32768)",
    )


def add_file_options(group: "argparse._ArgumentGroup") -> None:
    """Declare how the bytes of a file are read."""
    group.add_argument(
        "--format",
        choices=tuple(FORMATS),
        help="default: by the name of the file",
    )
    group.add_argument(
        "--no-header",
        action="store_true",
        help="the first line of a CSV file is a row; columns are named 1, 2, …",
    )
    group.add_argument(
        "--delimiter",
        type=delimiter,
        metavar="C",
        help="of CSV: a sign, or tab, comma, semicolon, pipe, space (default: "
        "recognised)",
    )
    group.add_argument(
        "--encoding",
        type=encoding,
        metavar="NAME",
        help="of text, such as utf-8, utf-16 or cp1252 (default: recognised)",
    )
    group.add_argument(
        "--skip-rows",
        type=natural,
        default=0,
        metavar="N",
        help="lines of a CSV file before its header (default: 0)",
    )
    group.add_argument(
        "--comment",
        metavar="TEXT",
        help="leave out lines of a CSV file that begin so, such as #",
    )
    group.add_argument(
        "--na",
        nargs="+",
        action="extend",
        default=[],
        metavar="TEXT",
        help="texts of CSV that stand for a missing value, besides an empty cell, ?, "
        "NA, N/A, n/a, NaN and null, and -, . and none among numbers",
    )
    group.add_argument(
        "--decimal",
        type=number_sign,
        action="append",
        default=[],
        metavar="[COLUMN=]C",
        help="the decimal sign of numbers, of all columns or of one: . or , (default: "
        ".)",
    )
    group.add_argument(
        "--thousands",
        type=number_sign,
        action="append",
        default=[],
        metavar="[COLUMN=]C",
        help="the sign between thousands, of all columns or of one: a comma, a dot, "
        "', _ or space (default: none)",
    )
    group.add_argument(
        "--features",
        type=positive,
        metavar="N",
        help="number of features of a sparse file (default: found by reading it twice)",
    )
    group.add_argument(
        "--zero-based",
        action="store_true",
        default=None,
        help="the first feature of a sparse file is 0, not 1",
    )


def _add_results(group: "argparse._ArgumentGroup", stream: bool) -> None:
    group.add_argument(
        "--metrics",
        nargs="+",
        choices=METRICS,
        default=[],
        metavar="NAME",
        help="more columns in the table: accuracy, error, macro_f1, "
        "balanced_accuracy, kappa, kappa_temporal; and of learners that give "
        "probabilities log_loss, brier, calibration_error, coverage, auc, "
        "average_precision, best_f1",
    )
    group.add_argument(
        "--predictions",
        type=Path,
        metavar="CSV",
        help="write row, truth, prediction and the probability of the prediction",
    )
    group.add_argument(
        "--no-probabilities",
        action="store_true",
        help="leave probabilities out of the predictions and of the report: much "
        "faster for learners that change with every row",
    )
    group.add_argument(
        "--report", type=Path, metavar="HTML", help="write a page with charts"
    )
    group.add_argument(
        "--save",
        type=Path,
        metavar="MODEL",
        required=not stream,
        help="write the model, with its labels and categories, at the end",
    )
    if stream:
        group.add_argument(
            "--load",
            type=Path,
            metavar="MODEL",
            help="resume a model that --save wrote",
        )
    group.add_argument(
        "--window",
        type=positive,
        default=1000,
        metavar="N",
        help="rows of the windowed error (default: 1000)",
    )
    group.add_argument(
        "--json", action="store_true", help="print one JSON object, not a table"
    )
    group.add_argument("--quiet", action="store_true", help="do not show the progress")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate the learners and print the results; return the exit code."""
    if getattr(arguments, "engine", "process") == "spark":
        from rpnb.cli.run.on_spark import run_on_spark

        return run_on_spark(arguments)
    from rpnb.cli.run.streaming import stream

    return stream(arguments)
