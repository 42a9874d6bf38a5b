"""Whether a fast pass pays although its kernels have to be compiled first.

The exact pass needs few kernels and gives the same labels and state, to the bit. Rows
go through it until its time has reached that of compiling the others. Ski-rental rule:
at most twice the optimal time, whatever comes (Karlin, Manasse, Rudolph & Sleator,
1988). A stream of some hundred rows ends long before.
"""

from typing import Any, Final

from rpnb.core.bayes.model import Model
from rpnb.core.kernels.readiness import readiness
from rpnb.core.passes.costs import exact_cost

# Nanoseconds that compiling the kernels of the fast passes takes, and reading them.
_COMPILING: Final = 10e9
_READING: Final = 0.3e9


class CompilingBudget:
    """Decides, along the calls of a process, when fast passes are worth compiling.

    Parameters
    ----------
    kernel
        The kernel that stands for those of the fast passes.
    """

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._spent = 0.0

    def fast_pass_pays(self, model: Model, n: int) -> bool:
        """Whether the next n rows should go through a fast pass."""
        found = readiness(self._kernel)
        if found == "ready":
            return True
        price = _READING if found == "on disk" else _COMPILING
        projection = model.projection
        self._spent += n * exact_cost(projection.p, model.F, model.M)
        return self._spent > price
