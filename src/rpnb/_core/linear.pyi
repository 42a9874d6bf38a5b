"""Linear learners."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, TypeAlias

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.row_blocks import RowBlock

# An array (n, p), or the values, columns and starts of sparse rows.
_Rows: TypeAlias = FloatArray | RowBlock

class Algorithm(IntEnum):
    """The learners; those from SOP on keep a covariance."""

    PERCEPTRON = ...
    PERCEPTRON_UNIFORM = ...
    PERCEPTRON_PROPORTIONAL = ...
    ROMMA = ...
    AGGRESSIVE_ROMMA = ...
    ALMA = ...
    OGD = ...
    OGD_LOGISTIC = ...
    OGD_SQUARE = ...
    OGD_ZERO_ONE = ...
    PA = ...
    PA1 = ...
    PA2 = ...
    SOP = ...
    IELLIP = ...
    AROW = ...
    NAROW = ...
    NHERD = ...
    CW = ...
    SCW1 = ...
    SCW2 = ...

class LinearAlgorithm:
    """A learner and its parameters. Created by `make_algorithm`."""

    def __init__(
        self,
        algorithm: Algorithm,
        two_class: bool,
        libol: bool,
        C: float,
        phi: float,
        alpha: float,
        power: float,
        b: float,
    ) -> None: ...
    @property
    def algorithm(self) -> Algorithm: ...
    @property
    def two_class(self) -> bool:
        """Whether one weight vector separates two classes, or M rows compete."""
    @property
    def libol(self) -> bool:
        """Whether to reproduce LIBOL even where it is unsound (see cpp/linear)."""
    @property
    def C(self) -> float:
        """Largest step, step size, or trade-off, depending on the learner."""
    @property
    def phi(self) -> float:
        """φ = Φ⁻¹(η) of the confidence-weighted learners."""
    @property
    def alpha(self) -> float:
        """ALMA's α, the target margin as a share of the largest one."""
    @property
    def power(self) -> float:
        """ALMA's p."""
    @property
    def b(self) -> float:
        """IELLIP's b, the factor from each c_t to the next."""

class LinearState:
    """Everything that a linear learner needs to predict and to resume learning."""

    W: FloatArray
    """(M, p) one row of weights per class; (1, p) in the two-class form"""
    S: FloatArray
    """Σ: (p, p), or its diagonal (1, p); (0, p) for a first-order learner"""
    eligible: BoolArray
    """(M,) whether a class has been declared or seen; not read in the two-class form"""
    counts: IntArray
    """(2,) number of rounds learned, and of those that triggered an update"""
    c: FloatArray
    """(1,) c_t of IELLIP"""
    _fields: tuple[str, ...]

    def __init__(
        self,
        W: FloatArray,
        S: FloatArray,
        eligible: BoolArray,
        counts: IntArray,
        c: FloatArray,
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def _replace(self, **arrays: Any) -> LinearState: ...
    def _asdict(self) -> dict[str, Any]: ...

def learn_rows(
    rule: LinearAlgorithm,
    state: LinearState,
    rows: _Rows,
    y: IntArray,
    labels: IntArray,
) -> int:
    """Predict each row into `labels`, then learn it; return the number of updates.

    A row of class −1 is only predicted. In the two-class form 0 stands for +1 and 1 for
    −1.
    """

def predict_rows(
    rule: LinearAlgorithm, state: LinearState, rows: _Rows, labels: IntArray
) -> None:
    """Write the number of each row's predicted class, −1 while none is eligible."""

def score_rows(
    rule: LinearAlgorithm, state: LinearState, rows: _Rows, out: FloatArray
) -> None:
    """Write the scores that decide the labels: (n, M), two-class f: (n, 1)."""

def stays_finite(w: FloatArray, rows: _Rows, keep: float, step: float) -> bool: ...
def is_credible(S: FloatArray, g: FloatArray, v: float) -> bool: ...
def shrink_covariance(
    S: FloatArray, g: FloatArray, v: float, beta: float, libol: bool
) -> None: ...
