"""`rpnb run`: learn from a file, predicting each row before it is learned."""

import argparse
from pathlib import Path

from rpnb.cli.options import (
    delimiter,
    encoding,
    natural,
    number_sign,
    positive,
    share,
)
from rpnb.cli.parameters import add_options

# Named here as well, because importing `rpnb.files` and `rpnb.evaluate` takes time; a
# test compares them.
#: The formats of files.
FORMATS = ("csv", "parquet", "feather", "jsonl", "arff", "svmlight", "excel")
#: The metrics of predictions and probabilities.
METRICS = (
    *("accuracy", "error", "macro_f1", "balanced_accuracy", "kappa", "kappa_temporal"),
    *("log_loss", "brier", "calibration_error", "coverage", "auc"),
    *("average_precision", "best_f1"),
)
_ABOUT = """\
Follow a stream: read a file once, row by row, and predict each label before learning
it. The error of these predictions is that of a model in production. If the order of
the rows has no meaning, use `rpnb fit` instead.
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
        help="the learner; `rpnb learners` lists all (default: Pooled, the most "
        "accurate; with --engine spark RPNB, which is much faster)",
    )
    parser.add_argument(
        "--compare",
        nargs="+",
        default=[],
        metavar="NAME",
        help="evaluate several learners, separated by spaces or commas, in one pass "
        "over the file",
    )
    add_arguments(parser)
    _add_engine(parser.add_argument_group("engine"))
    parser.set_defaults(run=run, usual=False)


def add_arguments(parser: argparse.ArgumentParser, *, stream: bool = True) -> None:
    """Declare the arguments shared by `rpnb run`, `rpnb compare` and `rpnb fit`.

    `stream` is whether the order of the rows has a meaning.
    """
    parser.add_argument(
        "file",
        metavar="FILE",
        help=f"a file ({', '.join(FORMATS)}; text may be compressed: gz, bz2, xz, "
        "zst, zip), - for the standard input, or the name of a dataset from `rpnb "
        "datasets`",
    )
    reading = parser.add_argument_group("reading")
    _add_columns(reading)
    add_file_options(reading)
    _add_order(parser.add_argument_group("order and limits"), stream)
    _add_results(parser.add_argument_group("results"), stream)
    add_options(parser)


def _add_engine(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--engine",
        choices=("process", "spark"),
        default="process",
        help="learn in this process, or on Apache Spark, which also reads a folder and "
        "needs --batch-size (default: process)",
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
        help="the label column, by name or by number (1 is the first, -1 the last)",
    )
    group.add_argument(
        "--unlabelled",
        choices=("refuse", "predict"),
        default="refuse",
        help="refuse rows without a label, or predict them without learning them "
        "(default: refuse)",
    )
    group.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="ignore these columns",
    )
    group.add_argument(
        "--as-category",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="treat these columns as categories even if they hold numbers, or text "
        "with many values",
    )
    group.add_argument(
        "--categorical",
        choices=("native", "codes", "one-hot"),
        help="native: pass categories, text and dates to the learner as they are; "
        "codes: turn categories into integers by first appearance, as in the paper; "
        "one-hot: one column per value, which reads the file twice (default: native "
        "for learners that support it, such as Pooled, and codes for others)",
    )
    group.add_argument(
        "--missing",
        choices=("refuse", "mean"),
        help="refuse missing values, or replace them by the mean of the column over "
        "earlier rows; a missing category becomes a separate category (default: pass "
        "them to learners that support them, such as Pooled, and refuse them for "
        "others)",
    )


def _add_order(group: "argparse._ArgumentGroup", stream: bool) -> None:
    group.add_argument(
        "--scale",
        action="store_true",
        help="scale each row by the mean and standard deviation of the rows before it; "
        "Pooled scales by itself",
    )
    if stream:
        group.add_argument(
            "--drift",
            choices=("adwin", "ddm", "eddm", "page_hinkley"),
            help="reset a learner when this detector finds that its error has risen",
        )
        group.add_argument(
            "--delay",
            type=positive,
            metavar="N",
            help="labels arrive N rows after their rows (default: at once)",
        )
        group.add_argument(
            "--budget",
            type=share,
            metavar="B",
            help="each learner asks for this share of the labels, and learns no "
            "others (default: all labels)",
        )
    group.add_argument(
        "--shuffle",
        type=natural,
        metavar="SEED",
        default=None if stream else 0,
        help="seed of a random order of the rows; this loads all columns into memory"
        + ("" if stream else " (default: 0)"),
    )
    group.add_argument(
        "--classes",
        nargs="+",
        metavar="LABEL",
        help="labels that learners know from the first row on (default: each label "
        "when it first appears)",
    )
    group.add_argument(
        "--max-classes",
        type=positive,
        default=1000,
        metavar="N",
        help="refuse a target with more classes (default: 1000)",
    )
    group.add_argument(
        "--max-categories",
        type=positive,
        default=1000,
        metavar="N",
        help="most values of a text column; Pooled reads more as categories, "
        "others refuse them (default: 1000)",
    )
    group.add_argument(
        "--chunk-rows",
        type=positive,
        default=32768,
        metavar="N",
        help="rows read at a time; no result depends on it (default: 32768)",
    )


def add_file_options(group: "argparse._ArgumentGroup") -> None:
    """Declare the options for reading a file."""
    group.add_argument(
        "--format",
        choices=FORMATS,
        help="format of the file (default: by its name, or by its first bytes)",
    )
    group.add_argument(
        "--no-header",
        action="store_true",
        help="the first line of a CSV file is data; columns are named 1, 2, …",
    )
    group.add_argument(
        "--delimiter",
        type=delimiter,
        metavar="C",
        help="delimiter of a CSV file: a character, or tab, comma, semicolon, pipe, "
        "space (default: detected)",
    )
    group.add_argument(
        "--encoding",
        type=encoding,
        metavar="NAME",
        help="encoding of text, such as utf-8, utf-16 or cp1252 (default: detected)",
    )
    group.add_argument(
        "--skip-rows",
        type=natural,
        default=0,
        metavar="N",
        help="number of lines to skip before the header of a CSV file (default: 0)",
    )
    group.add_argument(
        "--comment",
        metavar="TEXT",
        help="skip lines of a CSV file that begin with this text, such as #",
    )
    group.add_argument(
        "--na",
        nargs="+",
        action="extend",
        default=[],
        metavar="TEXT",
        help="texts in a CSV file that mean a missing value, besides an empty cell, ?, "
        "NA, N/A, n/a, NaN and null (and -, . and none in columns of numbers)",
    )
    group.add_argument(
        "--decimal",
        type=number_sign,
        action="append",
        default=[],
        metavar="[COLUMN=]C",
        help="decimal separator of all columns or of one: . or , (default: .)",
    )
    group.add_argument(
        "--thousands",
        type=number_sign,
        action="append",
        default=[],
        metavar="[COLUMN=]C",
        help="thousands separator of all columns or of one: a comma, a dot, ', _ or "
        "space (default: none)",
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
        help="features of a sparse file are numbered from 0, not from 1",
    )


def _add_results(group: "argparse._ArgumentGroup", stream: bool) -> None:
    group.add_argument(
        "--metrics",
        nargs="+",
        choices=METRICS,
        default=[],
        metavar="NAME",
        help="more columns in the table: accuracy, error, macro_f1, "
        "balanced_accuracy, kappa, kappa_temporal; for learners with probabilities "
        "also log_loss, brier, calibration_error, auc, average_precision, best_f1; for "
        "RPNB also coverage",
    )
    group.add_argument(
        "--predictions",
        type=Path,
        metavar="CSV",
        help="write row, true label, prediction and its probability to this file",
    )
    group.add_argument(
        "--no-probabilities",
        action="store_true",
        help="omit probabilities from the predictions and the report: much faster for "
        "learners that change with every row",
    )
    group.add_argument(
        "--report", type=Path, metavar="HTML", help="write an HTML report with charts"
    )
    group.add_argument(
        "--save",
        type=Path,
        metavar="MODEL",
        required=not stream,
        help="save the model, with its labels and categories, at the end",
    )
    if stream:
        group.add_argument(
            "--load",
            type=Path,
            metavar="MODEL",
            help="resume training of a model written by --save",
        )
    group.add_argument(
        "--window",
        type=positive,
        default=1000,
        metavar="N",
        help="number of rows for the windowed error (default: 1000)",
    )
    group.add_argument(
        "--json", action="store_true", help="print a JSON object instead of a table"
    )
    group.add_argument("--quiet", action="store_true", help="show no progress")


def run(arguments: argparse.Namespace) -> int:
    """Evaluate the learners and print the results; return the exit code."""
    if getattr(arguments, "engine", "process") == "spark":
        from rpnb.cli.run.on_spark import run_on_spark

        return run_on_spark(arguments)
    from rpnb.cli.run.streaming import stream

    return stream(arguments)
