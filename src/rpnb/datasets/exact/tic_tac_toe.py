"""Tic_Tac_Toe: every board at which a game can end, x moving first."""

import numpy as np
from numpy.typing import NDArray

from rpnb.datasets.records import LabelArray, Rows

X, O, BLANK = 0, 1, 2  # noqa: E741  the players' own letters

_LINES = np.array(
    [
        [[0, 1, 2], [3, 4, 5], [6, 7, 8]],
        [[0, 3, 6], [1, 4, 7], [2, 5, 8]],
        [[0, 4, 8], [2, 4, 6], [2, 4, 6]],
    ]
).reshape(-1, 3)

Boards = NDArray[np.int8]


def final_boards() -> Rows:
    """Return the 958 final boards (9 squares, row by row) in UCI's order.

    All games are played in parallel: the distinct boards after each move. A board
    that is won, or full, is final. UCI's label is "positive" where x has won.
    """
    boards: Boards = np.full((1, 9), BLANK, dtype=np.int8)
    won: list[Boards] = []
    lost: list[Boards] = []
    for move in range(9):
        player = (X, O)[move % 2]
        boards = _after_a_move(boards, player)
        over = (boards[:, _LINES] == player).all(axis=2).any(axis=1)
        (won if player == X else lost).append(boards[over])
        boards = boards[~over]
    positive = _sorted(np.concatenate(won))
    # UCI puts the drawn boards, on which x has not won either, behind those lost.
    negative = np.concatenate([_sorted(np.concatenate(lost)), _sorted(boards)])
    label: LabelArray = np.repeat(
        ["positive", "negative"], [len(positive), len(negative)]
    )
    return np.concatenate([positive, negative]).astype(np.float64), label


def _after_a_move(boards: Boards, player: int) -> Boards:
    """Boards after each possible move of `player`, each once."""
    row, square = np.nonzero(boards == BLANK)
    after = boards[row]
    after[np.arange(len(after)), square] = player
    unique: Boards = np.unique(after, axis=0)
    return unique


def _sorted(boards: Boards) -> Boards:
    order = np.lexsort(boards.T[::-1])
    return boards[order]
