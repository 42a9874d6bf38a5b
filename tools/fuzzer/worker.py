"""A child process that runs cases: one line of JSON in, one line of JSON out.

It prepares what cases use, and runs them in a fork of itself, which is quick to replace
when a case ends it.
"""

import importlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np

from fuzzer.target import Case, Finding, Target

#: Largest memory of a case in bytes.
MOST_MEMORY = 2 << 30


def target_of(name: str) -> Target:
    """Return the target of a module."""
    target: Target = importlib.import_module(name).TARGET
    return target


def case_of(name: str, seed: int) -> Case:
    """Return the case of a seed, always the same one."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return target_of(name).make(rng)


def run_case(name: str, case: Case) -> str | None:
    """Run a case in its own folder; return the finding, None if there is none."""
    folder = Path(tempfile.mkdtemp(prefix="rpnb-fuzz-"))
    here = os.getcwd()
    try:
        target_of(name).run(case, folder)
    except Finding as finding:
        return str(finding)
    except BaseException:  # noqa: BLE001, RUF100 - whatever comes is the finding
        return traceback.format_exc()
    finally:
        os.chdir(here)
        shutil.rmtree(folder, ignore_errors=True)
    return None


def limit_memory() -> None:
    """Limit the memory of this process to what it has now plus `MOST_MEMORY`."""
    status = Path("/proc/self/status").read_text()
    now = int(status.split("VmSize:")[1].split()[0]) << 10
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, hard))


#: Number of cases after which a fork is replaced, to limit their side effects.
MOST_CASES = 2000


def serve(log: Path) -> None:
    """Answer requests until the input ends; other output goes to a file."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    warnings.simplefilter("ignore")
    while line := requests.readline():
        request: dict[str, Any] = json.loads(line)
        name = request["target"]
        answer: dict[str, Any] = {}
        if request["do"] == "run":
            _in_a_fork(request, requests, answers)
            continue
        if request["do"] == "prepare":
            target_of(name).prepare()
        else:
            answer["case"] = case_of(name, request["seed"])
        _write(answers, answer)


def _write(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _in_a_fork(request: dict[str, Any], requests: IO[str], answers: IO[str]) -> None:
    """Let a fork run this case and the following ones; report if a case ends it.

    There is one request at a time, so none is left in a buffer of either process.
    """
    number = os.fork()
    if number == 0:
        code = _FAILED
        try:
            limit_memory()
            code = _run_cases(request, requests, answers)
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    if code not in (_ENDED, _REPLACED):
        _write(answers, {"died": code})


# Exit codes of a fork: end of the input, many cases, bug of the fuzzer.
_ENDED, _REPLACED, _FAILED = 0, 90, 91


def _run_cases(request: dict[str, Any], requests: IO[str], answers: IO[str]) -> int:
    for number in range(MOST_CASES):
        name = request["target"]
        case = request.get("case") or case_of(name, request["seed"])
        start, cpu = time.monotonic(), time.process_time()
        answer: dict[str, Any] = {"finding": run_case(name, case)}
        if answer["finding"] is not None:
            answer["case"] = case
        answer["seconds"] = time.monotonic() - start
        answer["cpu"] = time.process_time() - cpu
        _write(answers, answer)
        if number == MOST_CASES - 1:
            break
        line = requests.readline()
        if not line:
            return _ENDED
        request = json.loads(line)
        assert request["do"] == "run", "a worker that runs cases does nothing else"
    return _REPLACED


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
