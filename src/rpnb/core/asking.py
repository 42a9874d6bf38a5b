r"""Choosing rows to label within a budget, by random draws with known probabilities.

Row t, whose predicted class has the probability 1 − q, is selected with probability
p,

$$\frac{p}{1-p} = r\,\Bigl(s + (1 - s)\,\frac{u}{\bar u}\Bigr)\frac{B}{1-B},
  \qquad u = q^2,$$

independently of earlier draws. B is the budget, s the share of the odds that is the
same for every row, and ū the mean of u over about the last 1,000 rows (all of them if
there are fewer). The rate r controls spending: it is a tenth of the balance, limited to
[1/4, 4], where the balance is 20, plus B for each row so far, minus 1 for each row
selected. The first 10 rows are all selected. While the balance is −10 or less, p is the
smallest that occurs, that of a row without doubt at r = 1/4.

At most B times the rows so far, plus 31, are thus selected, but for the rare draws
while the balance is −10 or less. There the balance grows by more than 0 per row on
average, and by Ville's inequality falls another k below −10 with probability at most
exp(−kθ), where θ > 0 solves 1 − p + p exp(θ) = exp(θB). θ is never less than 2.

Since p is known and never 0, and the draws are independent, 1/p are importance
weights: weighted sums over selected rows are unbiased estimates of sums over all rows
(Horvitz & Thompson, "A generalization of sampling without replacement from a finite
universe", 1952), even though p depends on what was learned before. Selecting uncertain
rows more often, a moving threshold that spends the budget evenly, and a random share
that detects drift where the model is confident are due to Žliobaitė, Bifet, Pfahringer
& Holmes, "Active learning with drifting streaming data" (2014), strategies "variable
uncertainty with randomisation" and "split". Departures: odds instead of a threshold, so
that p is known; squared uncertainty; the balance instead of an estimate of spending.
"""

from dataclasses import astuple, dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray

#: Rows at the start that are all selected.
FIRST: Final = 10
#: The balance at which the rate is 1; after the first rows it is close to this.
BALANCE: Final = 10.0
_SLOWEST, _FASTEST = 0.25, 4.0
_MEMORY: Final = 1000
_LARGEST_RATIO: Final = 1e3
_MASK: Final = (1 << 64) - 1


@dataclass(slots=True)
class Asking:
    """State of the selection: rows seen and selected so far, and the balance."""

    rows: float = 0.0
    asked: float = 0.0
    balance: float = FIRST + BALANCE
    mean: float = 0.0
    """ū"""

    def to_array(self) -> FloatArray:
        """Return the state as an array (4,), as files store it."""
        return np.array(astuple(self))

    @classmethod
    def from_array(cls, values: FloatArray) -> Self:
        """Return the state that `to_array` has encoded."""
        return cls(*values.tolist())


def draw_rows(
    state: Asking, doubt: FloatArray, budget: float, share: float, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draw which of the next n rows to ask for; updates the state.

    Parameters
    ----------
    state
        State after all earlier rows.
    doubt
        (n,) q, 1 minus the probability of the predicted class.
    budget, share
        B and s.
    seed
        Seed of the draws; the draw of row t depends on the seed and t only.

    Returns
    -------
    asked
        (n,) 1 for rows to ask for, 0 for others.
    probability
        (n,) p of each row.
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
    """Return p of the next row, whose squared uncertainty is u."""
    if state.rows < FIRST or budget >= 1.0:
        return 1.0
    ratio = min(u / state.mean, _LARGEST_RATIO) if state.mean > 0.0 else 1.0
    rate = min(max(state.balance / BALANCE, _SLOWEST), _FASTEST)
    if state.balance <= -BALANCE:
        ratio = 0.0
    odds = rate * (share + (1.0 - share) * ratio) * budget
    return odds / (1.0 - budget + odds)


def uniforms(seed: int, start: int, n: int) -> FloatArray:
    """Return n uniform numbers in [0, 1) of a seed, from index `start` on.

    Each is the hash of its index, with the hashed seed mixed in: SplitMix64 (Steele,
    Lea & Flood, "Fast splittable pseudorandom number generators", 2014).
    """
    indices = np.arange(start + 1, start + n + 1, dtype=np.uint64)
    mixed = _mix(np.array([seed & _MASK], np.uint64))
    words = _mix(indices ^ mixed)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
