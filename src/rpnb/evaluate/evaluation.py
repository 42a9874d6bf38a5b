"""The loop of test, then train: learners go through the same rows, piece by piece."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.evaluate.blocks import Block
from rpnb.evaluate.delays import Events
from rpnb.evaluate.drivers.driver import Predictions
from rpnb.evaluate.metrics import NO_ANSWER
from rpnb.evaluate.player import Kept, Participant
from rpnb.evaluate.running import ScoredRows, log_losses
from rpnb.labels import LabelIndex


class Evaluation(Generic[Kept]):
    """Learners on one stream.

    Parameters
    ----------
    players
        The learners.
    numbering
        Of all labels, which their drivers have too.
    """

    def __init__(
        self, players: Sequence[Participant[Kept]], numbering: LabelIndex
    ) -> None:
        self.players = list(players)
        self.numbering = numbering
        self._last = NO_ANSWER

    def numbered(self, block: Block) -> Block:
        """Return a block with the numbers of its labels."""
        return replace(block, numbers=self.numbering.of(block.y))

    def take(
        self, piece: Block, events: Events | None = None, kept: Sequence[Block] = ()
    ) -> list[Predictions]:
        """Let every learner play the rows of a piece, and count what it answers.

        Parameters
        ----------
        piece
            The next rows of the stream, numbered.
        events
            The order in which they are predicted, and others learnt; by default each
            is learnt once it has been predicted.
        kept
            Numbered blocks with all rows that the events name.
        """
        if events is None:
            found = [player.step(piece) for player in self.players]
        else:
            found = [player.play(kept, events) for player in self.players]
        truth = piece.numbers
        assert truth is not None  # noqa: S101 - the piece is numbered
        repeats = self._repeats(truth)
        M, n = len(self.numbering), truth.shape[0]
        unknown = log_losses(None, n)
        for player, answers in zip(self.players, found, strict=True):
            given = answers.chance
            loss = unknown if given is None else log_losses(given, n)
            player.record.add(ScoredRows(truth, answers.numbers, repeats, loss), M)
        return found

    def _repeats(self, truth: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        repeats = np.empty(truth.shape[0], np.bool_)
        repeats[0] = truth[0] == self._last
        np.equal(truth[1:], truth[:-1], out=repeats[1:])
        self._last = int(truth[-1])
        return repeats
