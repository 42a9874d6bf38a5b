"""`rpnb compare`: `rpnb run` with several learners by default."""

import argparse

from rpnb.cli.run.arguments import add_arguments, run

#: The learners that are compared by default.
COMPARED = ("Pooled", "RPNB", "AROW", "SCW", "PA", "GaussianNB")


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "rpnb compare FILE --target COLUMN [options]"
    parser.description = (
        "Compare learners on a file, or on one of the paper's datasets, in one pass: "
        "each predicts every row before learning it. The table also has two simple "
        "references: the majority class, and the same label as last."
    )
    parser.add_argument(
        "--learners",
        dest="compare",
        nargs="+",
        default=list(COMPARED),
        metavar="NAME",
        help="learners to compare, separated by spaces or commas (default: "
        f"{' '.join(COMPARED)})",
    )
    add_arguments(parser)
    parser.set_defaults(run=run, model=None)
