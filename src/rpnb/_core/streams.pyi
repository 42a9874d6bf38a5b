"""What a stream needs around a model: calibration, prediction sets, scaling, counts."""

from collections.abc import Iterator
from typing import Any

from rpnb.core.kernels.arrays import (
    BoolArray,
    CodeArray,
    FloatArray,
    IntArray,
    SingleArray,
)
from rpnb.core.kernels.row_blocks import RowBlock

# Calibration: cells
LOWEST: int
N_TEMPERATURES: int
FIRST_ROWS: int
EVERY: int
UNCERTAIN: int
CELL_WIDTH: float
CELL_EDGES: list[float]

def cell_of(u: float) -> int: ...
def certain_code(difference: float, error: float, scale: float) -> int: ...
def is_calibration_row(number: int) -> bool: ...
def write_codes(
    scores: FloatArray,
    active: BoolArray,
    best: IntArray,
    scale: float,
    codes: CodeArray,
) -> None: ...

# Calibration: the mixture
ODDS: list[float]

class Calibration:
    """What has been learned about probabilities, apart from the model itself."""

    weights: FloatArray
    """(odds, temperatures) weights of the experts, adding up to 1"""
    thresholds: FloatArray
    """(coverages,) see `rpnb.core.conformal`"""
    rows: IntArray
    """(1,) number of rows learned from"""
    _fields: tuple[str, ...]

    def __init__(
        self, weights: FloatArray, thresholds: FloatArray, rows: IntArray
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def _replace(self, **arrays: Any) -> Calibration: ...
    def _asdict(self) -> dict[str, Any]: ...

def learn_all_codes(
    calibration: Calibration, codes: CodeArray, y: IntArray
) -> None: ...
def mix_rows(
    weights: FloatArray, scores: FloatArray, smallest: float, out: FloatArray
) -> None: ...

# Prediction sets
COVERAGES: list[float]

def strangeness(p: float) -> float: ...
def learn_threshold(thresholds: FloatArray, p: float) -> None: ...
def track_thresholds(
    thresholds: FloatArray, P: FloatArray, y: IntArray, before: FloatArray
) -> None: ...
def in_set(P: FloatArray, thresholds: FloatArray, out: BoolArray) -> None: ...

# Scaling

class RunningScale:
    """Mean and scatter of the columns of all rows so far."""

    mean: FloatArray
    """(p,) zero where rows are not centred"""
    scatter: FloatArray
    """(p,) summed squared deviations from the mean"""
    missing: FloatArray
    """(p,) weight of the rows without a value"""
    weight: FloatArray
    """(1,) weight of all rows"""
    seen: IntArray
    """(1,) number of rows"""
    centred: BoolArray
    """(1,) whether rows are centred"""
    _fields: tuple[str, ...]

    def __init__(
        self,
        mean: FloatArray,
        scatter: FloatArray,
        missing: FloatArray,
        weight: FloatArray,
        seen: IntArray,
        centred: BoolArray,
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def _replace(self, **arrays: Any) -> RunningScale: ...
    def _asdict(self) -> dict[str, Any]: ...

def scale_rows(
    scale: RunningScale,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    size: int,
    clip: float,
    out: FloatArray,
) -> None:
    """Scale rows X (n, p) into `out`, each by the rows before it, and add them.

    A row whose number in y (n,) is negative is scaled and not added. There is one
    weight for each row, or one for all. Rows of a mini-batch of `size` rows are scaled
    by the rows before the first of them.
    """

def scale_sparse_rows(
    scale: RunningScale,
    rows: RowBlock,
    y: IntArray,
    weight: FloatArray,
    size: int,
    clip: float,
    out: FloatArray,
) -> None:
    """Scale sparse rows into `out`, their values; otherwise as `scale_rows` does."""

# Checks of rows
LARGEST: float

def first_bad(values: FloatArray | SingleArray, missing: bool = False) -> int:
    """Return the index of the first value that is infinite, too large, or NaN, or −1.

    With `missing`, NaN is not bad. The array is in C order; the index is that of the
    flattened array.
    """

# Labels alone
def count_majority(state: IntArray, y: IntArray, labels: IntArray) -> None:
    """Label each row by the class counted most before it, then count its own."""

def repeat_last(state: IntArray, y: IntArray, labels: IntArray) -> None:
    """Label each row by the class of the row before it."""

def count_rows(truth: IntArray, predicted: IntArray, counts: IntArray) -> None:
    """Add rows to counts (M, M + 1); −1, no prediction, is the last column."""
