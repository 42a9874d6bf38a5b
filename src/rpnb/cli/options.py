"""Options shared by commands, and types of options that check their values."""

import argparse
from pathlib import Path


def add_data_folder(parser: argparse.ArgumentParser) -> None:
    """Declare the option for the folder of the paper's datasets."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with data files <name>.csv.gz (default: the environment variable "
        "RPNB_DATA)",
    )


def positive(text: str) -> int:
    """Return a whole number of at least 1."""
    value = natural(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return value


def share(text: str) -> float:
    """Return a number above 0 and at most 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 1.0:
        raise argparse.ArgumentTypeError(f"must be above 0 and at most 1, got {text}")
    return value


def natural(text: str) -> int:
    """Return a whole number of at least 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}")
    return value


def delimiter(text: str) -> str:
    """Return the delimiter of columns."""
    from rpnb.files.formats.dialect import delimiter_named

    try:
        return delimiter_named(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def encoding(text: str) -> str:
    """Return the name of an encoding of text."""
    from rpnb.files.formats.encodings import check_encoding

    try:
        return check_encoding(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def number_sign(text: str) -> tuple[str | None, str]:
    """Return a column, None for all, and a sign that its numbers contain.

    >>> number_sign("price=comma"), number_sign("dot"), number_sign("'")
    (('price', ','), (None, '.'), (None, "'"))
    """
    from rpnb.files.encoding.number_text import SIGNS

    column, _, word = text.rpartition("=")
    sign = SIGNS.get(word.lower(), word)
    if sign not in SIGNS.values():
        raise argparse.ArgumentTypeError(
            f"must be one of {', '.join(SIGNS)} or the sign itself, got {text!r}"
        )
    return column or None, sign
