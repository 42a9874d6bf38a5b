"""`rpnb fit`: learn a table in random order, and save the model."""

import argparse

from rpnb.cli.run.arguments import add_arguments, run

_ABOUT = """\
Learn a table, in which the order of the rows has no meaning, such as one sorted by
label. Rows are shuffled, and each is predicted before it is learned, so the error is
that on rows the model has not seen. `rpnb predict` then predicts new rows with the
saved model. For rows that arrive over time, use `rpnb run` instead.
"""
_EXAMPLES = """\
examples:
  rpnb fit rows.csv --target label --save model.rpnb
  rpnb predict new.csv --load model.rpnb
"""


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.usage = "rpnb fit FILE --target COLUMN --save MODEL [options]"
    parser.description = _ABOUT
    parser.epilog = _EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="the learner; `rpnb learners` lists all (default: Pooled)",
    )
    add_arguments(parser, stream=False)
    parser.set_defaults(run=run, compare=[], load=None, drift=None)
