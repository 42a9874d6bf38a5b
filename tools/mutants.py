"""Put random small mistakes into the sources, and see which of them no test notices.

Each mutant is one edit of one file: an operator or comparison exchanged, a condition
negated, a constant changed, a statement dropped, a value not returned. The tests that
reach the line (`reached_lines`) run against it until one fails, those of the nearest
files first. Mutants that survive are printed as patches: either the edit changes
nothing that matters, or a test is missing. The same seed and sources give the same
mutants.

A mutant of the core runs its tests uncompiled first, since a change there makes
compiled kernels stale; if it survives that, a few of the nearest tests run compiled.
Time is counted in processor seconds. Tests that need many times as long as without the
mistake have noticed it; where kernels must be compiled again, they have not: such a
mutant is "undecided". Tests of the service, of Spark and of CapyMOA run in their
environments, where these are (make test-serve, test-spark, test-capymoa); without them
a mutant that only they reach is "not run" or "not reached". None counts as caught. At
the end, the tests that failed run once more without any mistake: a mutant that was
caught by a test that fails anyway is "undecided" too.

Why not an existing tool: mutmut 3 puts all mutants of a function beside it in one file
and chooses among them when it is called, which Numba cannot compile, and leaves code
outside functions alone. Cosmic Ray runs one command for every mutant, edits files in
place, and lists all mutations of a project (here over ten thousand) before it runs any.

Run: python tools/mutants.py [N] [--seed 0] [--only src/rpnb/files]
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from queue import Queue

from mutations import Mutation, mutations
from nearest_tests import NearestTests
from reached_lines import (
    KEPT,
    ROOT,
    ReachedLines,
    RecordedTest,
    Suite,
    bring_up_to_date,
    copy_kernels,
    copy_tree,
    suites,
)
from where_used import Sources

#: Processor seconds of the tests that run against one mutant, and of compiled tests of
#: a mutant of the core, which are compiled first (and how long both may take together);
#: and how many files they come from.
BUDGET = 60.0
COMPILED_BUDGET = 30.0
COMPILED_LIMIT = 360.0
MOST_FILES = 16
#: Seconds that tests may wait in vain, for an answer that never comes.
LONGEST_WAIT = 600.0
MOST_SPARK_FILES = 3
EXAMPLES = "25"
#: Tests that divide by processor time, whose clock is coarse where there is a limit.
TIMED = "tests/benchmarks/"
PASSED = 0
NOTHING_RAN = 5
OUT_OF_TIME = -1000


@dataclass(frozen=True, slots=True)
class Run:
    """Tests to run against a mutant: names of tests, or of files if none is known."""

    suite: Suite | None  # None where its environment is missing
    tests: tuple[str, ...]
    limit: float
    compiles: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant, the test that noticed it, and how many ran."""

    mutation: Mutation
    outcome: str  # caught, caught by time, survived, undecided, not run, not reached
    suite: Suite | None = None
    test: str = ""
    n_tests: int = 0
    seconds: float = 0.0


