"""SVMlight and LIBSVM: a label and the nonzero features, one row per line.

scikit-learn reads blocks of lines into CSR matrices. The number of features must be
known before the first row: it is given, or determined by a first pass over the file.
"""

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rpnb._core.streams import LARGEST
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.files.encoding.targets import Targets
from rpnb.files.formats.lines import closed_on_error
from rpnb.files.formats.text import TextFile
from rpnb.files.reading import FileError, LabelledChunk, ReadOptions
from rpnb.labels import NO_LABEL

_ROW = re.compile(rb"\s*[^\s:#]+(?:\s+qid:\d+)?(?:\s+\d+:[^\s:#]+)*\s*(?:#.*)?$")
_INDEX = re.compile(rb"(\d+):")
#: Largest number of features without --features: learners need memory for each.
MOST_FEATURES = 10_000_000


class SparseBatch(NamedTuple):
    """Rows as read by scikit-learn."""

    X: Any
    y: FloatArray

    @property
    def num_rows(self) -> int:
        """Return the number of rows."""
        return int(self.y.shape[0])


class SvmLight(TextFile):
    """Batches of an SVMlight file; a pipe needs the number of features."""

    def __init__(self, path: str, options: ReadOptions) -> None:
        super().__init__(path, options, lambda head: b"\n" in head)
        with closed_on_error(self._source):
            if options.target is not None:
                raise FileError(
                    f"{self.name}: SVMlight has no column names; omit --target"
                )
            self.p, self.zero_based = options.features, bool(options.zero_based)
            if self.p is None:
                if not self.again:
                    raise FileError(
                        f"{self.name}: the number of features is unknown; set it with "
                        "--features N, since a pipe cannot be read twice"
                    )
                low, high = self._survey()
                self.zero_based = (
                    low == 0 if options.zero_based is None else self.zero_based
                )
                self.p = high + 1 if self.zero_based else high
            if self.p < 1:
                raise FileError(f"{self.name}: there are no features")
        if options.features is None:  # the survey has read the whole file
            super().__init__(path, options, lambda head: b"\n" in head)

    def _survey(self) -> tuple[int, int]:
        """Return the smallest and the largest index of a feature."""
        low, high, row = np.iinfo(np.int64).max, 0, 1
        for batch in self._read(self._parse):
            if batch.X.nnz:
                low = min(low, int(batch.X.indices.min()))
                high = max(high, int(batch.X.indices.max()))
            if high > MOST_FEATURES:
                beyond = np.flatnonzero(batch.X.indices > MOST_FEATURES)[0]
                at = _row_of(batch.X, beyond)
                raise FileError(
                    f"{self.name}, row {row + at}: feature {batch.X.indices[beyond]} "
                    f"exceeds the limit of {MOST_FEATURES:,}; allow more with "
                    "--features N, which needs memory in proportion"
                )
            row += batch.num_rows
        self.close()
        return int(low), high

    def batches(self) -> Iterator[SparseBatch]:
        """Yield the rows in their order."""
        yield from self._read(self._parse)

    def _parse(self, block: bytes, row: int) -> SparseBatch:
        """Return the rows of a block; refuse features outside the range."""
        from sklearn.datasets import load_svmlight_file

        try:
            # Indices as in the file; an unused column 0 is removed below.
            X, y = load_svmlight_file(BytesIO(block), zero_based=True)
        except (ValueError, OverflowError) as error:
            raise FileError(self._fault(block, row, str(error))) from error
        p = self.p
        if p is None:  # during the survey
            return SparseBatch(X, y)
        if not self.zero_based:
            below = np.flatnonzero(X.indices == 0)
            if below.shape[0]:
                at = row + _row_of(X, below[0])
                raise FileError(
                    f"{self.name}, row {at}: feature 0, but features are numbered from "
                    "1; use --zero-based if they start at 0"
                )
            X.indices -= 1
        beyond = np.flatnonzero(X.indices >= p)
        if beyond.shape[0]:
            at = row + _row_of(X, beyond[0])
            index = int(X.indices[beyond[0]]) + (not self.zero_based)
            raise FileError(
                f"{self.name}, row {at}: feature {index}, but there are only {p}"
            )
        X.resize((X.shape[0], p))
        return SparseBatch(X, y)

    def _fault(self, block: bytes, row: int, reason: str) -> str:
        """Return a message on the first invalid row of a block."""
        for line in block.splitlines():
            if not line.strip() or line.lstrip().startswith(b"#"):
                continue
            if not _ROW.match(line) or not _are_numbers(line):
                shown = line.decode(errors="replace").strip()
                return f"{self.name}, row {row}: not a row of SVMlight: {shown!r:.60}"
            indices = [int(index[:20]) for index in _INDEX.findall(line)]
            if max(indices, default=0) > np.iinfo(np.int32).max:
                return (
                    f"{self.name}, row {row}: feature {max(indices)} is beyond the "
                    f"largest possible one, {np.iinfo(np.int32).max}"
                )
            if any(a >= b for a, b in pairwise(indices)):
                return (
                    f"{self.name}, row {row}: features must be in ascending order, "
                    "without repetition"
                )
            row += 1
        return f"{self.name}, row {row} or before: {reason}"


def _row_of(X: Any, entry: int) -> int:
    """Return the row of an entry of a CSR matrix."""
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1


def _are_numbers(line: bytes) -> bool:
    words = line.partition(b"#")[0].split()
    try:
        for word in words[:1]:
            float(word)
        for word in words[1:]:
            float(word.partition(b":")[2])
    except ValueError:
        return False
    return True


class SparseEncoder:
    """Turns sparse batches into chunks for a learner; see `ColumnEncoder`."""

    def __init__(
        self, name: str, p: int, options: ReadOptions, *, zero_based: bool = False
    ) -> None:
        self.name, self._p, self._zero_based = name, p, zero_based
        self._labelled = options.labelled
        self.targets = Targets(name, "label", options.max_classes)

    def feature_names(self) -> None:
        """Return None: sparse columns have no names."""

    def encode(self, batch: SparseBatch, rows: IntArray) -> LabelledChunk:
        """Return a chunk from a batch, whose rows have these numbers in the file."""
        values: NDArray[Any] = batch.X.data
        bad = np.flatnonzero(~(np.abs(values) <= LARGEST))
        if bad.shape[0]:
            row = rows[_row_of(batch.X, bad[0])]
            raise FileError(
                f"{self.name}, row {row}: a feature is {values[bad[0]]!r}; it "
                f"must be a finite number within ±{LARGEST:.0e}"
            )
        if self._labelled:
            codes = self.targets.encode_array(batch.y, rows)
        else:
            codes = np.full(len(rows), NO_LABEL)
        labels = self.targets.labels.array()
        return LabelledChunk(batch.X, labels, codes, rows, labels.shape[0])

    def category_counts(self, _position: int) -> dict[str, int]:
        """Return nothing: sparse columns are numbers."""
        return {}

    def to_json(self, position: int) -> dict[str, Any]:
        """Return the state of the encoder at a position, as JSON values."""
        return {
            "features": self._p,
            "zero_based": self._zero_based,
            "labels": self.targets.to_json(position),
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from the state of an earlier encoder."""
        if state.get("features") != self._p:
            raise FileError(
                f"{self.name}: the model was saved with {state.get('features')} sparse "
                f"features, the file has {self._p}; set the number with --features"
            )
        self.targets.resume(state["labels"])
