"""The parent of the workers: distributes cases, and detects crashes and hangs."""

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from fuzzer.target import Case

#: Targets that are run by default: modules with a `TARGET`.
TARGETS = ("fuzzer.model_files", "fuzzer.calls", "fuzzer.data_files", "fuzzer.commands")
#: Targets that need the extra of the service: `make fuzz-serve`.
SERVICE_TARGETS = ("fuzzer.service", "fuzzer.damaged_logs")
#: Folder of failing cases.
CASES = Path(__file__).parents[2] / "tests" / "fuzz" / "cases"
#: Largest processor time of a case in seconds.
LONGEST = 5.0
# Largest processor time of preparing a target in seconds.
_PATIENCE = 300.0
# Largest ratio of elapsed time to the allowed processor time.
_WAITING = 6


class WorkerDiedError(Exception):
    """A worker has ended, or was killed because it did not answer."""


class CaseDiedError(WorkerDiedError):
    """The fork that ran a case has ended; its worker starts another one."""


class Worker:
    """A child process that runs cases, one after the other."""

    def __init__(self) -> None:
        log = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed by `close`
            prefix="rpnb-fuzz-", suffix=".log", delete=False
        )
        log.close()
        self.log = Path(log.name)
        places = [str(Path(__file__).parents[1]), *sys.path]
        self._folder = tempfile.mkdtemp(prefix="rpnb-fuzz-")
        variables = {
            "PYTHONPATH": os.pathsep.join(places),
            "OMP_NUM_THREADS": "1",
            "TMPDIR": self._folder,  # removed even after a kill
        }
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "fuzzer.worker", str(self.log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | variables,
            start_new_session=True,
        )
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        """Return the answer to a request, or raise WorkerDiedError.

        `seconds` limits the processor time, so that nothing counts as a hang on a busy
        machine. The elapsed time may be `_WAITING` times as long, which ends a case
        that waits forever.
        """
        assert self._process.stdin is not None
        line = ""
        with suppress(OSError):
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._answer(seconds)
        if not line:
            code = self._process.wait()
            raise WorkerDiedError(f"the process died: exit code {code}{self.printed()}")
        answer: dict[str, Any] = json.loads(line)
        if "died" in answer:
            code = answer["died"]
            raise CaseDiedError(f"the process died: exit code {code}{self.printed()}")
        return answer

    def _answer(self, seconds: float) -> str:
        start, before = time.monotonic(), self._cpu()
        while True:
            with suppress(queue.Empty):
                return self._answers.get(timeout=min(1.0, seconds))
            used, taken = self._cpu() - before, time.monotonic() - start
            if used > seconds or taken > _WAITING * seconds:
                self.close()
                raise WorkerDiedError(
                    f"no answer for {taken:.0f} s, of which it computed {used:.0f} s"
                )

    def _cpu(self) -> float:
        """Return the processor time of the process and its fork in seconds."""
        total, place = 0, Path("/proc", str(self._process.pid))
        with suppress(OSError):
            children = (place / f"task/{place.name}/children").read_text().split()
            for number in (place.name, *children):
                fields = Path("/proc", number, "stat").read_text().rpartition(")")[2]
                total += sum(map(int, fields.split()[11:13]))
        return total / os.sysconf("SC_CLK_TCK")

    def printed(self) -> str:
        """Return the end of the other output."""
        text = self.log.read_bytes()[-3000:].decode(errors="replace").strip()
        return f"\n{text}" if text else ""

    def close(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # and its fork
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self.log.unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)


def run_alone(target: str, case: Case, longest: float = LONGEST) -> str | None:
    """Run a case in its own process; return the finding, None if there is none.

    `longest` limits the processor time in seconds. A first run that takes longer may
    create things that cases share; only the second one counts.
    """
    worker = Worker()
    try:
        worker.ask(_PATIENCE, do="prepare", target=target)
        for attempt in range(2):
            seconds = 12 * LONGEST if attempt == 0 else 2 * longest
            answer = worker.ask(seconds, do="run", target=target, case=case)
            if answer["finding"] is not None:
                return str(answer["finding"])
            if attempt == 1 and answer["cpu"] > longest:
                return f"it took {answer['cpu']:.1f} s"
            if answer["cpu"] < longest:
                break
    except WorkerDiedError as error:
        return str(error)
    finally:
        printed = worker.printed() if worker.log.exists() else ""
        worker.close()
    return printed if "Traceback" in printed else None


