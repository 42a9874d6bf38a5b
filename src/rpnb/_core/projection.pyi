"""Random projections."""

from collections.abc import Iterator
from typing import Any, ClassVar, TypeAlias

from rpnb.core.kernels.arrays import (
    FloatArray,
    IntArray,
    SingleArray,
    UIntArray,
    WordArray,
)
from rpnb.core.kernels.row_blocks import RowBlock

def draw_matrix(
    distribution: str, seed: int, features: UIntArray, q: int, R: SingleArray
) -> None: ...
def max_column_norm(R: SingleArray) -> float: ...
def project(
    X: FloatArray, rows: IntArray, scale: float, R: SingleArray, Z: FloatArray
) -> None: ...
def project_singles(X: SingleArray, R: SingleArray, Z: SingleArray) -> None: ...

# An array (n, p), or rows that `rpnb.core.kernels.row_blocks` made.
_Rows: TypeAlias = FloatArray | RowBlock

def project_rows(rows: _Rows, scale: float, R: SingleArray, Z: FloatArray) -> None: ...
def draw_and_project_rows(
    rows: _Rows,
    scale: float,
    distribution: str,
    seed: int,
    features: UIntArray,
    q: int,
    Z: FloatArray,
) -> None: ...

class VerySparse:
    _fields: ClassVar[tuple[str, ...]]
    def __iter__(self) -> Iterator[Any]: ...
    @staticmethod
    def draw(seed: int, features: UIntArray, F: int) -> VerySparse: ...
    def project(self, rows: _Rows, scale: float, Z: FloatArray) -> None: ...
    @property
    def starts(self) -> IntArray: ...
    @property
    def entries(self) -> WordArray: ...
    @property
    def size(self) -> float: ...

class Hadamard:
    _fields: ClassVar[tuple[str, ...]]
    def __iter__(self) -> Iterator[Any]: ...
    @staticmethod
    def draw(seed: int, features: UIntArray, F: int) -> Hadamard: ...
    def project(self, rows: _Rows, scale: float, Z: FloatArray) -> None: ...
    @property
    def signs(self) -> SingleArray: ...
    @property
    def places(self) -> IntArray: ...
    @property
    def weights(self) -> FloatArray: ...
