"""RPNB's model: moments, densities, scores, combining rules."""

from collections.abc import Iterator
from typing import Any

from rpnb._core.streams import Calibration
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray

# Prior mean, variance, weight and variance floor.
_Prior = tuple[float, float, float, float]

class Moments:
    """Observed moments of M classes: everything that a model has learned."""

    weight: FloatArray
    """(M,) total weight of the observations learned"""
    mean: FloatArray
    """(M, F) their mean"""
    scatter: FloatArray
    """(M, F) their summed squared deviations from the mean"""
    _fields: tuple[str, ...]

    def __init__(
        self, weight: FloatArray, mean: FloatArray, scatter: FloatArray
    ) -> None: ...
    @staticmethod
    def empty(M: int, F: int) -> Moments: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def _replace(self, **arrays: Any) -> Moments: ...
    def _asdict(self) -> dict[str, Any]: ...

def add_observation(moments: Moments, m: int, z: FloatArray, weight: float) -> None: ...
def fade(moments: Moments, m: int, keep: float, weight: float) -> None: ...
def merge(into: Moments, m: int, other: Moments, o: int) -> None: ...
def unmerge(out: Moments, m: int, part: Moments, o: int) -> None: ...
def clear(moments: Moments, m: int) -> None: ...

class Gaussians:
    """Normal densities of M classes, derived from moments and prior: equation (4)."""

    mean: FloatArray
    """(M, F) μ"""
    precision: FloatArray
    """(M, F) 1/σ²"""
    constant: FloatArray
    """(M,) −Σ log(√(2π)·σ): a class's log density at its mean"""
    _fields: tuple[str, ...]

    def __init__(
        self, mean: FloatArray, precision: FloatArray, constant: FloatArray
    ) -> None: ...
    @staticmethod
    def empty(M: int, F: int) -> Gaussians: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def _replace(self, **arrays: Any) -> Gaussians: ...
    def _asdict(self) -> dict[str, Any]: ...

def refresh(gaussians: Gaussians, m: int, moments: Moments, prior: _Prior) -> None: ...
def learn_density(
    gaussians: Gaussians,
    m: int,
    moments: Moments,
    prior: _Prior,
    z: FloatArray,
    weight: float,
) -> None: ...
def score(
    z: FloatArray, gaussians: Gaussians, m: int, bias: float, rival: float
) -> float: ...
def best_class(
    z: FloatArray, gaussians: Gaussians, bias: FloatArray, eligible: BoolArray
) -> int: ...
def member_log_posteriors(
    z: FloatArray,
    gaussians: Gaussians,
    bias: FloatArray,
    eligible: BoolArray,
    out: FloatArray,
) -> None: ...
def combine(rule: int, posterior: FloatArray, scores: FloatArray) -> None: ...
def best_combined(scores: FloatArray, eligible: BoolArray) -> int: ...

class ClassState:
    """Which of M classes may be predicted, their counts and prior probabilities."""

    eligible: BoolArray
    """(M,) whether the class is active: declared or seen"""
    seen: FloatArray
    """(M,) weight of all rows seen of the class, learned or not; it fades as the
    moments do where the prior follows it"""
    bias: FloatArray
    """(M,) K·log P(y_m), up to a constant common to all classes"""
    _fields: tuple[str, ...]

    def __init__(
        self, eligible: BoolArray, seen: FloatArray, bias: FloatArray
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def _replace(self, **arrays: Any) -> ClassState: ...
    def _asdict(self) -> dict[str, Any]: ...

def set_bias_from_counts(classes: ClassState, count_factor: float) -> None: ...

class Model:
    """The state that passes read and write."""

    def __init__(
        self,
        K: int,
        rule: int,
        prior: _Prior,
        keep: float,
        count_factor: float,
        moments: Moments,
        gaussians: Gaussians,
        classes: ClassState,
    ) -> None: ...
    @property
    def moments(self) -> Moments: ...
    @property
    def gaussians(self) -> Gaussians: ...
    @property
    def classes(self) -> ClassState: ...
    calibration: Calibration | None
    keep: float
    count_factor: float
    n_seen: int
    n_updates: int
    rule_number: int
    @property
    def M(self) -> int: ...
    @property
    def F(self) -> int: ...
    def _set_projection(
        self, R: SingleArray, scale: float, max_column_norm: float
    ) -> None: ...
    def forget_row(self) -> None: ...

def run_naive_bayes(
    prior: _Prior,
    moments: Moments,
    gaussians: Gaussians,
    eligible: BoolArray,
    log_seen: FloatArray,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    labels: IntArray,
) -> None: ...
def score_naive_bayes(
    gaussians: Gaussians, log_seen: FloatArray, X: FloatArray, out: FloatArray
) -> None: ...
def add_rows(
    moments: Moments, X: FloatArray, y: IntArray, weight: FloatArray
) -> None: ...

class ClassCovariances:
    """Weight, mean and covariance of M classes: the whole state of the learner."""

    weight: FloatArray
    """(M,) n: 1 plus the weight of the rows learned"""
    mean: FloatArray
    """(M, p) μ"""
    root: FloatArray
    """(M, p, p) U, upper triangular, with U·Uᵀ = S⁻¹"""
    log_volume: FloatArray
    """(M,) log det S"""
    _fields: tuple[str, ...]

    def __init__(
        self,
        weight: FloatArray,
        mean: FloatArray,
        root: FloatArray,
        log_volume: FloatArray,
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def _replace(self, **arrays: Any) -> ClassCovariances: ...
    def _asdict(self) -> dict[str, Any]: ...

def run_online_bayes(
    classes: ClassCovariances,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    scores: FloatArray,
    labels: IntArray,
) -> int: ...
def add_to_covariance(
    classes: ClassCovariances, m: int, x: FloatArray, weight: float
) -> None: ...
