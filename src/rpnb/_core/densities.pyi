"""Members that estimate densities: class covariances, and neighbours of two kinds."""

from typing import ClassVar

from rpnb._core.pooled import Member, Shape
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray

class ClassCovariance(Member):
    SCORED: ClassVar[int]
    active: BoolArray
    class_weight: FloatArray
    mean: FloatArray
    scatter: FloatArray
    inverse: FloatArray
    log_volume: FloatArray
    constant: FloatArray
    spread: FloatArray
    total: FloatArray
    weight: FloatArray
    prior: FloatArray
    prior_inverse: FloatArray
    seen: IntArray
    next: IntArray
    @staticmethod
    def begin(shape: Shape, active: BoolArray) -> ClassCovariance: ...
    def refresh(self) -> None: ...
    def begin_classes(self, classes: IntArray) -> None: ...

class Neighbours(Member):
    ROWS: ClassVar[int]
    active: BoolArray
    class_weight: FloatArray
    rows: SingleArray
    labels: IntArray
    weight: FloatArray
    seen: IntArray
    @staticmethod
    def begin(shape: Shape, active: BoolArray) -> Neighbours: ...

class SelectedNeighbours(Member):
    ROWS: ClassVar[int]
    MOST: ClassVar[int]
    BINS: ClassVar[int]
    MOST_PAIRS: ClassVar[int]
    active: BoolArray
    class_weight: FloatArray
    counts: FloatArray
    rows: SingleArray
    labels: IntArray
    weight: FloatArray
    chosen: IntArray
    relevance: SingleArray
    near: SingleArray
    clock: IntArray
    @staticmethod
    def begin(shape: Shape, active: BoolArray) -> SelectedNeighbours: ...
    @staticmethod
    def rows_kept(p: int) -> int: ...
    def select(self) -> None: ...