def run_tests(tree: Path, run: Run) -> tuple[int, str]:
    """Run tests in a copy of the tree; return pytest's exit code and what it printed.

    Waiting counts a tenth of processor time, up to `LONGEST_WAIT`. The code is
    `OUT_OF_TIME` if a limit was reached; that of a process that crashed is another
    negative number.
    """
    assert run.suite is not None
    flags = ["-q", "-x", "-p", "no:cacheprovider", "-p", "choosing_plugin"]
    flags += ["--no-header", "--tb=no", "-rfE", *run.suite.flags]
    files = list(dict.fromkeys(test.split("::")[0] for test in run.tests))
    limit = int(run.limit)

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))

    with tempfile.TemporaryFile() as output, tempfile.NamedTemporaryFile() as chosen:
        chosen.write(json.dumps(run.tests).encode())
        chosen.flush()
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [run.suite.python, "-m", "pytest", *flags, *files],
            cwd=tree,
            env=run.suite.variables(tree)
            | {"RPNB_CHOSEN": chosen.name, "RPNB_EXAMPLES": EXAMPLES},
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=bounded,
            start_new_session=True,
        )
        try:
            code = process.wait(min(10.0 * limit, limit + LONGEST_WAIT))
            if code in (-signal.SIGXCPU, -signal.SIGKILL):
                code = OUT_OF_TIME
        except subprocess.TimeoutExpired:
            code = OUT_OF_TIME
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # servers that are left
            process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def judge(mutation: Mutation, tree: Path, runs: Sequence[Run]) -> Verdict:
    """Put a mutant into a copy of the tree, run its tests and take it out again."""
    path = tree / mutation.path
    source = path.read_bytes()
    n_tests, start = sum(len(run.tests) for run in runs), time.monotonic()

    def verdict(outcome: str, run: Run | None = None, test: str = "") -> Verdict:
        suite, seconds = run.suite if run else None, time.monotonic() - start
        return Verdict(mutation, outcome, suite, test, n_tests, seconds)

    if not runs:
        return verdict("not reached")
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(mutation.apply(source))
    missing = False
    try:
        for run in runs:
            if run.suite is None:
                missing = True
                continue
            code, output = run_tests(tree, run)
            if code == OUT_OF_TIME:
                return verdict("undecided" if run.compiles else "caught by time", run)
            if code not in (PASSED, NOTHING_RAN):
                failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", output, re.M)
                return verdict("caught", run, failed.group(1) if failed else "")
        return verdict("not run" if missing else "survived")
    finally:
        path.write_bytes(source)
        os.utime(path, ns=times)  # its bytecode is valid again


class Chooser:
    """Which tests run against a mutant."""

    def __init__(
        self,
        chosen: Sequence[Suite],
        kept: Path,
        root: Path,
        budget: float = BUDGET,
        compiled_limit: float = COMPILED_LIMIT,
    ) -> None:
        self.budget = budget
        self.compiled_limit = compiled_limit
        self.nearest = NearestTests(root)
        self.sources = Sources(root)
        self.suites = {suite.name: suite for suite in chosen}
        self.recorded = {
            name: ReachedLines(kept / name, root)
            for name in self.suites
            if (kept / name / "lines").exists()
        }

    def runs(self, mutation: Mutation) -> list[Run]:
        """Return what to run, in order."""
        near = self.nearest.nearest(mutation.path, 1000)
        ranks = {file.as_posix(): rank for rank, file in enumerate(near)}
        if mutation.path.parts[2] != "core":
            return [
                *self._of("compiled", mutation, ranks),
                *self._others(mutation, ranks),
            ]
        runs = self._of("uncompiled", mutation, ranks)
        # Of compiled kernels no line is seen: what reaches it uncompiled does so here,
        # and so may the nearest tests, of which some take too long uncompiled.
        files = {test.split("::")[0] for run in runs for test in run.tests}
        files |= set(list(ranks)[:2])
        few = min(self.budget, COMPILED_BUDGET)
        for run in self._of("compiled", mutation, ranks, few, files):
            limit = self.compiled_limit
            runs.append(Run(run.suite, run.tests, limit, compiles=True))
        return runs

    def _others(self, mutation: Mutation, ranks: dict[str, int]) -> list[Run]:
        """Return runs in other environments, of modules that only these can run.

        Most servers of the tests end by being killed, so what they reached is not
        known: those tests come first that are known to reach the line, then all others.
        """
        folder = mutation.path.parts[2]
        name = {"client": "serve"}.get(folder, folder)
        if mutation.path.stem == "on_spark":
            name = "spark"
        if name not in ("serve", "spark"):
            return []
        if name not in self.suites:
            return [Run(None, (), 0.0)]
        if name not in self.recorded:
            files = [file for file in ranks if self.suites[name].has(file)]
            return [Run(self.suites[name], tuple(files[:MOST_SPARK_FILES]), 300.0)]
        tests = self.recorded[name].tests
        first = [test for run in self._of(name, mutation, ranks) for test in run.tests]
        places = {file: rank for rank, file in enumerate(sorted(ranks))}
        others = set(tests) - set(first)
        rest = choose(others, tests, places, float("inf"), len(tests))
        return [Run(self.suites[name], (*first, *rest), 480.0)]

    def _of(
        self,
        name: str,
        mutation: Mutation,
        ranks: dict[str, int],
        budget: float | None = None,
        files: Collection[str] = (),
    ) -> list[Run]:
        recorded = self.recorded[name]
        reaching = {t for t, known in recorded.tests.items() if known.file in files}
        for places in self.sources.lines(mutation.path, mutation.line):
            found: set[str] = set()
            for path, lines in places.items():
                found |= recorded.reaching(path, lines)
            if found:
                reaching |= found
                break
        reaching = {test for test in reaching if not test.startswith(TIMED)}
        if not reaching:
            return []
        beside = self.sources.beside(mutation.path, mutation.line)
        tests = choose(
            reaching,
            recorded.tests,
            ranks,
            budget or self.budget,
            beside_line=recorded.by_line(mutation.path, beside).values(),
        )
        expected = sum(recorded.tests[test].seconds for test in tests)
        return [Run(self.suites[name], tuple(tests), 60.0 + 6.0 * expected)]


