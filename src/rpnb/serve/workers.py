"""One thread for each slow model, so that the other models do not wait for it."""

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import NamedTuple, final

from rpnb.serve.served_model import ServedModel

log = logging.getLogger("rpnb.serve")

#: Learning that takes more steps is left to the model's own thread.
MOST_STEPS = 5e7


class Job(NamedTuple):
    """A task of a model; tasks run in the order in which they were queued."""

    run: Callable[[], None]
    give_up: Callable[[], None]
    """called instead of `run` if no time is left"""
    steps: float = 0.0
    """estimated number of learning steps"""


@final
class ModelWorker:
    """Runs the jobs of a model, one after the other.

    Parameters
    ----------
    model
        Model of the jobs; its `backlog` counts the steps of unfinished ones.
    """

    def __init__(self, model: ServedModel) -> None:
        self._model = model
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._closing = False
        # A daemon: stopping does not wait for learning that takes minutes.
        self._thread = threading.Thread(
            target=self._run, name=f"rpnb-model-{model.id}", daemon=True
        )
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether jobs are unfinished."""
        return self._waiting > 0

    def submit(self, job: Job) -> None:
        """Queue a job."""
        with self._lock:
            self._waiting += 1
            self._model.backlog += job.steps
        self._jobs.put(job)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                (job.give_up if self._closing else job.run)()
            except Exception:
                log.exception("a job of a model failed")
                job.give_up()
            with self._lock:
                self._waiting -= 1
                self._model.backlog -= job.steps

    def close(self, seconds: float) -> bool:
        """Wait at most some seconds for the jobs; return whether all are done."""
        self._jobs.put(None)
        self._thread.join(max(seconds, 0.0))
        self._closing = True
        return not self._thread.is_alive()


@final
class ModelWorkers:
    """Threads of models, by number; a thread starts with the first job of its model."""

    def __init__(self) -> None:
        self._workers: dict[int, ModelWorker] = {}

    def busy(self, number: int) -> bool:
        """Return whether jobs of a model are unfinished."""
        return number in self._workers and self._workers[number].busy

    def all_busy(self) -> list[int]:
        """Return the models with unfinished jobs."""
        return [number for number, worker in self._workers.items() if worker.busy]

    def submit(self, model: ServedModel, job: Job) -> None:
        """Queue a job of a model."""
        if model.id not in self._workers:
            self._workers[model.id] = ModelWorker(model)
        self._workers[model.id].submit(job)

    def drop(self, present: set[int]) -> None:
        """Stop the threads of models that are not present any more."""
        for number in self._workers.keys() - present:
            self._workers.pop(number).close(0.0)

    def close(self, until: float) -> set[int]:
        """Wait for all jobs until a time; return the models with unfinished ones."""
        return {
            number
            for number, worker in self._workers.items()
            if not worker.close(until - time.monotonic())
        }
