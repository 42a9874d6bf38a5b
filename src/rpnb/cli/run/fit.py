"""`rpnb fit`: learn a table, whose rows have no order, and save the model."""

import argparse

from rpnb.cli.run.command import add_arguments, run

_ABOUT = """\
Learn a table: rows in any order, such as a file sorted by label. They are learned in a
random order, each predicted before it is learned, so that the error is one of rows that
the model had not seen. `rpnb predict` then predicts other rows by the model that --save
has written. For rows that arrive one after the other: `rpnb run`.
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
        help="the learner; `rpnb learners` lists them (default: Pooled)",
    )
    add_arguments(parser, stream=False)
    parser.set_defaults(run=run, compare=[], load=None, drift=None)