def choose(
    reaching: Iterable[str],
    tests: dict[str, RecordedTest],
    ranks: dict[str, int],
    budget: float,
    most_files: int = MOST_FILES,
    beside_line: Iterable[set[str]] = (),
) -> list[str]:
    """Return tests worth `budget` processor seconds: those that reach a line, in turns.

    First, for each line of the same function, whose tests are in `beside_line`, comes
    the cheapest test that reaches both: a mistake in a condition shows in the branch
    that few tests take. Then files take turns, the nearest first, the cheapest test of
    each first. Then come the other tests of these files: one that shares a fitted
    model, or a server, may be the one that looks at it, and only the first is known to
    reach what makes it.
    """
    last = len(ranks)
    reaching = set(reaching)
    files = sorted(
        {tests[test].file for test in reaching},
        key=lambda file: (ranks.get(file, last), file),
    )[:most_files]
    chosen: list[str] = []
    left = budget

    def take(test: str) -> None:
        nonlocal left
        cost = max(tests[test].seconds, 0.02)
        if test not in chosen and (cost <= left or not chosen):
            chosen.append(test)
            left -= cost

    for some in sorted((each & reaching for each in beside_line), key=len):
        if 0 < len(some) < len(reaching):
            take(min(some, key=lambda test: (tests[test].seconds, test)))
    beside = {test for test, known in tests.items() if known.file in files}
    for some in (reaching, beside - reaching):
        turns = []
        for rank, file in enumerate(files):
            of_file = [
                test
                for test in some
                if tests[test].file == file and not tests[test].failed
            ]
            of_file.sort(key=lambda test: (tests[test].seconds, test))
            turns += [(turn, rank, test) for turn, test in enumerate(of_file)]
        for *_, test in sorted(turns):
            take(test)
    return chosen


def draw(n: int, seed: int, only: str) -> list[Mutation]:
    """Return n different mutations of the sources below a folder, in random order."""
    found: list[Mutation] = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        relative = path.relative_to(ROOT)
        if relative.as_posix().startswith(only):
            found += mutations(relative, path.read_bytes())
    return random.Random(seed).sample(found, min(n, len(found)))  # noqa: S311 - no secret


def keep_bytecode(tree: Path) -> None:
    """Write bytecode of sources and tests, which runs against mutants do not.

    A mistake may leave the size and the second of a file as they were, by which Python
    knows whether bytecode is valid.
    """
    variables = Suite("compiled", ()).variables(tree)
    del variables["PYTHONDONTWRITEBYTECODE"]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--co"],
        cwd=tree,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )


def not_by_the_mistake(verdicts: Sequence[Verdict], tree: Path) -> set[str]:
    """Return those of the tests that noticed something that fail without a mistake."""
    failing: set[str] = set()
    caught = [each for each in verdicts if each.test and each.suite]
    caught.sort(key=lambda each: each.suite.name if each.suite else "")
    for _, group in groupby(caught, lambda each: each.suite):
        some = list(group)
        tests = tuple(sorted({each.test for each in some}))
        while tests:
            code, output = run_tests(tree, Run(some[0].suite, tests, 3600.0))
            found = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", output, re.M)
            if code in (PASSED, NOTHING_RAN) or not found:
                break
            failing |= set(found)
            tests = tuple(test for test in tests if test not in failing)
    return failing


