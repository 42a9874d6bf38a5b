"""Put random small mistakes into the sources, and see which of them no test notices.

Each mutant is one edit of one file: an operator or comparison exchanged, a condition
negated, a constant changed, a statement dropped, a value not returned. The tests that
are nearest to the file (mirrored folders, then the import graph) run against it until
one fails. Mutants that survive are printed as patches: either the edit changes nothing
that matters, or a test is missing. The same seed and sources give the same mutants.

A mutant of the core runs its tests uncompiled first, since any change there makes all
compiled kernels stale; if it survives that, the few nearest tests run compiled. Time is
counted in processor seconds. A mutant that reaches the limit is "undecided" and is not
counted as caught: it may be a loop that does not end, or only kernels that take long to
compile again.

Why not an existing tool: mutmut 3 puts all mutants of a function beside it in one file
and chooses among them when it is called, which Numba cannot compile, and leaves code
outside functions alone. Cosmic Ray runs one command for every mutant, edits files in
place, and lists all mutations of a project (here over ten thousand) before it runs any.

Run: python tools/mutants.py [N] [--seed 0] [--only src/rpnb/files]
"""

import argparse
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

from mutations import Mutation, mutations
from nearest_tests import NearestTests

ROOT = Path(__file__).parents[1]
COPIED = ("src", "tests", "benchmarks", "docs", "conftest.py", "pyproject.toml")
#: Their tests need environments of their own (`make test-capymoa`, `make test-spark`).
LEFT_OUT = ("src/rpnb/capymoa.py", "src/rpnb/cli/run/on_spark.py", "src/rpnb/spark/")
#: Compiling takes most of the time of a compiled run of a mutant of the core.
COMPILED_FILES = 2
PASSED = 0
SOME_FAILED = 1
NOTHING_RAN = 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: "caught", "undecided" or "survived"; and its tests."""

    mutation: Mutation
    outcome: str
    files: tuple[Path, ...]


def run_tests(
    tree: Path, words: Sequence[object], limit: float, *, jit: bool
) -> tuple[int, str]:
    """Run pytest in a copy of the tree; return its exit code and what it printed.

    `limit` is in processor seconds; waiting counts a tenth. The code is negative if the
    limit was reached.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_DISABLE_JIT": "0" if jit else "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    flags = ("-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-rfE")
    command = [sys.executable, "-m", "pytest", *flags, *map(str, words)]

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1))

    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            command,
            cwd=tree,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=bounded,
            start_new_session=True,
        )
        try:
            code = process.wait(10.0 * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def judge(
    mutation: Mutation,
    tree: Path,
    files: tuple[Path, ...],
    limit: float,
    left_out: Sequence[str] = (),
) -> Verdict:
    """Put a mutant into a copy of the tree, run its tests and take it out again."""
    path = tree / mutation.path
    source = path.read_bytes()
    core = mutation.path.parts[2] == "core"
    runs = [(files, True)]
    if core:
        inner = tuple(file for file in files if file.parts[1] == "core")
        runs = [(inner, False), (files[:COMPILED_FILES], True)]
    if b">>> " in source and not core:
        runs.append(((mutation.path,), True))
    path.write_bytes(mutation.apply(source))
    try:
        for chosen, jit in runs:
            if not chosen:
                continue
            code, _ = run_tests(tree, ["-x", *left_out, *chosen], limit, jit=jit)
            if code < 0:
                return Verdict(mutation, "undecided", files)
            if code not in (PASSED, NOTHING_RAN):
                return Verdict(mutation, "caught", files)
        return Verdict(mutation, "survived", files)
    finally:
        path.write_bytes(source)


def draw(n: int, seed: int, only: str) -> list[Mutation]:
    """Return n different mutations of the sources below a folder, in random order."""
    found: list[Mutation] = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        relative = path.relative_to(ROOT)
        name = relative.as_posix()
        if name.startswith(only) and not name.startswith(LEFT_OUT):
            found += mutations(relative, path.read_bytes())
    return random.Random(seed).sample(found, min(n, len(found)))  # noqa: S311 - no secret


def copy_tree(folder: Path) -> Path:
    """Return a copy of what tests need, compiled kernels included."""
    for name in COPIED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    return folder


def fail_unmutated(tree: Path, files: Sequence[Path]) -> list[str]:
    """Return options that leave out tests that fail anyway; compile what is new.

    They fail on this machine, at this moment, and would seem to catch every mutant.
    """
    core = [file for file in files if file.parts[1] == "core"]
    failed = set()
    for chosen, jit in ((files, True), (core, False)):
        if chosen:
            code, output = run_tests(tree, chosen, 3600.0, jit=jit)
            if code not in (PASSED, SOME_FAILED):
                raise SystemExit(f"the tests do not run:\n{output}")
            failed |= set(re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE))
    for name in sorted(failed):
        print(f"left out, fails without any mutation: {name}", flush=True)
    return [f"--deselect={name}" for name in sorted(failed)]


