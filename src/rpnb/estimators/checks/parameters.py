"""Checks of parameters: each message names the parameter, the rule and the value."""

from collections.abc import Collection
from math import isfinite
from numbers import Integral, Real
from typing import Any, Final

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from rpnb.core.kernels.threads import LEAST_ROWS

#: Largest count of anything: members, columns, rows.
LARGEST_INTEGER: Final = 2**31 - 1


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return `value`, which must be one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}")
    return value


def check_integer(
    name: str, value: Any, low: int, high: int | None = LARGEST_INTEGER
) -> int:
    """Return `value` as an int, which must be whole and from `low` to `high`."""
    rule = f"an integer of at least {low}"
    if high is not None and high < LARGEST_INTEGER:
        rule = f"an integer from {low} to {high}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be {rule}, got {value!r}")
    if value < low:
        raise ValueError(f"{name} must be {rule}, got {_shortened(value)}")
    if high is not None and int(value) > high:
        if high == LARGEST_INTEGER:
            rule += f" and at most {high}"
        raise ValueError(f"{name} must be {rule}, got {_shortened(value)}")
    return int(value)


def _shortened(value: Any) -> str:
    """Return an integer as text; Python refuses to convert very large ones."""
    number = int(value)
    bits = number.bit_length()
    return repr(number) if bits <= 256 else f"an integer of {bits} bits"


def check_real(
    name: str, value: Any, low: float, *, above: bool = False, high: float = np.inf
) -> float:
    """Return `value` as a float: finite, from `low` (or `above` it) to `high`."""
    rule = f"a finite number {'above' if above else 'of at least'} {low:g}"
    if low == -np.inf:
        rule = "a finite number"
    if high < np.inf:
        rule += f" and at most {high:.12g}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {rule}, got {value!r}")
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond the largest float
        number = np.inf
    holds = isfinite(number) and low <= number <= high and not (above and number == low)
    if not holds:
        given = _shortened(value) if isinstance(value, Integral) else repr(value)
        raise ValueError(f"{name} must be {rule}, got {given}")
    return number


def draw_seed(random_state: Any) -> int:
    """Return a 64-bit seed derived from `random_state`; a fresh one if it is None."""
    if random_state is None:
        entropy = np.random.SeedSequence()
    elif isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**64, dtype=np.uint64))
    elif isinstance(random_state, Integral | bool | str):
        entropy = np.random.SeedSequence(
            check_integer("random_state", random_state, 0, None)
        )
    else:
        words = check_random_state(random_state).randint(0, 2**32, 2, dtype=np.uint64)
        entropy = np.random.SeedSequence([int(word) for word in words])
    return int(entropy.generate_state(1, np.uint64)[0])


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
