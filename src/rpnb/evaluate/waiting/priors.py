r"""Correction of probabilities for a class mix that changes before labels arrive.

If only the shares of the classes change, and not the distribution of rows within each,
then $P(m | x)$ becomes proportional to $P(m | x)\, q_m / π_m$, with π the shares that
the model expects and q the current ones. q is estimated from rows without labels by the
EM algorithm of Saerens, Latinne & Decaestecker, "Adjusting the outputs of a classifier
to new a priori probabilities" (Neural Computation 14, 2002):

$$q_m ← \frac{1 + \sum_i r_{im}}{n + M}, \qquad r_{im} ∝ P(m | x_i)\, q_m / π_m$$

with ten iterations over the last n = 500 rows, starting at q = π. π is the mean of the
probabilities of the last 1,000 labelled rows, with one pseudo-row per class. Both are
recomputed every 50 rows.

A model follows the labels itself, some members faster than others, so that the full
correction is often too strong: probabilities are multiplied by $(q_m / π_m)^g$.

**Applied only if it pays.** For g of ¼, ½, ¾ and 1, the gain of a labelled row is the
log-loss without the correction minus that with it, as of its prediction. Over the last
5,000 labelled rows, in means of 50 rows, the g is chosen whose mean gain minus twice
its standard error is largest; if that is not above 0, or there are fewer than 500 rows,
nothing is corrected.
"""

from base64 import b64decode, b64encode
from typing import Any, Final, NamedTuple, final

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import exp, log
from rpnb.estimators.checks.parameters import check_integer

#: Shares g of the correction that are tried.
SHARES: Final = (0.25, 0.5, 0.75, 1.0)
#: Rows for estimating the current mix and the expected one, and rows of a block.
WINDOW, EXPECTED, BLOCK = 500, 1000, 50
#: Labelled rows whose gains are kept, and the fewest for a correction.
HISTORY, FEWEST = 5000, 500
_STEPS, _SMALLEST = 10, 1e-6


