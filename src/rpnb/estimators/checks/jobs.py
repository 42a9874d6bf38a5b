"""The parameter `n_jobs`: how many threads a call may use."""

from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from rpnb.core.kernels.threads import LEAST_ROWS


def check_jobs(n_jobs: Any) -> None:
    """Refuse anything but None or a number of threads as in joblib."""
    if n_jobs is None:
        return
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool | np.bool_):
        raise TypeError(f"n_jobs must be an integer or None, got {n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: 1 is one thread, -1 all cores")


def threads_for(n_jobs: Any, n: int) -> int:
    """Return the number of threads to use for n rows."""
    check_jobs(n_jobs)
    # Asking joblib takes longer than predicting a row.
    return effective_n_jobs(n_jobs) if n >= 2 * LEAST_ROWS else 1
