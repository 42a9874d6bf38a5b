"""Chess-krvk: king and rook against king, black to move, by retrograde analysis.

Positions are arrays with six axes of length 8: file and rank of the white king, of the
white rook, and of the black king. UCI's dataset (Bain & Hoff, 1994) has one position of
each class of symmetric ones, with white's fewest moves to mate as label.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import BoolArray
from rpnb.datasets.records import LabelArray, Rows

Depths = NDArray[np.int16]
T = TypeVar("T", bound=np.generic)

NO_MATE = 127  # larger than any number of moves to mate in this endgame
_SHAPE = (8,) * 6
_KING, _ROOK, _BLACK = 0, 2, 4  # first of the two axes of each piece
_STRAIGHT = ((0, 1), (0, -1), (1, 0), (-1, 0))
_EVERY_WAY = (*_STRAIGHT, (1, 1), (1, -1), (-1, 1), (-1, -1))

_WORDS = np.array(
    [
        *("draw", "zero", "one", "two", "three", "four", "five", "six", "seven"),
        *("eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen"),
        *("fifteen", "sixteen"),
    ]
)


def krvk_positions() -> Rows:
    """Return the 28,056 positions of UCI's dataset, in UCI's order.

    Symmetric positions are represented by the one with the white king in the triangle
    a1-d1-d4; where that king stands on the diagonal a1-h8, by the one with the black
    king on or below it; where that one does too, by the one with the rook so.
    """
    depth = moves_to_mate()
    kf, kr, rf, rr, bf, br = np.ogrid[tuple(slice(8) for _ in _SHAPE)]
    below = (br < bf) | ((br == bf) & (rr <= rf))
    chosen = (kf < 4) & ((kr < kf) | ((kr == kf) & below)) & _legal()
    squares = np.argwhere(chosen)
    # UCI's classes: the draws, then mates by depth; positions in order within each.
    code = np.where(depth[chosen] == NO_MATE, 0, depth[chosen] + 1)
    order = np.argsort(code, kind="stable")
    label: LabelArray = _WORDS[code[order]]
    return (squares[order] + 1).astype(np.float64), label


def moves_to_mate() -> Depths:
    """Return white's moves to mate with black to move, `NO_MATE` where there is none.

    Depth 0 is mate. Black maximises and white minimises the number of moves; each
    iteration adds the positions that are one move deeper.
    """
    legal, attacked = _legal(), _attacked()
    safe = ~attacked & ~_kings_touch()  # where black may stand, the rook's square too
    may_go = [_neighbour(safe, _BLACK, way, outside=False) for way in _EVERY_WAY]
    stuck = ~np.logical_or.reduce(may_go)
    depth: Depths = np.full(_SHAPE, NO_MATE, dtype=np.int16)
    depth[legal & attacked & stuck] = 0
    playing = legal & ~stuck
    while True:
        white = _best_for_white(depth)
        longest: Depths = np.full(_SHAPE, -1, dtype=np.int16)
        for way, possible in zip(_EVERY_WAY, may_go, strict=True):
            after = _neighbour(white, _BLACK, way, outside=NO_MATE)
            longest = np.maximum(longest, np.where(possible, after, -1))
        deeper = np.where(playing & (longest < NO_MATE), longest + 1, depth)
        if np.array_equal(deeper, depth):
            return depth
        depth = deeper


def _best_for_white(depth: Depths) -> Depths:
    """Return the least depth that white can reach by a move.

    `NO_MATE` if the rook has been taken.
    """
    best: Depths = np.full(_SHAPE, NO_MATE, dtype=np.int16)
    for way in _EVERY_WAY:
        best = np.minimum(best, _neighbour(depth, _KING, way, outside=NO_MATE))
    kf, kr, rf, rr, bf, br = np.ogrid[tuple(slice(8) for _ in _SHAPE)]
    taken = (rf == bf) & (rr == br)
    free = np.broadcast_to(~((rf == kf) & (rr == kr)) & ~taken, _SHAPE)
    for way in _STRAIGHT:
        open_ahead = _neighbour(free, _ROOK, way, outside=False)
        one_step = _neighbour(depth, _ROOK, way, outside=NO_MATE)
        ray: Depths = np.full(_SHAPE, NO_MATE, dtype=np.int16)
        for _ in range(7):
            further = _neighbour(ray, _ROOK, way, outside=NO_MATE)
            ray = np.where(open_ahead, np.minimum(one_step, further), NO_MATE)
        best = np.minimum(best, ray)
    return np.where(taken, np.int16(NO_MATE), best)


def _neighbour(
    values: NDArray[T], piece: int, way: tuple[int, int], outside: int
) -> NDArray[T]:
    """Return, for each position, the value after `piece` moves one step along `way`."""
    result = np.full(_SHAPE, outside, dtype=values.dtype)
    here: list[slice] = [slice(None)] * 6
    there: list[slice] = [slice(None)] * 6
    for axis, step in zip((piece, piece + 1), way, strict=True):
        here[axis] = slice(max(0, -step), 8 - max(0, step))
        there[axis] = slice(max(0, step), 8 - max(0, -step))
    result[tuple(here)] = values[tuple(there)]
    return result


def _kings_touch() -> BoolArray:
    kf, kr, _, _, bf, br = np.ogrid[tuple(slice(8) for _ in _SHAPE)]
    touch: BoolArray = np.maximum(np.abs(kf - bf), np.abs(kr - br)) <= 1
    return np.broadcast_to(touch, _SHAPE)


def _legal() -> BoolArray:
    """Return whether positions are legal: distinct squares, kings not adjacent."""
    kf, kr, rf, rr, bf, br = np.ogrid[tuple(slice(8) for _ in _SHAPE)]
    apart = ~((kf == rf) & (kr == rr)) & ~((bf == rf) & (br == rr))
    legal: BoolArray = apart & ~_kings_touch()
    return legal


def _attacked() -> BoolArray:
    """Return whether the rook attacks the black king; the white king may block."""
    kf, kr, rf, rr, bf, br = np.ogrid[tuple(slice(8) for _ in _SHAPE)]
    on_file = (rf == bf) & (rr != br)
    on_rank = (rr == br) & (rf != bf)
    file_shut = (kf == rf) & ((kr - rr) * (kr - br) < 0)
    rank_shut = (kr == rr) & ((kf - rf) * (kf - bf) < 0)
    seen: BoolArray = (on_file & ~file_shut) | (on_rank & ~rank_shut)
    return seen