class _Block(NamedTuple):
    """The correction of the rows of a block."""

    log_ratio: FloatArray | None
    """(M,) logarithms of q / π; None without a correction"""
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
    """Corrects probabilities for a class mix that changes before labels arrive.

    Rows are numbered 0, 1, 2, … in the order in which they are corrected.

    Parameters
    ----------
    most_waiting : int, default=20000
        Largest number of rows that wait for labels; labels of older rows are ignored.

    Attributes
    ----------
    share : float
        Strength of the correction of the next rows, from 0 to 1.
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
        self._room: FloatArray = np.zeros((0, 0))
        self._held = slice(0, 0)
        self._blocks: dict[int, _Block] = {}
        self._expected: FloatArray = np.zeros((0, 0))
        self._gains: FloatArray = np.zeros((0, len(SHARES)))

    def correct(self, P: Any) -> FloatArray:
        """Return the probabilities of the next rows, corrected if that has paid off.

        Parameters
        ----------
        P : array-like of shape (n_samples, n_classes)
            Probabilities of all classes, before any correction. The number of classes
            may grow.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import PriorCorrection
        >>> PriorCorrection().correct([[0.9, 0.1]]).tolist()  # no labels yet: unchanged
        [[0.9, 0.1]]
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
                ratio = _padded(self._now.log_ratio, new.shape[1])
                out[part] = corrected(new, ratio, self._now.share)
            self._append(new)
            self.rows += len(new)
            done += len(new)
            self._forget(max(self.rows - max(self.most_waiting, WINDOW), 0))
        return out

    def apply(self, P: Any) -> FloatArray:
        """Return probabilities corrected like the last rows, without counting rows.

        Use it for rows whose labels will never arrive.

        Parameters
        ----------
        P : array-like of shape (n_samples, n_classes)
            Probabilities of all classes, before any correction.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import PriorCorrection
        >>> PriorCorrection().apply([[0.9, 0.1]]).tolist()    # no labels yet: unchanged
        [[0.9, 0.1]]
        """
        given = self._checked(P)
        ratio, share = self._now
        if not share or ratio is None:
            return given
        return corrected(given, _padded(ratio, given.shape[1]), share)

    def add_labelled(self, rows: Any, truth: Any) -> None:
        """Add labels in the order of their arrival.

        Parameters
        ----------
        rows : array-like of shape (n_samples,)
            Numbers of the rows.
        truth : array-like of shape (n_samples,)
            True classes of the rows, as columns of P.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import PriorCorrection
        >>> correction = PriorCorrection()
        >>> P = correction.correct([[0.9, 0.1], [0.3, 0.7]])
        >>> correction.add_labelled([0, 1], [0, 1])           # of rows 0 and 1
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
                f"rows must be from 0 to {self.rows - 1}, the rows corrected so far"
            )
        if len(classes) and not (classes.min() >= 0 and classes.max() < M):
            raise ValueError(f"truth must be from 0 to {M - 1}, the columns of P")
        kept = numbers >= self._first
        numbers, classes = numbers[kept], classes[kept]
        given = self._waiting[numbers - self._first]
        self.labelled += len(numbers)
        self._expected = np.concatenate([self._expected, given])[-EXPECTED:]
        self._add_gains(numbers, given, classes)

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON values.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import PriorCorrection
        >>> PriorCorrection().to_json()["rows"]
        0
        """
        blocks = [
            [number, _text(ratio), share]
            for number, (ratio, share) in self._blocks.items()
        ]
        return {
            "most_waiting": self.most_waiting,
            "rows": self.rows,
            "labelled": self.labelled,
            "first": self._first,
            "mix": _text(self.mix),
            "now": [_text(self._now.log_ratio), self._now.share],
            "blocks": blocks,
            "room": _text(self._waiting),
            "expected": _text(self._expected),
            "gains": _text(self._gains),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "PriorCorrection":
        """Return the correction whose state `to_json` returned.

        Parameters
        ----------
        saved : dict
            What `to_json` returned.

        Examples
        --------
        >>> from rpnb.evaluate.waiting import PriorCorrection
        >>> saved = PriorCorrection().to_json()
        >>> PriorCorrection.from_json(saved).rows
        0
        """
        found = cls(saved["most_waiting"])
        found.rows, found.labelled = saved["rows"], saved["labelled"]
        found._first, found.mix = saved["first"], _array(saved["mix"])
        found._now = _Block(_array(saved["now"][0]), saved["now"][1])
        found.share = found._now.share
        found._blocks = {
            number: _Block(_array(ratio), share)
            for number, ratio, share in saved["blocks"]
        }
        for name in ("room", "expected", "gains"):
            setattr(found, f"_{name}", _array(saved[name]))
        found._held = slice(0, len(found._room))
        return found

    def _add_gains(self, rows: IntArray, P: FloatArray, truth: IntArray) -> None:
        gains = []
        for row, p, label in zip(rows.tolist(), P, truth.tolist(), strict=True):
            ratio = self._blocks[row // BLOCK].log_ratio
            if ratio is None:
                continue
            ratio = _padded(ratio, len(p))
            before = max(float(p[label]), _SMALLEST)
            after = [
                max(float(corrected(p[None], ratio, g)[0, label]), _SMALLEST)
                for g in SHARES
            ]
            gains.append(log(after) - log(before))
        if gains:
            self._gains = np.concatenate([self._gains, gains])[-HISTORY:]

    def _estimate(self) -> None:
        """Estimate the class mix, and choose the strength of the correction."""
        self._now = _Block(None, 0.0)
        if self.rows >= WINDOW and self.labelled >= FEWEST:
            M = self._waiting.shape[1]
            seen = self._expected
            expected = (1.0 + seen.sum(axis=0)) / (len(seen) + M)
            self.mix = mix_of(self._waiting[-WINDOW:], expected)
            ratio = log(self.mix) - log(expected)
            self._now = _Block(ratio, best_share(self._gains))
        self.share = self._now.share

    @property
    def _waiting(self) -> FloatArray:
        """Probabilities of the rows that may still be labelled, oldest first."""
        return self._room[self._held]

    def _append(self, new: FloatArray) -> None:
        """Keep the probabilities of rows; the room doubles whenever it is full."""
        if self._held.stop + len(new) > len(self._room):
            kept = self._waiting
            more = max(2 * (len(kept) + len(new)), WINDOW) - len(kept)
            self._room = np.concatenate([kept, np.zeros((more, kept.shape[1]))])
            self._held = slice(0, len(kept))
        stop = self._held.stop + len(new)
        self._room[self._held.stop : stop] = new
        self._held = slice(self._held.start, stop)

    def _forget(self, first: int) -> None:
        """Forget all rows before `first`."""
        self._held = slice(self._held.start + first - self._first, self._held.stop)
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
        for name in ("_room", "_expected"):
            old = getattr(self, name)
            if old.shape[1] < M:
                more = np.zeros((old.shape[0], M - old.shape[1]))
                setattr(self, name, np.concatenate([old, more], axis=1))


def _padded(log_ratio: FloatArray, M: int) -> FloatArray:
    """Return log-ratios of M classes, 0 for new ones: these are not corrected."""
    return np.concatenate([log_ratio, np.zeros(M - len(log_ratio))])


def _text(values: FloatArray | None) -> list[Any] | None:
    """Return the shape of an array and its exact values as text."""
    if values is None:
        return None
    return [*values.shape, b64encode(values.astype("<f8").tobytes()).decode()]


def _array(saved: list[Any] | None) -> FloatArray | None:
    if saved is None:
        return None
    *shape, text = saved
    return np.frombuffer(b64decode(text), "<f8").reshape(shape).astype(np.float64)


def corrected(P: FloatArray, log_ratio: FloatArray, share: float) -> FloatArray:
    """Return probabilities multiplied by (q / π)^g and normalised."""
    found = P * exp(share * log_ratio)
    total: FloatArray = found.sum(axis=1, keepdims=True)
    return found / total


def best_share(gains: FloatArray) -> float:
    """Return the g with a significant gain, 0 if there is none; gains are (n, 4)."""
    blocks = len(gains) // BLOCK
    if len(gains) < FEWEST:
        return 0.0
    means = gains[len(gains) - blocks * BLOCK :].reshape(blocks, BLOCK, -1).mean(axis=1)
    sure = means.mean(axis=0) - 2.0 * means.std(axis=0) / np.sqrt(blocks)
    best = int(sure.argmax())
    return SHARES[best] if sure[best] > 0.0 else 0.0
