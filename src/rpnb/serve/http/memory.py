"""A common memory budget for all requests in flight.

A request charges memory before it allocates it: for its body as it arrives, rows as
they are decoded, answers. It gets a 503 if that does not fit with the other requests,
and a 413 if it never would. Charges are upper bounds, and end with the request.
"""

import threading
from typing import final

from rpnb.serve.limits import ApiError, beyond


@final
class MemoryBudget:
    """Memory budget of all requests in flight.

    Parameters
    ----------
    total
        Limit in bytes.
    """

    def __init__(self, total: int) -> None:
        self.total, self.used = total, 0
        self._lock = threading.Lock()

    def change(self, own: int, more: int) -> None:
        """Charge more bytes for a request that has charged `own` so far, or refuse."""
        if own + more > self.total:
            raise beyond("max_memory", self.total, "the request takes too much memory")
        with self._lock:
            if more > 0 and self.used + more > self.total:
                raise ApiError(
                    *(503, "memory"),
                    "concurrent requests use all the memory allowed: max_memory is "
                    f"{self.total:g}",
                )
            self.used += more


@final
class MemoryCharge:
    """Memory charged by one request.

    Parameters
    ----------
    budget
        Budget of the service; None for work without a request.
    """

    def __init__(self, budget: MemoryBudget | None = None) -> None:
        self._budget, self._own = budget, 0

    def add(self, count: float) -> None:
        """Charge bytes before they are allocated; raise 413 or 503 if they do not fit.

        Safe to call from any thread.
        """
        if self._budget is not None:
            more = int(count)
            self._budget.change(self._own, more)
            self._own += more

    def release(self) -> None:
        """Release all charges of the request."""
        if self._budget is not None:
            self._budget.change(self._own, -self._own)
            self._own = 0
