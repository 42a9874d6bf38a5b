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

#: By name: the module, and what the list of commands says. A command's module is
#: imported when the command is called, so that the others, and --help, take no time.
COMMANDS = {
    "run": (
        "run.command",
        "follow a stream: predict each row of a file, then learn it",
    ),
    "fit": (
        "run.fit",
        "learn a table, in random order, and save the model",
    ),
    "compare": (
        "run.compare",
        "compare learners on a file or dataset, in one pass",
    ),
    "predict": (
        "predict",
        "predict the labels of a file's rows by a saved model",
    ),
    "learners": (
        "catalogue",
        "list the learners, their parameters, and when to take which",
    ),
    "paper": (
        "paper",
        "run the paper's evaluation and compare it with the printed values",
    ),
    "datasets": (
        "datasets",
        "list the paper's datasets, and where their rows come from",
    ),
    "serve": (
        "serve",
        "answer predictions over HTTP, and learn when labels come",
    ),
    "backtest": (
        "backtest",
        "replay other learners over the log of a service",
    ),
    "completion": (
        "completion",
        "print a script for the completion of commands by bash, zsh or fish",
    ),
}

#: Bad usage or bad input.
BAD_INPUT = 2
# Characters of a user's word that a message repeats.
_LONGEST_WORD = 60
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
    if argv is None:
        # A process of its own: until there is something to lose, Ctrl-C ends it at
        # once. Raised as an exception it might be lost in the middle of an import.
        signal.signal(signal.SIGINT, _leave)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # It was closed: what is written goes nowhere, and no file takes its place.
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - until the end
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Characters that a terminal lacks, such as arrows, become question marks.
            stream.reconfigure(errors="replace")
    words = sys.argv[1:] if argv is None else argv
    return execute(_parser(words), argv)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """End the process: what Ctrl-C does."""
    with suppress(OSError):
        start = b"\n" if os.isatty(2) else b""
        os.write(2, start + b"rpnb: stopped by Ctrl-C\n")
    os._exit(INTERRUPTED)


def interrupts_raise() -> None:
    """Let Ctrl-C raise KeyboardInterrupt: for commands that have files to close."""
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
        if "\0" in word:  # no system lets it in; callers from Python may
            shown = _short(word)
            return _failed(
                f"{parser.prog}: an argument has a null character: {shown!r}"
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
        return _failed(f"{name}: there is not enough memory: {error}")
    except OSError as error:
        _discard_output()
        where = f"{error.filename}: " if error.filename else ""
        return _failed(f"{name}: {where}{error.strerror or error}")
    return code


def _unknown_word_message(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace, word: str, name: str
) -> str:
    """Return what is wrong with a word that a command does not take."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            parser = action.choices[arguments.command]
    options = [option for each in parser._actions for option in each.option_strings]
    word = _short(word)
    if not word.startswith("-"):
        return f"{word!r} is one word too many; `{name} --help` says what it takes"
    close = get_close_matches(word.split("=")[0], options, 1, 0.7)
    hint = f"; close to it: {close[0]}" if close else ""
    return f"there is no option {word}{hint}; `{name} --help` lists them"


def _short(word: str) -> str:
    """Return a word of the user's, cut to what a message has room for."""
    return word if len(word) <= _LONGEST_WORD else word[: _LONGEST_WORD - 1] + "…"


def _failed(message: str) -> int:
    """Write a line on what went wrong; return the exit code."""
    with suppress(OSError):
        start = "\n" if message.endswith("Ctrl-C") and sys.stderr.isatty() else ""
        sys.stderr.write(f"{start}{message}\n")
    return BAD_INPUT


def _discard_output() -> None:
    """Let what is still to be written to the standard output go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of these arguments, or of all that there may be."""
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
