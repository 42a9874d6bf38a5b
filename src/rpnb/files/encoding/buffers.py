"""Arrays whose memory is used again once nobody looks at it any more.

The system clears every page of memory before it gives it to a process; where arrays
come and go, that may take as long as filling them.
"""

import sys

import numpy as np

from rpnb.core.kernels.arrays import FloatArray

# As many chunks as may be on their way at once: read, waiting, learnt.
_MOST = 6


def _holders(kept: list[FloatArray], i: int) -> int:
    return sys.getrefcount(kept[i])


# What `_holders` says of an array that only its list holds.
_NOBODY = _holders([np.empty(0)], 0)


class Buffers:
    """Memory for arrays, a few of which are in use at a time.

    An array, or a view of it, that is still held anywhere keeps its memory to itself.
    """

    def __init__(self) -> None:
        self._kept: list[FloatArray] = []

    def empty(self, n: int, p: int) -> FloatArray:
        """Return an array of shape (n, p), its contents whatever they may be."""
        size = n * p
        for i in range(len(self._kept)):
            if self._kept[i].shape[0] >= size and _holders(self._kept, i) == _NOBODY:
                return self._kept[i][:size].reshape(n, p)
        new = np.empty(size)
        self._kept = [*self._kept, new][-_MOST:]
        return new[:size].reshape(n, p)
