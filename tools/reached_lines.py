"""Which tests reach a line: recorded once, by running them all, and kept.

The tests run in a copy of the tree with coverage.py, which notes for each test the
lines of the package that it reaches, in its own process and in those it starts: once
compiled, and those of the core once more uncompiled, where the lines of kernels are
seen. Tests of the service and of Spark run in their own environments, where these are,
and those of CapyMOA start it in its own. What is recorded is kept beside a copy of the
sources, so lines are found again after edits, and only tests whose file is new or has
changed are recorded again. Kernels that they compile are kept beside the sources.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from coverage import Coverage, CoverageData

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "reached"
PLUGIN = Path(__file__).parent / "recording"
CAPYMOA = Path(sys.prefix) / "capymoa"
#: Examples of a property while lines are recorded.
EXAMPLES = "3"


@dataclass(frozen=True, slots=True)
class Suite:
    """Some of the tests, and how they are run."""

    name: str
    words: tuple[str, ...]  # what pytest is told to run
    flags: tuple[str, ...] = ()
    python: str = sys.executable
    jit: bool = True

    def has(self, file: str) -> bool:
        """Say whether tests of a file belong to it."""
        if self.words:
            return file.startswith(self.words)
        return not file.startswith(("tests/serve", "tests/spark"))

    def variables(self, tree: Path) -> dict[str, str]:
        """Return the environment of a run in a tree."""
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(PLUGIN)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RPNB_SHARED": "",  # of mistakes nothing is of use to others
            "PYSPARK_PYTHON": self.python,
            "RPNB_CAPYMOA_ENV": str(CAPYMOA) if CAPYMOA.exists() else "",
            "NUMBA_DISABLE_JIT": "0" if self.jit else "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }


def suites(serve: str | None, spark: str | None) -> list[Suite]:
    """Return the suites that can run, given interpreters of other environments."""
    found = [
        Suite("compiled", ()),
        Suite("uncompiled", ("tests/core",), jit=False),
    ]
    if serve is not None:
        found.append(Suite("serve", ("tests/serve",), python=serve))
    if spark is not None:
        found.append(Suite("spark", ("tests/spark",), ("-W", "default"), python=spark))
    return found


def copy_tree(root: Path, folder: Path) -> Path:
    """Return a copy of what git knows, or would, and of compiled kernels."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],  # noqa: S607
        cwd=root,
        capture_output=True,
        check=True,
    )
    names = [Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name]
    _copy([name for name in names if (root / name).is_file()], root, folder)
    copy_kernels(root, folder)
    return folder


def copy_kernels(root: Path, folder: Path) -> None:
    """Make the compiled kernels of a tree those of another, where they are valid too.

    Code that was compiled of other sources takes the place of what was there.
    """
    for path in (folder / "src").rglob("*.nb?"):
        path.unlink()
    _copy([p.relative_to(root) for p in (root / "src").rglob("*.nb?")], root, folder)


def _copy(names: Iterable[Path], root: Path, folder: Path) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, folder / name)


