"""Whether a fast kernel pays although it has to be compiled first.

Slower code that needs fewer kernels gives the same result, to the bit. It is used until
its time has reached that of compiling the fast kernel. Ski-rental rule: at most twice
the optimal time, whatever comes (Karlin, Manasse, Rudolph & Sleator, 1988). A stream of
some hundred rows ends long before.
"""

from typing import Any

from rpnb.core.kernels.compiling.readiness import is_ready, readiness


class CompilingBudget:
    """Decides, along the calls of a process, when a kernel is worth compiling.

    Parameters
    ----------
    kernel
        The kernel, which may stand for several.
    compiling : float
        Nanoseconds that compiling it takes.
    reading : float
        Nanoseconds of reading it from the disk, if it is there.
    """

    def __init__(self, kernel: Any, compiling: float, reading: float = 0.0) -> None:
        self._kernel = kernel
        self._compiling = compiling
        self._reading = reading
        self._price: float | None = None
        self._spent = 0.0

    def pays(self, cost: float) -> bool:
        """Whether to use the kernel for work that costs so many ns without it."""
        if is_ready(self._kernel):
            return True
        if (
            self._price is None
        ):  # the disk is looked at once: it takes longer than a row
            found = readiness(self._kernel)
            self._price = self._reading if found == "on disk" else self._compiling
        self._spent += cost
        return self._spent >= self._price

    def function(self, cost: float) -> Any:
        """Return the kernel if it pays, else the Python function that it is made of."""
        return self._kernel if self.pays(cost) else self._kernel.py_func