def without_folders(text: str) -> str:
    """Return a traceback with paths relative to the repository, or file names only."""
    own = re.sub(r"/[^\s\"':]*/(?=(?:src|tools|tests)/)", "", text)
    return re.sub(r"(?<![\w.])/(?:[^\s\"'/:]+/)+(?=[^\s\"'/:]+)", "", own)


def write_case(target: str, seed: int, case: Case, finding: str, folder: Path) -> Path:
    """Write a failing case to a file; return its path."""
    why = without_folders(finding)
    content = {"target": target, "seed": seed, "finding": why, "case": case}
    name = sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.rpartition('.')[2]}-{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


@dataclass
class Tally:
    """Counts of cases, and findings."""

    cases: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    findings: list[tuple[str, int, str]] = field(default_factory=list)
    restarts: int = 0
    broken: int = 0
    """threads that ended by a bug of the fuzzer itself"""


def fuzz(
    targets: tuple[str, ...],
    seconds: float,
    seed: int,
    workers: int,
    folder: Path = CASES,
) -> Tally:
    """Run cases of all targets in turn for some seconds, after preparing them."""
    tally = Tally(dict.fromkeys(targets, 0), dict.fromkeys(targets, 0.0))
    turn = iter(range(1 << 62))
    lock = threading.Lock()
    until: list[float] = []
    ready = threading.Barrier(workers, lambda: until.append(time.monotonic() + seconds))

    def start() -> Worker:
        worker = Worker()
        for target in targets:
            worker.ask(_PATIENCE, do="prepare", target=target)
        return worker

    def work() -> None:
        try:
            worker = start()
        except WorkerDiedError:
            ready.abort()  # or the others would wait for it
            raise
        ready.wait()
        while time.monotonic() < until[0]:
            with lock:
                number = next(turn)
            target = targets[number % len(targets)]
            case_seed = (seed << 32) + number
            began = time.monotonic()
            case: Case | None = None
            try:
                finding, case = _run(worker, target, case_seed)
            except WorkerDiedError as error:
                finding, case = _confirm(target, case_seed, str(error))
                if not isinstance(error, CaseDiedError):
                    worker.close()
                    worker = start()
                tally.restarts += 1
            with lock:
                tally.cases[target] += 1
                tally.seconds[target] += time.monotonic() - began
                if finding is not None:
                    assert case is not None
                    path = write_case(target, case_seed, case, finding, folder)
                    tally.findings.append((target, case_seed, finding))
                    last = finding.strip().splitlines()[-1]
                    print(f"{path.name}: {last}", flush=True)
        worker.close()

    def guarded() -> None:
        try:
            work()
        except Exception:
            tally.broken += 1  # a bug of the fuzzer must not count as no findings
            raise

    threads = [threading.Thread(target=guarded) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _run(worker: Worker, target: str, seed: int) -> tuple[str | None, Case | None]:
    """Run a case; return the finding and the case.

    A slow case is run again alone: the machine may have been busy.
    """
    answer = worker.ask(6 * LONGEST, do="run", target=target, seed=seed)
    if answer["finding"] is not None:
        return str(answer["finding"]), answer["case"]
    if answer["cpu"] <= LONGEST:
        return None, None
    case = _made(target, seed)
    return run_alone(target, case), case


def _made(target: str, seed: int) -> Case:
    worker = Worker()
    try:
        case: Case = worker.ask(_PATIENCE, do="make", target=target, seed=seed)["case"]
        return case
    finally:
        worker.close()


def _confirm(target: str, seed: int, error: str) -> tuple[str | None, Case]:
    """Run a case that ended a worker again; return the finding and the case.

    A case that is slow only once does not count; a crash always does.
    """
    case = _made(target, seed)
    again = run_alone(target, case)
    if again is not None or "no answer" in error:
        return again, case
    return f"{error}\nnot again, when run alone", case