def record(
    suite: Suite, words: Sequence[str], tree: Path, folder: Path, jobs: int = 2
) -> None:
    """Run tests of a suite and add what they reach to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        variables = suite.variables(tree) | {
            "RPNB_RECORDING": scratch,
            "RPNB_RECORDED": str(tree / "src" / "rpnb"),
            "RPNB_EXAMPLES": EXAMPLES,
        }
        variables.pop("PYTEST_CURRENT_TEST", None)  # of a test that records others
        flags = ["-q", "-p", "no:cacheprovider", "-p", "recording_plugin"]
        flags += [
            "--tb=no",
            f"--numprocesses={jobs}",
            "--dist=loadfile",
            *suite.flags,
        ]
        with (folder / "output.txt").open("a") as output:
            subprocess.run(  # noqa: S603 - our own interpreter
                [suite.python, "-m", "pytest", *flags, *words],
                cwd=tree,
                env=variables,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        recorder = Coverage(data_file=str(folder / "lines"), config_file=False)
        recorder.load()  # what is there is added to
        recorder.combine([scratch], keep=True)
        recorder.save()
        with (folder / "tests.jsonl").open("a", encoding="utf-8") as rows:
            for path in sorted(Path(scratch).glob("tests.*")):
                rows.write(path.read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class RecordedTest:
    """What is known of a test besides the lines it reaches."""

    file: str
    seconds: float  # of the processor
    failed: bool


class ReachedLines:
    """What one suite reached, to be asked which tests reach lines as they are now."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.root = root
        self.folder = folder
        self._data = CoverageData(str(folder / "lines"))
        self._data.read()
        #: A source has a name for each copy of the tree in which tests were recorded.
        self._names: dict[str, list[str]] = {}
        for name in self._data.measured_files():
            short = name[name.rindex("/src/rpnb/") + 1 :]
            self._names.setdefault(short, []).append(name)
        self.tests: dict[str, RecordedTest] = {}
        for line in (folder / "tests.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            file = row["test"].split("::")[0]
            test = RecordedTest(file, row["seconds"], row["failed"])
            self.tests[row["test"]] = test

    def reaching(self, path: Path, lines: Iterable[int]) -> set[str]:
        """Return the tests that reach any of these lines of a source, as it is now."""
        return set().union(*self.by_line(path, lines).values())

    def by_line(self, path: Path, lines: Iterable[int]) -> dict[int, set[str]]:
        """Return the tests that reach each of these lines of a source, as it is now."""
        names = self._names.get(path.as_posix(), [])
        if not names:
            return {}
        contexts = [self._data.contexts_by_lineno(name) for name in names]
        before = (self.folder.parent / "sources" / path).read_text(encoding="utf-8")
        after = (self.root / path).read_text(encoding="utf-8")
        then = earlier_lines(before, after)
        return {
            line: {
                test
                for of_copy in contexts
                for test in of_copy.get(then.get(line, 0), ())
                if test in self.tests and not self.tests[test].failed
            }
            for line in lines
        }


def earlier_lines(before: str, after: str) -> dict[int, int]:
    """Return, for each line of a text that an earlier text has too, its number there.

    A changed line has the number of the line before it that has not changed.
    """
    if before == after:
        return {line: line for line in range(1, after.count("\n") + 2)}
    old, new = before.splitlines(), after.splitlines()
    found: dict[int, int] = {}
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            found[block.b + step + 1] = block.a + step + 1
    last = 1
    for line in range(1, len(new) + 1):
        last = found.setdefault(line, last)
    return found


def changed_tests(kept: Path, root: Path) -> list[str]:
    """Return the test files that are new, or are not as they were when recorded."""
    changed = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        name = path.relative_to(root)
        earlier = kept / "sources" / name
        if not earlier.exists() or earlier.read_bytes() != path.read_bytes():
            changed.append(name.as_posix())
    return changed


def bring_up_to_date(chosen: Sequence[Suite], kept: Path = KEPT) -> None:
    """Record what has not been recorded, and again the test files that changed."""
    changed = changed_tests(kept, ROOT)
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)  # a test acts as another user
        tree = copy_tree(ROOT, Path(scratch))
        for suite in chosen:
            words: Sequence[str] = suite.words
            if (kept / suite.name / "tests.jsonl").exists():
                words = [name for name in changed if suite.has(name)]
                if not words:
                    continue
            print(f"recording {suite.name}: {' '.join(words) or 'all'}", flush=True)
            record(suite, words, tree, kept / suite.name)
            copy_kernels(tree, ROOT)
        for name in [*changed] if (kept / "sources").exists() else ["src", "tests"]:
            keep = shutil.copytree if (tree / name).is_dir() else shutil.copy
            (kept / "sources" / name).parent.mkdir(parents=True, exist_ok=True)
            keep(tree / name, kept / "sources" / name)
