"""One budget of memory for all requests in flight.

A request charges what it is about to take before that is allocated: its body as it
arrives, rows as they are decoded, answers. What does not fit beside the others is
answered 503, what would never fit 413. Charges are upper bounds by size, and end with
the request.
"""

import threading
from typing import final

from rpnb.serve.limits import ApiError, beyond


@final
class MemoryBudget:
    """Bytes that all requests in flight may take together.

    Parameters
    ----------
    total
        The limit, in bytes.
    """

    def __init__(self, total: int) -> None:
        self.total, self.used = total, 0
        self._lock = threading.Lock()

    def change(self, own: int, more: int) -> None:
        """Add bytes for a request that has charged `own` so far, or refuse."""
        if own + more > self.total:
            raise beyond("max_memory", self.total, "the request takes too much memory")
        with self._lock:
            if more > 0 and self.used + more > self.total:
                raise ApiError(
                    *(503, "memory"),
                    "the requests of this moment take all memory that they may: "
                    f"max_memory is {self.total:g}",
                )
            self.used += more


@final
class MemoryCharge:
    """What one request has charged.

    Parameters
    ----------
    budget
        The budget of the service; None for work that nobody has asked for.
    """

    def __init__(self, budget: MemoryBudget | None = None) -> None:
        self._budget, self._own = budget, 0

    def add(self, count: float) -> None:
        """Charge bytes before they are allocated; raise 413 or 503 if they do not fit.

        Any thread may call it.
        """
        if self._budget is not None:
            more = int(count)
            self._budget.change(self._own, more)
            self._own += more

    def release(self) -> None:
        """Give everything back: the request has ended."""
        if self._budget is not None:
            self._budget.change(self._own, -self._own)
            self._own = 0
