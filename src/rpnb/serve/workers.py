"""A thread per model that learns slowly, so that the others do not wait for it."""

import logging
import queue
import threading
from collections.abc import Callable
from typing import NamedTuple, final

from rpnb.serve.models import ServedModel

log = logging.getLogger("rpnb.serve")


class Job(NamedTuple):
    """Something to be done in the order in which it was handed over."""

    run: Callable[[], None]
    give_up: Callable[[], None]
    """Called instead of `run` if there is no time left."""
    steps: float = 0.0
    """About how many steps it takes."""


@final
class ModelWorker:
    """Does the jobs of a model, one after the other.

    Parameters
    ----------
    model
        Its `backlog` is the steps of the jobs that are not done.
    """

    def __init__(self, model: ServedModel) -> None:
        self._model = model
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._closing = False
        # Stopping does not wait for a step of learning that takes minutes.
        self._thread = threading.Thread(
            target=self._run, name=f"rpnb-model-{model.id}", daemon=True
        )
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether there are jobs that are not done."""
        return self._waiting > 0

    def hand_over(self, job: Job) -> None:
        """Add a job."""
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
        """Finish the jobs if there is time; return whether all are done."""
        self._jobs.put(None)
        self._thread.join(max(seconds, 0.0))
        self._closing = True
        return not self._thread.is_alive()
