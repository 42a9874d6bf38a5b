"""The command line: `rpnb COMMAND`. One file a command.

A command's module has `add_parser(commands)`, which declares its arguments, and
`run(arguments)`, which does the work and returns the exit code. What is slow to import
is imported there.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

from rpnb._version import __version__

COMMANDS = ("run.command", "run.compare", "paper", "datasets")

#: Bad usage or bad input.
BAD_INPUT = 2
#: As a shell says that a program ended by Ctrl-C.
INTERRUPTED = 130


class CommandError(Exception):
    """A command cannot do as asked; the message says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 if all went well.

    Parameters
    ----------
    argv
        The arguments; by default those of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that has no arrow or dash gets a question mark.
            stream.reconfigure(errors="replace")
    return execute(_parser(), argv)


def execute(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> int:
    """Parse arguments, run what they ask for, and return the exit code."""
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has said what is wrong, or given help
        return int(end.code or 0)
    words = sys.argv[1:] if argv is None else argv
    arguments.command_line = shlex.join([*shlex.split(parser.prog), *words])
    name = " ".join(filter(None, [parser.prog, getattr(arguments, "command", None)]))
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; so be it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rpnb",
        description="Online classification by random projections and naive Bayes.",
    )
    parser.add_argument("--version", action="version", version=f"rpnb {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        import_module(f"{__name__}.{name}").add_parser(commands)
    return parser
