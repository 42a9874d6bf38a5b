"""Members with a shared covariance: of all rows, and of the latest."""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from rpnb._core.pooled import Member, Shape
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray

class SharedCovariance(Member):
    """Sums over all rows learned, and the discriminants computed from them last."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight learned of each class"""
    log_count: FloatArray
    """(M,) log(class_weight + ½)"""
    B: FloatArray
    """(M, E) sum of φ of each class"""
    A: FloatArray
    """sum of φφᵀ of all rows but those kept, in blocks"""
    V: SingleArray
    """(E, C) the directions; C is M rounded up to a multiple of 8"""
    offset: SingleArray
    """(C,) the constants"""
    kept: SingleArray
    """rows of φ not yet in A: [block of 16 columns][256 rows][16]"""
    labels: IntArray
    """(256,) their classes"""
    weight: FloatArray
    """(256,) their weights"""
    gram: SingleArray
    """(256, 256) inner products of the first rows, lower triangle"""
    done: IntArray
    """(1,) rows whose inner products are there"""
    pending: IntArray
    """(1,) rows kept"""
    seen: IntArray
    """(1,) rows learned"""
    next: IntArray
    """(1,) after how many V is recomputed"""
    dimension: IntArray
    """(1,) columns of φ that are not just padding"""

    _fields: ClassVar[tuple[str, ...]]

    def __init__(self, *arrays: NDArray[Any], **named: NDArray[Any]) -> None: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __len__(self) -> int: ...
    def _asdict(self) -> dict[str, NDArray[Any]]: ...
    def _replace(self, **changes: NDArray[Any]) -> Self: ...
    @staticmethod
    def begin(shape: Shape, active: BoolArray) -> SharedCovariance:
        """Return the sums of no rows."""

    def settle(self) -> None:
        """Add all rows kept to A."""

    def refresh_all(self) -> None:
        """Recompute the logarithms of the counts, and V, from the sums."""

    def sum_rows(self, phi: SingleArray, y: IntArray, weight: FloatArray) -> None:
        """Add labelled rows to the sums alone, in groups of 128."""

class FadingCovariance(Member):
    """Fading sums over the rows, and the discriminants computed from them last."""

    active: BoolArray
    """(M,)"""
    class_weight: FloatArray
    """(M,) weight left of each class"""
    log_count: FloatArray
    """(M,) log(class_weight + ½)"""
    B: FloatArray
    """(M, E) sum of φ of each class"""
    A: FloatArray
    """sum of φφᵀ of all rows but those kept, in blocks"""
    V: SingleArray
    """(E, C) the directions; C is M rounded up to a multiple of 8"""
    offset: SingleArray
    """(C,) the constants"""
    kept: SingleArray
    """rows not yet in A: [block of 16 columns][64 rows][16]"""
    weight: FloatArray
    """(64,) their weights"""
    pending: IntArray
    """(1,) rows kept"""
    seen: IntArray
    """(1,) rows learned"""
    next: IntArray
    """(1,) after how many V is recomputed"""
    columns: IntArray
    """(dimension,) of φ that are used; E is their number, rounded up"""

    _fields: ClassVar[tuple[str, ...]]

    def __init__(self, *arrays: NDArray[Any], **named: NDArray[Any]) -> None: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __len__(self) -> int: ...
    def _asdict(self) -> dict[str, NDArray[Any]]: ...
    def _replace(self, **changes: NDArray[Any]) -> Self: ...
    @staticmethod
    def begin(shape: Shape, active: BoolArray) -> FadingCovariance:
        """Return the sums of no rows."""

    def settle(self) -> None:
        """Add all rows kept to A."""

    def refresh(self) -> None:
        """Recompute V from the sums."""
