"""What a stream needs around a model: calibration, prediction sets."""

from collections.abc import Iterator
from typing import Any

from rpnb.core.kernels.arrays import BoolArray, CodeArray, FloatArray, IntArray

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
def mix_then_learn(
    calibration: Calibration,
    scores: FloatArray,
    smallest: float,
    codes: CodeArray,
    seen: int,
    y: IntArray,
    P: FloatArray,
    thresholds: FloatArray,
) -> None: ...

# Prediction sets
COVERAGES: list[float]

def strangeness(p: float) -> float: ...
def learn_threshold(thresholds: FloatArray, p: float) -> None: ...
def track_thresholds(
    thresholds: FloatArray, P: FloatArray, y: IntArray, before: FloatArray
) -> None: ...
def in_set(P: FloatArray, thresholds: FloatArray, out: BoolArray) -> None: ...
