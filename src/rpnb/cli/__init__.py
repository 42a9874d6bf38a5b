"""The command line: `rpnb COMMAND`, one module per command.

A command's module has `declare(parser)`, which declares its arguments, and
`run(arguments)`, which executes it and returns the exit code. Modules that are slow to
import are imported there.
"""

import argparse
import os
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from types import FrameType
from typing import NoReturn

from rpnb._version import __version__

#: Module and summary of each command. A command's module is imported only when the
#: command is called, so that the others and --help start fast.
COMMANDS = {
    "run": (
        "run.arguments",
        "follow a stream: predict each row of a file, then learn it",
    ),
    "fit": (
        "run.fit",
        "learn a table in random order, and save the model",
    ),
    "compare": (
        "run.compare",
        "compare learners on a file or dataset in one pass",
    ),
    "predict": (
        "predict",
        "predict the rows of a file with a saved model",
    ),
    "learners": (
        "learner_list",
        "list the learners, when to use each, and their parameters",
    ),
    "paper": (
        "paper",
        "reproduce the paper's evaluation",
    ),
    "datasets": (
        "datasets",
        "list the paper's datasets and their sources",
    ),
    "serve": (
        "serve",
        "serve predictions over HTTP and learn as labels arrive",
    ),
    "backtest": (
        "backtest",
        "try other learners on the log of a service",
    ),
    "completion": (
        "completion",
        "print a completion script for bash, zsh or fish",
    ),
}

#: Bad usage or bad input.
BAD_INPUT = 2
# Longest argument that a message repeats in full.
_LONGEST_WORD = 60
#: The exit code of a program ended by Ctrl-C, as shells report it.
INTERRUPTED = 130


class CommandError(Exception):
    """A command failed for the reason in the message."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code, 0 on success.

    Parameters
    ----------
    argv
        Arguments of the command; by default those of the process.
    """
    if argv is None:
        # As a program: until there are results to lose, Ctrl-C ends it at once. An
        # exception in the middle of an import might be swallowed.
        signal.signal(signal.SIGINT, _leave)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # It was closed: discard output, and let no other file take its number.
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Characters that a terminal lacks, such as arrows, become question marks.
            stream.reconfigure(errors="replace")
    words = sys.argv[1:] if argv is None else argv
    return execute(_parser(words), argv)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End the process at once, on Ctrl-C."""
    with suppress(OSError):
        start = b"\n" if os.isatty(2) else b""
        os.write(2, start + b"rpnb: stopped by Ctrl-C\n")
    os._exit(INTERRUPTED)


def interrupts_raise() -> None:
    """Let Ctrl-C raise KeyboardInterrupt, for commands that have files to close."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def execute(parser: argparse.ArgumentParser, argv: Sequence[str] | None = None) -> int:
    """Parse arguments, run their command, and return the exit code."""
    try:
        arguments, unknown = parser.parse_known_args(argv)
    except SystemExit as end:  # argparse has printed the error, or the help
        return int(end.code or 0)
    words = sys.argv[1:] if argv is None else argv
    name = " ".join(filter(None, [parser.prog, getattr(arguments, "command", None)]))
    if unknown:
        return _failed(
            f"{name}: {_unknown_word_message(parser, arguments, unknown[0], name)}"
        )
    for word in words:
        if "\0" in word:  # only possible for callers from Python
            shown = _short(word)
            return _failed(
                f"{parser.prog}: an argument contains a null character: {shown!r}"
            )
    arguments.command_line = shlex.join([*shlex.split(parser.prog), *words])
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        return _failed(f"{name}: {error}")
    except KeyboardInterrupt:
        _failed(f"{name}: stopped by Ctrl-C")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has closed it, as `head` does.
        _discard_output()
        return 1
    except MemoryError as error:
        return _failed(f"{name}: not enough memory: {error}")
    except OSError as error:
        _discard_output()
        where = f"{error.filename}: " if error.filename else ""
        return _failed(f"{name}: {where}{error.strerror or error}")
    return code


def _unknown_word_message(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace, word: str, name: str
) -> str:
    """Return a message about an argument that a command does not have."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            parser = action.choices[arguments.command]
    options = [option for each in parser._actions for option in each.option_strings]
    word = _short(word)
    if not word.startswith("-"):
        return f"unexpected argument {word!r}; `{name} --help` lists the arguments"
    close = get_close_matches(word.split("=")[0], options, 1, 0.7)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"unknown option {word}{hint}; `{name} --help` lists all options"


def _short(word: str) -> str:
    """Return an argument of the user, shortened for a message."""
    return word if len(word) <= _LONGEST_WORD else word[: _LONGEST_WORD - 1] + "…"


def _failed(message: str) -> int:
    """Write an error message; return the exit code."""
    with suppress(OSError):
        start = "\n" if message.endswith("Ctrl-C") and sys.stderr.isatty() else ""
        sys.stderr.write(f"{start}{message}\n")
    return BAD_INPUT


def _discard_output() -> None:
    """Discard all further output to the standard output."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return a parser for these arguments; by default for all commands."""
    parser = argparse.ArgumentParser(
        prog="rpnb",
        description="Online classification of data streams.",
    )
    parser.add_argument("--version", action="version", version=f"rpnb {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    called = None if words is None else next((w for w in words if w[:1] != "-"), "")
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        if called in (None, name):
            import_module(f"{__name__}.{module}").declare(command)
    return parser
