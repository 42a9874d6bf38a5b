"""`python -m peers`: compare rpnb with other libraries, or measure its growth."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rpnb.cli import execute
from rpnb.cli.options import natural, positive

if TYPE_CHECKING:
    from peers.rounds import Plan

STREAMS = ("mixture", "random_rbf")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    return execute(_parser(), argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m peers",
        description="Give rpnb and other libraries the same rows in the same order, "
        "each row predicted before it is learned, on one thread, and compare rows per "
        "second, error, size of the model and memory. Every library runs in a process "
        "with its own environment, in interleaved rounds. Without options this needs "
        "neither network nor other libraries.",
        epilog="Rows per second are of processor time, from making the model to the "
        "last row learned; rows are converted in advance to the form of each library "
        "(arrays, dictionaries, MOA's instances, text lines). A learner that would "
        "need longer than --seconds gets the first rows only, and the table says how "
        "many.",
    )
    parser.add_argument(
        "--streams",
        nargs="+",
        default=list(STREAMS),
        metavar="NAME",
        help="mixture, random_rbf, led, hyperplane, sea, agrawal (drawn); with River "
        "also ImageSegments, Shuttle, Phishing, Bananas (permuted) and synth.NAME "
        f"(default: {' '.join(STREAMS)})",
    )
    parser.add_argument(
        "--peers",
        metavar="LIST",
        help="libraries by commas, of sklearn, river, capymoa, vw, vw-next; or none "
        "(default: those of sklearn and river that are installed)",
    )
    parser.add_argument(
        "--learners",
        metavar="LIST",
        help="learners by commas, named as in the progress lines; RPNB is always "
        "included (default: all of these libraries)",
    )
    parser.add_argument(
        "--environments",
        type=Path,
        metavar="DIR",
        help="folder with a virtual environment for each library, by its name "
        "(default: this environment)",
    )
    parser.add_argument(
        "--install",
        action="store_true",
        help="make these environments, with the newest releases",
    )
    parser.add_argument(
        "--rows",
        type=positive,
        default=5000,
        metavar="N",
        help="maximal rows of each stream (default: 5000)",
    )
    parser.add_argument(
        "--members",
        type=positive,
        default=200,
        metavar="K",
        help="members of RPNB and of bagging (default: 200)",
    )
    parser.add_argument(
        "--repeat",
        type=positive,
        metavar="N",
        help="rounds, each with its own permutation or draw (default: 3)",
        default=3,
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=1.0,
        metavar="S",
        help="time limit of a run (default: 1)",
    )
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="S", help="default: 0"
    )
    parser.add_argument(
        "--scale",
        action="store_true",
        help="standardise features in advance by the rows up to each, for all learners",
    )
    parser.add_argument(
        "--no-memory",
        dest="memory",
        action="store_false",
        help="do not measure sizes of models, which takes one new process each",
    )
    parser.add_argument(
        "--growth",
        action="store_true",
        help="instead, measure how the cost of RPNB grows with n, p, K and M",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for tables (Markdown, CSV) and charts (SVG; PNG with matplotlib)",
    )
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Measure, print the tables, and write files if asked to."""
    return _run_growth(arguments) if arguments.growth else _run_peers(arguments)


def _run_peers(arguments: argparse.Namespace) -> int:
    from peers.rounds import measure
    from peers.summary import summarise
    from peers.text_tables import table, write_tables
    from peers.worker_process import WorkerError
    from rpnb.cli import CommandError
    from rpnb.datasets import DatasetError
    from rpnb.report.table_text import to_text

    plan = _plan(arguments)
    try:
        outcome = measure(plan, _say)
    except (WorkerError, DatasetError, ImportError) as error:
        raise CommandError(str(error)) from error
    summaries = summarise(outcome)
    for stream in plan.streams:
        sys.stdout.write("\n" + to_text(table(stream, summaries, outcome)))
    if arguments.output is not None:
        files = write_tables(
            summaries, outcome, arguments.output, arguments.command_line
        )
        sys.stdout.write("\n" + "".join(f"{path}\n" for path in files))
    return 1 if outcome.failures else 0


def _plan(arguments: argparse.Namespace) -> "Plan":
    from peers.environments import MissingLibraryError, interpreter
    from peers.peers import select_learners
    from peers.rounds import Plan
    from peers.workloads import require_known
    from rpnb.cli import CommandError
    from rpnb.datasets import DatasetError

    if arguments.install and arguments.environments is None:
        raise CommandError("--install needs --environments, the folder to install in")
    try:
        for stream in arguments.streams:
            require_known(stream)
        peers = ["rpnb", *_peers(arguments.peers)]
        chosen = arguments.learners and arguments.learners.split(",")
        learners = select_learners(peers, chosen)
        interpreters = {
            name: interpreter(name, arguments.environments, arguments.install, _say)
            for name in dict(learners)
        }
    except (MissingLibraryError, DatasetError, ValueError) as error:
        raise CommandError(str(error)) from error
    return Plan(
        streams=tuple(dict.fromkeys(arguments.streams)),
        interpreters=interpreters,
        learners=learners,
        n=arguments.rows,
        K=arguments.members,
        rounds=arguments.repeat,
        seed=arguments.seed,
        limit=arguments.seconds,
        scale=arguments.scale,
        memory=arguments.memory,
    )


def _peers(listed: str | None) -> list[str]:
    from peers.environments import is_here
    from peers.peers import PEERS
    from rpnb.cli import CommandError

    if listed is None:
        return [name for name in ("sklearn", "river") if is_here(name)]
    names = [name for name in listed.split(",") if name not in ("", "none", "rpnb")]
    for name in names:
        if name not in PEERS:
            known = ", ".join(peer for peer in PEERS if peer != "rpnb")
            raise CommandError(f"--peers must be of {known}, got {name!r}")
    return list(dict.fromkeys(names))


def _run_growth(arguments: argparse.Namespace) -> int:
    from peers.charts import growth_chart
    from peers.growth import measure_growth, panels, table
    from peers.text_tables import write_growth
    from rpnb.report.table_text import to_text

    points = measure_growth(arguments.repeat, say=_say)
    shown = table(points)
    sys.stdout.write("\n" + to_text(shown))
    if arguments.output is not None:
        chart = growth_chart("How the seconds of a run grow", panels(points))
        files = write_growth(
            points, shown, chart, arguments.output, arguments.command_line
        )
        sys.stdout.write("\n" + "".join(f"{path}\n" for path in files))
    return 0


def _say(message: str) -> None:
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be positive, got {text!r}")
    return value


if __name__ == "__main__":
    sys.exit(main())
