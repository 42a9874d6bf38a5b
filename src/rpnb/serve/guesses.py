"""Predictions of a challenger, kept until the labels of their rows arrive."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, final

from rpnb.serve.label_rules import Label

#: Most rows, and most bytes of their probabilities and scores; beyond them the oldest
#: are dropped, because labels may never arrive.
MOST_ROWS: Final = 100_000
MOST_BYTES: Final = 2**26


class Guess(NamedTuple):
    """A prediction that no client got."""

    label: Label | None
    confidence: float | None
    proba: bytes | None = None
    """probabilities of all classes, packed by `log.pack_probabilities`"""
    scores: bytes | None = None
    """packed scores, for learners that learn from them"""

    @property
    def size(self) -> int:
        """Bytes of the packed probabilities and scores."""
        return len(self.proba or b"") + len(self.scores or b"")


NOTHING: Final = Guess(None, None)


@final
class Guesses:
    """Guesses of one learner, by the numbers of the rows in the log."""

    def __init__(self) -> None:
        self._found: dict[int, Guess] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._found)

    def add(self, seq: int, guess: Guess) -> None:
        """Keep a guess; if there are too many, the oldest are dropped."""
        self._found[seq] = guess
        self._bytes += guess.size
        while len(self._found) > MOST_ROWS or self._bytes > MOST_BYTES:
            self.pop(next(iter(self._found)))

    def get(self, seq: int) -> Guess:
        """Return the guess for a row, an empty one if there is none."""
        return self._found.get(seq, NOTHING)

    def pop(self, seq: int) -> Guess:
        """Return the guess for a row, and remove it."""
        found = self._found.pop(seq, NOTHING)
        self._bytes -= found.size
        return found

    def to_json(self) -> list[list[Any]]:
        """Return all guesses as JSON values."""
        return [
            [seq, label, confidence, *map(_text, (proba, scores))]
            for seq, (label, confidence, proba, scores) in self._found.items()
        ]

    @classmethod
    def from_json(cls, saved: Sequence[Sequence[Any]]) -> "Guesses":
        """Return the guesses that `to_json` described."""
        found = cls()
        for seq, label, confidence, proba, scores in saved:
            found.add(seq, Guess(label, confidence, _bytes(proba), _bytes(scores)))
        return found


def _text(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
