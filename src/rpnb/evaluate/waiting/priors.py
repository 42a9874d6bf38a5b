r"""A class mix that moves before labels come: probabilities corrected without them.

If only the shares of the classes change, and not what their rows look like, then
$P(m | x)$ becomes proportional to $P(m | x)\, q_m / π_m$, with π the shares that the
model expects and q those of now. q follows from rows without labels by the EM algorithm
of Saerens, Latinne & Decaestecker, "Adjusting the outputs of a classifier to new a
priori probabilities" (Neural Computation 14, 2002):

$$q_m ← \frac{1 + \sum_i r_{im}}{n + M}, \qquad r_{im} ∝ P(m | x_i)\, q_m / π_m$$

ten times over the last n = 500 rows, from q = π. π is the mean of the probabilities
that the last 1,000 labelled rows were given (each class with one row more). Both are
recomputed every 50 rows.

A model follows labels itself, some members faster than others, so that the whole
correction is often too much: probabilities are multiplied by $(q_m / π_m)^g$.

**Only where it pays.** For g of ¼, ½, ¾ and 1, the gain of a labelled row is the
log-loss without the correction less that with it, as it was when the row was predicted.
Over the last 5,000 labelled rows, in means of 50 rows, the g is taken whose mean gain
less twice its standard error is largest; if that is not above 0, or there are fewer
than 500 rows, nothing is corrected.
"""

from typing import Any, Final, NamedTuple, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.parameters import check_integer

#: Shares of the correction that are tried.
SHARES: Final = (0.25, 0.5, 0.75, 1.0)
#: Rows of which the mix is estimated, rows of what the model expects, rows of a block.
WINDOW, EXPECTED, BLOCK = 500, 1000, 50
#: Labelled rows that gains are kept of, and without which nothing is corrected.
HISTORY, FEWEST = 5000, 500
_STEPS, _SMALLEST = 10, 1e-6


class _Block(NamedTuple):
    """What rows of a block are corrected by."""

    log_ratio: FloatArray | None
    """(M,) of q / π; None where there was none"""
    share: float
    """g, 0 for no correction"""


def mix_of(P: FloatArray, expected: FloatArray) -> FloatArray:
    """Return the shares q of classes in rows with probabilities P (n, M), by EM."""
    q, (n, M) = expected, P.shape
    for _ in range(_STEPS):
        r = P * (q / expected)
        r /= r.sum(axis=1, keepdims=True)
        q = (1.0 + r.sum(axis=0)) / (n + M)
    return q


