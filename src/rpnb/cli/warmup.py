"""`rpnb warmup`: compile beforehand what a first stream needs."""

import argparse
import sys
import time


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Compile the code of learners and keep it on the disk: in an image "
        "of a container, say, or after an update. Without it, the first run compiles "
        "what it needs."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="learners (default: RPNB and those that `rpnb compare` takes)",
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile, and say for which learner and how long."""
    from rpnb.cli.learners import class_of
    from rpnb.estimators.registry import ALIASES, COMPARED
    from rpnb.estimators.warm_up import warm_up

    names = list(arguments.names or COMPARED)
    for name in names:
        class_of(name)  # an error names similar ones
    begin = time.perf_counter()
    for done, name in enumerate(names, 1):
        if not arguments.quiet:
            sys.stderr.write(f"{done} of {len(names)}: {name} … ")
            sys.stderr.flush()
        start = time.perf_counter()
        warm_up([ALIASES.get(name, name)])
        if not arguments.quiet:
            sys.stderr.write(f"{time.perf_counter() - start:.1f} s\n")
    if not arguments.quiet:
        seconds = time.perf_counter() - begin
        sys.stdout.write(f"{len(names)} learners are compiled, in {seconds:.1f} s.\n")
    return 0
