"""The command line: `rpnb COMMAND`, one module per command.

A command's module has `add_parser(commands)`, which declares its arguments, and
`run(arguments)`, which executes it and returns the exit code. Modules that are slow to
import are imported there.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module

from rpnb._version import __version__

#: By name: the module, and what the list of commands says. A command's module is
#: imported when the command is called, so that the others, and --help, take no time.
COMMANDS = {
    "run": (
        "run.command",
        "learn from a file, predicting each row before learning it",
    ),
    "compare": (
        "run.compare",
        "compare learners on a file or dataset, in one pass",
    ),
    "paper": (
        "paper",
        "run the paper's evaluation and compare it with the printed values",
    ),
    "datasets": (
        "datasets",
        "list the paper's datasets, and where their rows come from",
    ),
}

#: Bad usage or bad input.
BAD_INPUT = 2
#: The exit code of a program ended by Ctrl-C, as shells report it.
INTERRUPTED = 130


class CommandError(Exception):
    """A command failed; the message says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code, 0 on success.

    Parameters
    ----------
    argv
        The arguments; by default those of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Characters that a terminal lacks, such as arrows, become question marks.
            stream.reconfigure(errors="replace")
    words = sys.argv[1:] if argv is None else argv
    return execute(_parser(words), argv)


def execute(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> int:
    """Parse arguments, run their command, and return the exit code."""
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has printed the error, or the help
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
        # The reader of our output has closed it, as `head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of these arguments, or of all that there may be."""
    parser = argparse.ArgumentParser(
        prog="rpnb",
        description="Online classification by random projections and naive Bayes.",
    )
    parser.add_argument("--version", action="version", version=f"rpnb {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    called = None if words is None else next((w for w in words if w[:1] != "-"), "")
    for name, (module, summary) in COMMANDS.items():
        if called in (None, name):
            import_module(f"{__name__}.{module}").add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    return parser