def main(words: Sequence[str] | None = None) -> int:
    """Draw mutants, run their tests, print the survivors; 1 if there are too many."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="?", default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="src", help="what paths begin with")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--files", type=int, default=8, help="test files for a mutant")
    parser.add_argument("--limit", type=float, default=120.0, help="processor seconds")
    parser.add_argument("--at-least", type=float, default=0.9, help="share to catch")
    options = parser.parse_args(words)
    drawn = draw(options.n, options.seed, options.only)
    tests = NearestTests(ROOT)
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as folder:
        free: Queue[Path] = Queue()
        first = Path(folder, "0")
        first.mkdir()
        copy_tree(first)
        nearest = {m.path: tuple(tests.nearest(m.path, options.files)) for m in drawn}
        files = sorted({file for some in nearest.values() for file in some})
        print(f"{len(drawn)} mutants, {len(files)} files of tests", flush=True)
        left_out = fail_unmutated(first, files)
        free.put(first)
        for job in range(1, options.jobs):
            free.put(shutil.copytree(first, Path(folder) / str(job)))

        def work(mutation: Mutation) -> Verdict:
            tree = free.get()
            try:
                files = nearest[mutation.path]
                return judge(mutation, tree, files, options.limit, left_out)
            finally:
                free.put(tree)

        with ThreadPoolExecutor(options.jobs) as pool:
            for verdict in pool.map(work, drawn):
                verdicts.append(verdict)
                report(verdict, len(verdicts), len(drawn))
    return summarise(verdicts, options.at_least)


def report(verdict: Verdict, number: int, total: int) -> None:
    """Print one line for a mutant, and the patch of one that survived."""
    mutation = verdict.mutation
    place = f"{mutation.path}:{mutation.line}"
    print(f"{number}/{total} {verdict.outcome}: {place} {mutation.kind}", flush=True)
    if verdict.outcome == "survived":
        print(mutation.diff((ROOT / mutation.path).read_bytes()))
        print(f"tests: {' '.join(map(str, verdict.files))}\n", flush=True)


def summarise(verdicts: Sequence[Verdict], at_least: float) -> int:
    """Print counts by kind of mutation; return the exit code."""
    caught = Counter(v.mutation.kind for v in verdicts if v.outcome == "caught")
    total = Counter(v.mutation.kind for v in verdicts)
    for kind, count in sorted(total.items()):
        print(f"{kind:20} {caught[kind]:4} of {count:4} caught")
    undecided = sum(v.outcome == "undecided" for v in verdicts)
    share = caught.total() / max(len(verdicts), 1)
    print(f"{'all':20} {caught.total():4} of {len(verdicts):4} caught: {share:.1%}")
    print(f"{undecided} undecided at the limit of time, counted as not caught")
    return int(share < at_least)


if __name__ == "__main__":
    sys.exit(main())