def main(words: Sequence[str] | None = None) -> int:
    """Draw mutants, run their tests, print the survivors; 1 if there are too many."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="?", default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="src", help="what paths begin with")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--at-least", type=float, default=0.9, help="share to catch")
    parser.add_argument("--numbers", help="only these of the mutants drawn: 3,17")
    parser.add_argument(
        "--budget", type=float, default=BUDGET, help="seconds of tests for a mutant"
    )
    parser.add_argument(
        "--compiled-limit",
        type=float,
        default=COMPILED_LIMIT,
        help="seconds for compiling changed kernels and running tests of them",
    )
    environments = Path(sys.prefix)
    parser.add_argument("--serve", default=environments / "serve/bin/python", type=Path)
    parser.add_argument("--spark", default=environments / "spark/bin/python", type=Path)
    options = parser.parse_args(words)
    drawn = list(enumerate(draw(options.n, options.seed, options.only), 1))
    if options.numbers:
        wanted = set(map(int, options.numbers.split(",")))
        drawn = [each for each in drawn if each[0] in wanted]
    there = [
        str(path) if path.exists() else None for path in (options.serve, options.spark)
    ]
    chosen = suites(*there)
    bring_up_to_date([suite for suite in chosen if suite.name != "spark"])
    chooser = Chooser(chosen, KEPT, ROOT, options.budget, options.compiled_limit)
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # a test acts as another user
        free: Queue[Path] = Queue()
        first = copy_tree(ROOT, Path(folder, "0"))
        keep_bytecode(first)
        free.put(first)
        for job in range(1, options.jobs):
            free.put(shutil.copytree(first, Path(folder) / str(job)))

        def work(numbered: tuple[int, Mutation]) -> Verdict:
            tree = free.get()
            try:
                return judge(numbered[1], tree, chooser.runs(numbered[1]))
            finally:
                # The next mutant needs kernels that were compiled without a mistake.
                if numbered[1].path.parts[2] == "core":
                    copy_kernels(ROOT, tree)
                free.put(tree)

        with ThreadPoolExecutor(options.jobs) as pool:
            done = zip(drawn, pool.map(work, drawn), strict=True)
            for (number, _), verdict in done:
                verdicts.append(verdict)
                report(verdict, number, len(drawn))
        failing = not_by_the_mistake(verdicts, first)
    for name in sorted(failing):
        print(f"fails without any mutation: {name}", flush=True)
    return summarise(verdicts, failing, options.at_least)


def report(verdict: Verdict, number: int, total: int) -> None:
    """Print one line for a mutant, and the patch of one that was not noticed."""
    mutation = verdict.mutation
    place = f"{mutation.path}:{mutation.line}"
    tests = f"{verdict.n_tests} tests, {verdict.seconds:.0f} s {verdict.test}"
    print(f"{number}/{total} {verdict.outcome}: {place} {mutation.kind}; {tests}")
    if not verdict.outcome.startswith("caught"):
        print(mutation.diff((ROOT / mutation.path).read_bytes()))
    sys.stdout.flush()


def summarise(verdicts: Sequence[Verdict], failing: set[str], at_least: float) -> int:
    """Print counts by kind of mutation and by outcome; return the exit code."""
    outcomes = Counter(
        "undecided" if each.test in failing else each.outcome for each in verdicts
    )
    caught = Counter(
        each.mutation.kind
        for each in verdicts
        if each.outcome.startswith("caught") and each.test not in failing
    )
    total = Counter(each.mutation.kind for each in verdicts)
    for kind, count in sorted(total.items()):
        print(f"{kind:20} {caught[kind]:4} of {count:4} caught")
    share = caught.total() / max(len(verdicts), 1)
    print(f"{'all':20} {caught.total():4} of {len(verdicts):4} caught: {share:.1%}")
    print(", ".join(f"{name}: {count}" for name, count in sorted(outcomes.items())))
    return int(share < at_least)


if __name__ == "__main__":
    sys.exit(main())