@final
class PriorCorrection:
    """Corrects probabilities for a class mix that moves before labels come.

    Rows are numbered 0, 1, 2, … in the order in which they are corrected.

    Parameters
    ----------
    most_waiting : int, default=20000
        Rows that may wait for their labels; labels of older ones are ignored.

    Attributes
    ----------
    share : float
        How much of the correction the next rows get: 0 for none, 1 for all of it.
    mix : array of shape (M,) or None
        Estimated shares of the classes in the last rows.

    Examples
    --------
    >>> import numpy as np
    >>> from rpnb.evaluate.waiting import PriorCorrection
    >>> correction = PriorCorrection()
    >>> P = np.full((200, 2), 0.5)                       # of 200 predictions
    >>> Q = correction.correct(P)
    >>> correction.add_labelled(np.arange(100), np.zeros(100, int))
    >>> correction.share                                 # too few labels
    0.0
    """

    def __init__(self, most_waiting: int = 20_000) -> None:
        self.most_waiting = check_integer("most_waiting", most_waiting, 1)
        self.rows = 0
        """rows so far"""
        self.labelled = 0
        """labelled rows so far"""
        self.share = 0.0
        self.mix: FloatArray | None = None
        self._now = _Block(None, 0.0)
        self._first = 0
        self._waiting: FloatArray = np.zeros((0, 0))
        self._blocks: dict[int, _Block] = {}
        self._expected: FloatArray = np.zeros((0, 0))
        self._gains: FloatArray = np.zeros((0, len(SHARES)))

    def correct(self, P: Any) -> FloatArray:
        """Return the probabilities of the next rows, corrected if that has paid.

        Parameters
        ----------
        P : array-like of shape (n, M)
            Probabilities of all classes, before any correction. M may grow.
        """
        given = self._checked(P)
        self._widen(given.shape[1])
        out = given.copy()
        done = 0
        while done < len(given):
            if self.rows % BLOCK == 0:
                self._estimate()
            part = slice(done, done + BLOCK - self.rows % BLOCK)
            new = given[part]
            self._blocks[self.rows // BLOCK] = self._now
            if self._now.share and self._now.log_ratio is not None:
                out[part] = corrected(new, self._now.log_ratio, self._now.share)
            self._waiting = np.concatenate([self._waiting, new])
            self.rows += len(new)
            done += len(new)
            self._forget(max(self.rows - max(self.most_waiting, WINDOW), 0))
        return out

    def add_labelled(self, rows: Any, truth: Any) -> None:
        """Add labels in the order in which they came.

        Parameters
        ----------
        rows : array-like of shape (n,)
            Numbers of the rows.
        truth : array-like of shape (n,)
            Their true classes, as columns of P.
        """
        numbers, classes = np.asarray(rows, np.int64), np.asarray(truth, np.int64)
        if numbers.shape != classes.shape or numbers.ndim != 1:
            raise ValueError(
                "rows and truth must have one value per row, got shapes "
                f"{numbers.shape} and {classes.shape}"
            )
        M = self._waiting.shape[1]
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < self.rows):
            raise ValueError(
                f"rows must be from 0 to {self.rows - 1}, those that were corrected"
            )
        if len(classes) and not (classes.min() >= 0 and classes.max() < M):
            raise ValueError(f"truth must be from 0 to {M - 1}, the columns of P")
        kept = numbers >= self._first
        numbers, classes = numbers[kept], classes[kept]
        given = self._waiting[numbers - self._first]
        self.labelled += len(numbers)
        self._expected = np.concatenate([self._expected, given])[-EXPECTED:]
        self._add_gains(numbers, given, classes)

    def _add_gains(self, rows: IntArray, P: FloatArray, truth: IntArray) -> None:
        gains = []
        for row, p, label in zip(rows.tolist(), P, truth.tolist(), strict=True):
            ratio = self._blocks[row // BLOCK].log_ratio
            if ratio is None:
                continue
            ratio = np.concatenate([ratio, np.zeros(len(p) - len(ratio))])
            before = max(float(p[label]), _SMALLEST)
            after = [
                max(float(corrected(p[None], ratio, g)[0, label]), _SMALLEST)
                for g in SHARES
            ]
            gains.append(np.log(after) - np.log(before))
        if gains:
            self._gains = np.concatenate([self._gains, gains])[-HISTORY:]

    def _estimate(self) -> None:
        """Estimate the class mix, and choose how much of it to correct by."""
        self._now = _Block(None, 0.0)
        if self.rows >= WINDOW and self.labelled >= FEWEST:
            M = self._waiting.shape[1]
            seen = self._expected
            expected = (1.0 + seen.sum(axis=0)) / (len(seen) + M)
            self.mix = mix_of(self._waiting[-WINDOW:], expected)
            ratio = np.log(self.mix) - np.log(expected)
            self._now = _Block(ratio, best_share(self._gains))
        self.share = self._now.share

    def _forget(self, first: int) -> None:
        """Forget rows before one."""
        self._waiting = self._waiting[first - self._first :]
        for block in range(self._first // BLOCK, first // BLOCK):
            self._blocks.pop(block, None)
        self._first = first

    def _checked(self, P: Any) -> FloatArray:
        given = np.asarray(P, np.float64)
        if given.ndim != 2 or given.shape[1] < self._waiting.shape[1]:
            raise ValueError(
                "P must have the shape (n, M), with no fewer classes than before, got "
                f"{given.shape}"
            )
        if not (np.isfinite(given).all() and (given >= 0.0).all()):
            raise ValueError("P must hold probabilities: finite and not negative")
        if len(given) and not (given.sum(axis=1) > 0.0).all():
            raise ValueError("each row of P must have a probability above 0")
        return given

    def _widen(self, M: int) -> None:
        """Make room for more classes."""
        for name in ("_waiting", "_expected"):
            old = getattr(self, name)
            more = np.zeros((old.shape[0], M - old.shape[1]))
            setattr(self, name, np.concatenate([old, more], axis=1))


def corrected(P: FloatArray, log_ratio: FloatArray, share: float) -> FloatArray:
    """Return probabilities times (q / π)^g, which sum to 1."""
    found = P * np.exp(share * log_ratio)
    total: FloatArray = found.sum(axis=1, keepdims=True)
    return found / total


def best_share(gains: FloatArray) -> float:
    """Return the g that has surely paid, 0 if none has; gains are (n, 4)."""
    blocks = len(gains) // BLOCK
    if len(gains) < FEWEST:
        return 0.0
    means = gains[len(gains) - blocks * BLOCK :].reshape(blocks, BLOCK, -1).mean(axis=1)
    sure = means.mean(axis=0) - 2.0 * means.std(axis=0) / np.sqrt(blocks)
    best = int(sure.argmax())
    return SHARES[best] if sure[best] > 0.0 else 0.0
