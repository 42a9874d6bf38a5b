"""The command line that benchmarks on the paper's streams share."""

import argparse
import os
from collections.abc import Sequence


def read_command_line(
    doc: str, *, repeat: int, names: Sequence[str] = ()
) -> argparse.Namespace:
    """Return the options, and let datasets be looked for where --data says.

    Parameters
    ----------
    doc
        The benchmark's docstring: its first line is the description.
    repeat
        How often to measure, unless told otherwise.
    names
        The streams to measure on, unless others are named; without any, the benchmark
        has a stream of its own.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    if names:
        parser.add_argument("names", nargs="*", default=names, metavar="NAME")
    parser.add_argument("--repeat", type=int, default=repeat)
    parser.add_argument("--data", help="folder with the paper's files")
    arguments = parser.parse_args()
    if arguments.data:
        os.environ["RPNB_DATA"] = arguments.data
    return arguments
