"""The parent of the workers: hands out cases, and notices death and hanging."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from fuzzer.target import Case

#: Targets that are run by default: modules with a `TARGET`.
TARGETS = ("fuzzer.model_files", "fuzzer.calls", "fuzzer.data_files", "fuzzer.commands")
#: Where failing cases are kept.
CASES = Path(__file__).parents[2] / "tests" / "fuzz" / "cases"
#: Seconds that a case may take.
LONGEST = 5.0
# Compiling, on a machine that has other things to do, may take as long.
_PATIENCE = 300.0


class WorkerDiedError(Exception):
    """A worker has ended, or was ended because it gave no answer."""


class Worker:
    """A child process that runs cases of one target after the other."""

    def __init__(self) -> None:
        log = tempfile.NamedTemporaryFile(  # noqa: SIM115 - closed by `close`
            prefix="rpnb-fuzz-", suffix=".log", delete=False
        )
        log.close()
        self.log = Path(log.name)
        places = [str(Path(__file__).parents[1]), *sys.path]
        variables = {"PYTHONPATH": os.pathsep.join(places), "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "fuzzer.worker", str(self.log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env=os.environ | variables,
        )
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        """Return the answer to a request, or raise WorkerDiedError."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.close()
            raise WorkerDiedError(f"no answer for {seconds:.0f} s") from None
        except OSError:
            line = ""
        if not line:
            code = self._process.wait()
            raise WorkerDiedError(f"the process died: exit code {code}{self.printed()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def printed(self) -> str:
        """Return the end of what was printed beside the answers."""
        text = self.log.read_bytes()[-3000:].decode(errors="replace").strip()
        return f"\n{text}" if text else ""

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        self.log.unlink(missing_ok=True)


def run_alone(target: str, case: Case, longest: float = LONGEST) -> str | None:
    """Run a case in a process of its own; return what is wrong, None if nothing is.

    `longest` are the seconds that it may take. The first run compiles what it needs;
    only the second may not take long.
    """
    worker = Worker()
    try:
        for attempt in range(2):
            seconds = _PATIENCE if attempt == 0 else 6 * longest
            answer = worker.ask(seconds, do="run", target=target, case=case)
            if answer["finding"] is not None:
                return str(answer["finding"])
            if attempt == 1 and answer["cpu"] > longest:
                return f"it took {answer['cpu']:.1f} s"
            if answer["seconds"] < longest:
                break
    except WorkerDiedError as error:
        return str(error)
    finally:
        printed = worker.printed() if worker.log.exists() else ""
        worker.close()
    return printed if "Traceback" in printed else None


def write_case(target: str, seed: int, case: Case, finding: str, folder: Path) -> Path:
    """Keep a failing case as a file; return its path."""
    content = {"target": target, "seed": seed, "finding": finding, "case": case}
    name = sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{target.rpartition('.')[2]}-{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


@dataclass
class Tally:
    """What was run, and found."""

    cases: dict[str, int] = field(default_factory=dict)
    findings: list[tuple[str, int, str]] = field(default_factory=list)
    restarts: int = 0


def fuzz(
    targets: tuple[str, ...],
    seconds: float,
    seed: int,
    workers: int,
    folder: Path = CASES,
) -> Tally:
    """Run cases of all targets in turn for some time, after everything is warm."""
    tally = Tally(dict.fromkeys(targets, 0))
    turn = iter(range(1 << 62))
    lock = threading.Lock()
    until: list[float] = []
    ready = threading.Barrier(workers, lambda: until.append(time.monotonic() + seconds))

    def start() -> Worker:
        worker = Worker()
        for target in targets:
            worker.ask(_PATIENCE, do="warm up", target=target)
        return worker

    def work() -> None:
        worker = start()
        ready.wait()
        while time.monotonic() < until[0]:
            with lock:
                number = next(turn)
            target = targets[number % len(targets)]
            case_seed = (seed << 32) + number
            finding: str | None
            try:
                finding = _run(worker, target, case_seed)
            except WorkerDiedError as error:
                finding = _confirm(target, case_seed, str(error))
                worker.close()
                worker = start()
                tally.restarts += 1
            with lock:
                tally.cases[target] += 1
                if finding is not None:
                    case = _made(target, case_seed)
                    path = write_case(target, case_seed, case, finding, folder)
                    tally.findings.append((target, case_seed, finding))
                    print(
                        f"{path.name}: {finding.strip().splitlines()[-1]}", flush=True
                    )
        worker.close()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _run(worker: Worker, target: str, seed: int) -> str | None:
    """Run a case; return what is wrong. One that took long may have been compiling."""
    for _ in range(2):
        answer = worker.ask(12 * LONGEST, do="run", target=target, seed=seed)
        if answer["finding"] is not None:
            return str(answer["finding"])
        if answer["cpu"] <= LONGEST:
            return None
    return f"it took {answer['cpu']:.1f} s"


def _made(target: str, seed: int) -> Case:
    worker = Worker()
    try:
        case: Case = worker.ask(_PATIENCE, do="make", target=target, seed=seed)["case"]
        return case
    finally:
        worker.close()


def _confirm(target: str, seed: int, error: str) -> str | None:
    """Return what is wrong with a case that ended a worker.

    A case that only took long to compile is none; a death always counts.
    """
    again = run_alone(target, _made(target, seed))
    if again is not None or "no answer" in error:
        return again
    return f"{error}\nnot again, when run alone"
