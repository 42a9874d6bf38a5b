"""Rows through an RPNB model."""

from collections.abc import Iterator
from typing import Any

from rpnb._core.bayes import Gaussians, Model, Moments
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray

NO_PROJECTION: int
PANEL: int
FEATURES_PER_SUM: int

def run_exact(
    model: Model,
    X: FloatArray,
    projected: bool,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
) -> None: ...
def run_scored(
    model: Model,
    X: FloatArray,
    projected: bool,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
    out: FloatArray,
) -> None: ...
def run_row(
    model: Model, x: FloatArray, z: FloatArray, y: int, weight: float, learn: int
) -> int: ...
def score_rows(
    model: Model, X: FloatArray, projected: bool, out: FloatArray
) -> None: ...
def accumulate_rows(
    model: Model,
    X: FloatArray,
    projected: bool,
    y: IntArray,
    weight: FloatArray,
    keep: float,
    into: Moments,
) -> None: ...
def learn_batch(model: Model, y: int, batch: Moments) -> None: ...
def count_rows(model: Model, y: IntArray, weight: FloatArray) -> None: ...

class SingleDensities:
    """The classes' densities in single precision, relative to the origin."""

    square: SingleArray
    """(M, F) −½/σ²"""
    linear: SingleArray
    """(M, F) (μ − z₀)/σ²"""
    constant: FloatArray
    """(M,) log density at the mean, minus half of the square of `mean_norm`"""
    mean_norm: FloatArray
    """(M,) √(Σ (μ − z₀)²/σ²)"""
    precision_norm: FloatArray
    """(M,) √(Σ 1/σ²)"""
    origin: FloatArray
    """(F,) z₀"""
    _fields: tuple[str, ...]

    def __init__(self, *arrays: Any) -> None: ...
    @staticmethod
    def empty(M: int, F: int) -> SingleDensities: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def _replace(self, **arrays: Any) -> SingleDensities: ...
    def _asdict(self) -> dict[str, Any]: ...

def features_per_sum(p: int) -> int: ...
def summation_error(F: int) -> float: ...
def refresh_single_densities(
    densities: SingleDensities, m: int, gaussians: Gaussians
) -> None: ...
def learn_into_singles(
    densities: SingleDensities, model: Model, m: int, z: FloatArray, weight: float
) -> bool: ...
def centre_rows(
    X: FloatArray,
    x0: FloatArray,
    scale: float,
    max_column_norm: float,
    out: SingleArray,
    projection_error: FloatArray,
    row_norm: FloatArray,
) -> None: ...
def centre_projected(
    Z: FloatArray,
    z0: FloatArray,
    out: SingleArray,
    projection_error: FloatArray,
    row_norm: FloatArray,
) -> None: ...
def score_centred(
    Z: SingleArray, densities: SingleDensities, scores: FloatArray
) -> None: ...
def error_bound(
    value: float,
    gaussians: Gaussians,
    densities: SingleDensities,
    m: int,
    bias: float,
    projection_error: float,
    row_norm: float,
) -> float: ...
def quick_error_bound(
    value: float,
    gaussians: Gaussians,
    densities: SingleDensities,
    m: int,
    bias: float,
    projection_error: float,
    row_norm: float,
) -> float: ...
def find_leader(
    scores: FloatArray,
    model: Model,
    densities: SingleDensities,
    projection_error: float,
    row_norm: float,
    rivals: BoolArray,
) -> tuple[int, bool]: ...
def run_screened(
    model: Model,
    densities: SingleDensities,
    x0: FloatArray,
    X: FloatArray,
    projected: bool,
    y: IntArray,
    weight: FloatArray,
    learn: int,
    labels: IntArray,
    Z: SingleArray,
    projection_error: FloatArray,
    row_norm: FloatArray,
    step: int,
) -> None: ...

class Forms:
    """The scores of a model's classes as quadratic forms of the features."""

    def __init__(self, model: Model, x0: FloatArray) -> None: ...
    def classify(self, X: FloatArray, labels: IntArray) -> None: ...
    def score(self, X: FloatArray, values: FloatArray, bounds: FloatArray) -> None: ...
