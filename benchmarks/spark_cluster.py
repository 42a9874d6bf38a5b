"""A standalone cluster of Spark on this machine: a master and workers as processes.

For tests and benchmarks. Needs PySpark: `tools/extra_environment.py spark` has it.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import rpnb

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR = b"CoarseGrainedExecutorBackend"
# Far longer than a start takes on a busy machine.
_PATIENCE = 180.0


def environment() -> dict[str, str]:
    """Return the environment for all processes of a cluster, on the loopback only."""
    import pyspark

    return {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path(rpnb.__file__).parents[1]),
    }


def free_port() -> int:
    """Return a free port of the loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Cluster:
    """A master and workers of one core each; use it as a context.

    Parameters
    ----------
    folder
        Folder for logs and the workers' files.
    workers
        Number of workers.
    memory
        Memory of a worker, in Spark's notation.
    """

    def __init__(self, folder: Path, workers: int = 2, memory: str = "1g") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._memory = folder, memory
        self._count = workers
        self._started = 0
        self.port = free_port()
        self.master: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """Where drivers find the master."""
        return f"spark://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        at = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", "0"]
        self.master = self._run("master", _MASTER, *at)
        self._wait("I have been elected leader", 1)
        for _ in range(self._count):
            self.add_worker()
        return self

    def __exit__(self, *_: object) -> None:
        executors = [pid for worker in self.workers for pid in executors_of(worker.pid)]
        for process in (*self.workers, self.master):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        for pid in executors:
            kill(pid)

    def add_worker(self) -> None:
        """Start a worker and wait until the master knows it."""
        self._started += 1
        self.workers.append(
            self._run(
                f"worker{self._started}",
                _WORKER,
                *("--host", "127.0.0.1", "--cores", "1", "--memory", self._memory),
                *("--webui-port", "0", "--work-dir", str(self._folder / "work")),
                self.url,
            )
        )
        self._wait("Registering worker", self._started)

    def kill_worker(self, number: int) -> None:
        """Kill a worker and start another; its executors end with it."""
        self.stop_worker(number)
        self.add_worker()

    def stop_worker(self, number: int) -> None:
        """Kill a worker, and start no other."""
        worker = self.workers.pop(number)
        worker.kill()
        worker.wait()

    def executors(self) -> list[int]:
        """Return the ids of the processes that execute tasks."""
        return [pid for worker in self.workers for pid in executors_of(worker.pid)]

    def _run(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        variables = environment()
        command = [f"{variables['SPARK_HOME']}/bin/spark-class", *words]
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - programs of Spark
                command, stdout=log, stderr=subprocess.STDOUT, env=variables
            )

    def _wait(self, text: str, times: int) -> None:
        """Wait until the master's log has a text a number of times."""
        log = self._folder / "master.log"
        until = time.monotonic() + _PATIENCE
        while log.read_text(errors="replace").count(text) < times:
            if time.monotonic() > until:
                raise TimeoutError(f"no {text!r} in {log}:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)


def executors_of(worker: int) -> list[int]:
    """Return the executors among the processes that a worker has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (entry / "cmdline").read_bytes()
        except (OSError, IndexError, ValueError):
            continue
        if parent == worker and _EXECUTOR in words:
            found.append(int(entry.name))
    return found


def kill(pid: int) -> bool:
    """Kill a process at once; return whether it was there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def session(master: str, settings: Mapping[str, Any] | None = None) -> Any:
    """Return a session on a cluster, for a driver on this machine."""
    from pyspark.sql import SparkSession

    os.environ.update(environment())
    builder = SparkSession.builder.master(master).appName("rpnb")
    fixed = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.executor.memory": "700m",
        "spark.task.maxFailures": "20",
        "spark.stage.maxConsecutiveAttempts": "20",
        "spark.executorEnv.PYTHONPATH": environment()["PYTHONPATH"],
    }
    for name, value in {**fixed, **(settings or {})}.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found
