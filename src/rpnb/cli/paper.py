"""`rpnb paper`: reproduce the paper's evaluation, with tables and a report."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rpnb.cli.options import add_data_folder, natural, positive

if TYPE_CHECKING:
    from rpnb.study.analysis import StudyAnalysis
    from rpnb.study.plan import Plan

RESULTS = Path("results", "paper.jsonl")


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.description = (
        "Reproduce the evaluation of the paper and compare it with the printed values: "
        "each method runs on random permutations of each dataset, predicting every row "
        "before learning it. Results are saved run by run; after an interruption, the "
        "same command resumes."
    )
    parser.add_argument(
        "--datasets",
        nargs="+",
        metavar="NAME",
        help="datasets to include (default: the paper's 33)",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="NAME",
        help="methods to include, besides majority class and no change (default: the "
        "paper's six)",
    )
    parser.add_argument(
        "--permutations",
        type=positive,
        metavar="N",
        help="number of permutations of each dataset (default: 10)",
    )
    parser.add_argument(
        "--seed",
        type=natural,
        default=0,
        metavar="S",
        help="random seed of permutations and learners (default: 0)",
    )
    parser.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="number of worker processes (default: one per core)",
    )
    add_data_folder(parser)
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        metavar="FILE",
        help=f"file for the results, one line per run (default: {RESULTS})",
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="DIR",
        help="folder for the tables and the report (default: next to the results, with "
        "the same name)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="3 permutations of the datasets with at most 1500 rows and 50 features, "
        "unless other options override this",
    )
    parser.add_argument(
        "--offline",
        action="store_true",
        help="only datasets that need no network: those in the package and those with "
        "a file in --data",
    )
    parser.add_argument(
        "--reading",
        choices=("paper", "true"),
        default="paper",
        help="version of the data: as the paper must have used it (paper), or as "
        "published (true) (default: paper)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the study, print its tables, write its report, and return the exit code."""
    from rpnb.cli import BAD_INPUT, INTERRUPTED, CommandError, interrupts_raise
    from rpnb.cli.progress_line import Display, duration, line
    from rpnb.report.table_text import to_text
    from rpnb.study.analysis import analyse
    from rpnb.study.plan import PlanError, make_plan
    from rpnb.study.run import ResultsBusyError
    from rpnb.study.run import run as run_plan
    from rpnb.study.text_tables import terminal_tables
    from rpnb.study.worker_pool import WorkersLostError

    interrupts_raise()
    start = time.monotonic()
    display = Display(sys.stderr, line)
    try:
        plan = make_plan(
            arguments.datasets,
            arguments.methods,
            permutations=arguments.permutations,
            seed=arguments.seed,
            reading=arguments.reading,
            data=arguments.data,
            quick=arguments.quick,
            offline=arguments.offline,
        )
        sys.stderr.write(_announce(plan) + "\n")
        outcome = run_plan(plan, arguments.results, jobs=arguments.jobs, watch=display)
    except (PlanError, ResultsBusyError, WorkersLostError, OSError) as error:
        raise CommandError(str(error)) from error
    finally:
        display.close()
    for failure in outcome.failures:
        where = failure.dataset + (f", {failure.method}" if failure.method else "")
        sys.stderr.write(f"failed: {where}: {failure.message}\n")
    if outcome.interrupted:
        sys.stderr.write(
            f"Stopped. {len(outcome.records)} of {plan.n_runs} runs are in "
            f"{arguments.results}; the same command resumes from there.\n"
        )
        return INTERRUPTED
    if outcome.records:
        analysis = analyse(outcome.records, plan.datasets)
        for table in terminal_tables(analysis, plan.methods):
            sys.stdout.write("\n" + to_text(table))
        sys.stdout.write(
            f"\n{len(outcome.records)} runs, {outcome.computed} of them new, in "
            f"{duration(time.monotonic() - start)}.\n"
        )
        report = _write_report(analysis, arguments)
        sys.stdout.write(f"results  {arguments.results}\nreport   {report}\n")
    if any(failure.method is None for failure in outcome.failures):
        return BAD_INPUT
    return 1 if outcome.failures else 0


def _announce(plan: "Plan") -> str:
    return (
        f"{_count(plan.datasets, 'dataset')} × {_count(plan.methods, 'method')} × "
        f"{plan.permutations} permutation{'s' * (plan.permutations > 1)} = "
        f"{plan.n_runs} runs, seed {plan.seed}"
    )


def _count(things: Sequence[object], name: str) -> str:
    return f"{len(things)} {name}{'s' * (len(things) != 1)}"


def _write_report(analysis: "StudyAnalysis", arguments: argparse.Namespace) -> Path:
    from rpnb.cli import CommandError
    from rpnb.study.page.report_files import write_report

    directory: Path = arguments.report or arguments.results.with_suffix("")
    if directory == arguments.results:  # it has no suffix
        directory = directory.with_name(directory.name + "-report")
    try:
        return write_report(analysis, directory, arguments.command_line)
    except OSError as error:
        raise CommandError(f"the report cannot be written: {error}") from error
