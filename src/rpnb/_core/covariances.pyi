"""Members with a shared covariance: of all rows, and of recent rows."""

from rpnb._core.pooled import Member, Shape
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray

class SharedCovariance(Member):
    """Sums over all rows learned, and the latest discriminants computed from them."""

    active: BoolArray
    class_weight: FloatArray
    log_count: FloatArray
    B: FloatArray
    A: FloatArray
    V: SingleArray
    offset: SingleArray
    kept: SingleArray
    labels: IntArray
    weight: FloatArray
    gram: SingleArray
    done: IntArray
    pending: IntArray
    seen: IntArray
    next: IntArray
    dimension: IntArray

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
    """Fading sums over the rows, and the latest discriminants computed from them."""

    active: BoolArray
    class_weight: FloatArray
    log_count: FloatArray
    B: FloatArray
    A: FloatArray
    V: SingleArray
    offset: SingleArray
    kept: SingleArray
    weight: FloatArray
    pending: IntArray
    seen: IntArray
    next: IntArray
    columns: IntArray

    @staticmethod
    def begin(shape: Shape, active: BoolArray) -> FadingCovariance:
        """Return the sums of no rows."""

    def settle(self) -> None:
        """Add all rows kept to A."""

    def refresh(self) -> None:
        """Recompute V from the sums."""
