r"""Which rows are worth a label, within a budget: rows are drawn, not picked.

Row t, whose predicted class has the probability 1 − q, is asked for with the
probability p,

$$\frac{p}{1-p} = r\,\Bigl(s + (1 - s)\,\frac{u}{\bar u}\Bigr)\frac{B}{1-B},
  \qquad u = q^2,$$

whatever was drawn before. B is the budget, s the share of the odds that every row has
alike, and ū the mean of u over the last rows (of all rows before, at most about 1,000).
The rate r keeps to the budget: it is a tenth of the balance, from 1/4 to 4, and the
balance is 20, plus B for each row so far, less 1 for each row asked for. The first 10
rows are all asked for, and none while the balance is −10 or less.

Since p is known, never 0 for long and drawn independently, 1/p are importance weights:
sums of weighted rows estimate sums over all rows without bias (Horvitz & Thompson, "A
generalization of sampling without replacement from a finite universe", 1952), however p
follows what was learned before. Asking uncertain rows more often, a moving threshold
that spends the budget evenly, and a random share against drift where the model is sure
are those of Žliobaitė, Bifet, Pfahringer & Holmes, "Active learning with drifting
streaming data" (2014), strategies "variable uncertainty with randomisation" and
"split". Departures: odds in place of a threshold, so that p is known; squares; and the
balance in place of their estimate of what was spent.
"""

from dataclasses import astuple, dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray

#: Rows at the start that are all asked for.
FIRST: Final = 10
#: The balance at which the rate is 1, and that after `FIRST` rows, about.
BALANCE: Final = 10.0
_SLOWEST, _FASTEST = 0.25, 4.0
_MEMORY: Final = 1000
_LARGEST_RATIO: Final = 1e3
_MASK: Final = (1 << 64) - 1


@dataclass(slots=True)
class Asking:
    """What rows were looked at and asked for so far."""

    rows: float = 0.0
    asked: float = 0.0
    balance: float = FIRST + BALANCE
    mean: float = 0.0
    """of u"""

    def to_array(self) -> FloatArray:
        """Return the state (4,) for a file."""
        return np.array(astuple(self))

    @classmethod
    def from_array(cls, values: FloatArray) -> Self:
        """Return the state that `to_array` made an array of."""
        return cls(*values.tolist())


def draw_rows(
    state: Asking, doubt: FloatArray, budget: float, share: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draw which of the next rows to ask for; writes to the state.

    Parameters
    ----------
    state
        The rows before.
    doubt
        (n,) 1 less the probability of the predicted class: q.
    budget, share
        B and s.
    seed
        Of the draws: row t is drawn by the seed and t alone.

    Returns
    -------
    asked
        (n,) 1 for rows to ask for, 0 for others.
    probability
        (n,) with which each was to be asked for.
    """
    n = doubt.shape[0]
    asked, probability = np.zeros(n), np.empty(n)
    draws = uniforms(seed, int(state.rows), n).tolist()
    for i, q in enumerate(doubt.tolist()):
        u = q * q
        p = chance(state, u, budget, share)
        probability[i] = p
        state.rows += 1.0
        state.balance += budget
        state.mean += (u - state.mean) / min(state.rows, _MEMORY)
        if draws[i] < p:
            asked[i] = 1.0
            state.asked += 1.0
            state.balance -= 1.0
    return asked, probability


def chance(state: Asking, u: float, budget: float, share: float) -> float:
    """Return the probability of asking for the next row, whose doubt squared is u."""
    if state.rows < FIRST or budget >= 1.0:
        return 1.0
    if state.balance <= -BALANCE:
        return 0.0
    ratio = min(u / state.mean, _LARGEST_RATIO) if state.mean > 0.0 else 1.0
    rate = min(max(state.balance / BALANCE, _SLOWEST), _FASTEST)
    odds = rate * (share + (1.0 - share) * ratio) * budget
    return odds / (1.0 - budget + odds)


def uniforms(seed: int, start: int, n: int) -> FloatArray:
    """Return numbers (n,) in [0, 1), the ones at `start` and after of a seed.

    SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators",
    2014) of the place, with the seed mixed in likewise.
    """
    places = np.arange(start + 1, start + n + 1, dtype=np.uint64)
    mixed = _mix(np.array([seed & _MASK], np.uint64))
    found = _mix(places ^ mixed)
    return (found >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
