"""A child process that runs cases: one line of JSON in, one line of JSON out."""

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
from typing import Any

import numpy as np

from fuzzer.target import Case, Finding, Target

#: Bytes that a case may take.
MOST_MEMORY = 2 << 30


def target_of(name: str) -> Target:
    """Return the target of a module's name."""
    target: Target = importlib.import_module(name).TARGET
    return target


def case_of(name: str, seed: int) -> Case:
    """Return the case of a seed: the same case for the same seed."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return target_of(name).make(rng)


def run_case(name: str, case: Case) -> str | None:
    """Run a case in a folder of its own; return what is wrong, None if nothing is."""
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
    """Let this process have as much memory as it has now, and `MOST_MEMORY` more."""
    status = Path("/proc/self/status").read_text()
    now = int(status.split("VmSize:")[1].split()[0]) << 10
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, hard))


def serve(log: Path) -> None:
    """Answer requests until the input ends; what else is printed goes to a file."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    printed = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    warnings.simplefilter("ignore")
    limited = False
    for line in requests:
        request: dict[str, Any] = json.loads(line)
        answer: dict[str, Any] = {}
        name = request["target"]
        if request["do"] == "warm up":
            target_of(name).warm_up()
        elif request["do"] == "make":
            answer["case"] = case_of(name, request["seed"])
        else:
            if not limited:
                limit_memory()
                limited = True
            case = request.get("case") or case_of(name, request["seed"])
            start, cpu = time.monotonic(), time.process_time()
            answer["finding"] = run_case(name, case)
            answer["seconds"] = time.monotonic() - start
            answer["cpu"] = time.process_time() - cpu
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
