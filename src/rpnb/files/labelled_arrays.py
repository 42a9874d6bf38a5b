"""Arrays with the interface of a labelled file."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpnb.core.kernels.arrays import FloatArray
from rpnb.files.encoding.targets import Targets
from rpnb.files.records import LabelledChunk


class LabelledArrays:
    """Rows with their labels, in chunks, as `LabelledFile` gives them.

    Parameters
    ----------
    name
        For messages.
    X, y
        Features (n, p) and labels (n,).
    """

    format = "arrays"
    encoder = None

    def __init__(self, name: str, X: FloatArray, y: NDArray[Any]) -> None:
        self.name, self._X, self._y = name, X, y
        self._done = 0

    @property
    def declared(self) -> Sequence[Any]:
        """All labels."""
        labels: list[Any] = np.unique(self._y).tolist()
        return labels

    def share(self) -> float:
        """Return which share of the rows has been read."""
        return self._done / self._y.shape[0]

    def close(self) -> None:
        """Do nothing: there is no file."""

    def chunks(self, rows: int, shuffle: int | None = None) -> Iterator[LabelledChunk]:
        """Yield all rows, `rows` at a time, the last chunk with what is left."""
        n = self._y.shape[0]
        order = np.arange(n)
        if shuffle is not None:
            order = np.random.default_rng(shuffle).permutation(n)
        targets = Targets(self.name, "label", max_classes=n)
        for start in range(0, n, rows):
            chosen = order[start : start + rows]
            y, codes = targets.encode_array(self._y[chosen], chosen + 1)
            self._done = start + chosen.shape[0]
            yield LabelledChunk(self._X[chosen], y, codes, chosen + 1, None)
