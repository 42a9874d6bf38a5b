"""`rpnb compare`: `rpnb run` with several learners by default."""

import argparse

from rpnb.cli.run.command import add_arguments, run
from rpnb.estimators.registry import COMPARED


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "rpnb compare FILE --target COLUMN [options]"
    parser.description = (
        "Compare learners on a file, or on one of the paper's datasets, in "
        "one pass: each predicts every row before it learns it. The table has "
        "majority class and same as last besides."
    )
    parser.add_argument(
        "--learners",
        dest="compare",
        nargs="+",
        default=list(COMPARED),
        metavar="NAME",
        help=f"which (default: {' '.join(COMPARED)})",
    )
    add_arguments(parser)
    parser.set_defaults(run=run, model=None)
