"""The pooled model: scale, features, members, pool, and rows going through them."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

from numpy.typing import NDArray

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray, SingleArray
from rpnb.core.kernels.row_blocks import RowBlock

class Shape:
    """What the shapes of states depend on, besides the number of classes."""

    p: int
    d: int
    E: int
    dimension: int
    D: int
    dense: int
    window: int
    delay: int
    def __init__(
        self,
        p: int,
        d: int,
        E: int,
        dimension: int,
        D: int,
        dense: int,
        window: int,
        delay: int = 0,
    ) -> None: ...
    def __iter__(self) -> Iterator[int]: ...

class Record:
    """A tuple of named arrays that the core owns; every record of it is like this."""

    _fields: tuple[str, ...]
    def __init__(self, *arrays: Any, **named: Any) -> None: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __len__(self) -> int: ...
    def _asdict(self) -> dict[str, NDArray[Any]]: ...
    def _replace(self, **changes: NDArray[Any]) -> Self: ...

class Member(Record):
    """What every member of the pool can do."""

    def score_rows(
        self,
        raw: FloatArray,
        z: SingleArray,
        low: SingleArray,
        phi: SingleArray,
        scores: FloatArray,
    ) -> None: ...
    def learn_rows(
        self,
        raw: FloatArray,
        z: SingleArray,
        low: SingleArray,
        phi: SingleArray,
        y: IntArray,
        weight: FloatArray,
        scores: FloatArray,
    ) -> None: ...
    def begin_again(self, shape: Shape, active: BoolArray, seed: int) -> Member: ...

class Transitions(Member):
    active: BoolArray
    class_weight: FloatArray
    pairs: FloatArray
    last: IntArray
    @staticmethod
    def begin(shape: Shape, active: BoolArray) -> Transitions: ...

class BinnedBayes(Member):
    active: BoolArray
    class_weight: FloatArray
    bins: SingleArray
    logs: SingleArray
    log_class: FloatArray
    log_bins: FloatArray
    @staticmethod
    def begin(shape: Shape, active: BoolArray) -> BinnedBayes: ...
    def derive(self) -> None: ...

class FeatureScale(Record):
    mean: FloatArray
    deviation: FloatArray
    constant: BoolArray
    rows: FloatArray
    labels: IntArray
    weight: FloatArray
    seen: IntArray
    @staticmethod
    def begin(p: int) -> FeatureScale: ...
    def fit_all(self) -> None: ...
    def apply(self, X: FloatArray, z: SingleArray) -> None: ...
    def scale_rows(
        self, X: FloatArray, y: IntArray, weight: FloatArray, z: SingleArray
    ) -> None: ...
    def keep_last_rows(
        self, X: FloatArray, y: IntArray, weight: FloatArray, n: int
    ) -> None: ...

class Features(Record):
    dense: SingleArray
    dense_bias: SingleArray
    reads: IntArray
    entry: SingleArray
    sparse_bias: SingleArray
    low: SingleArray
    @staticmethod
    def draw(p: int, D: int, n_dense: int, seed: int) -> Features: ...
    def fill(self, z: SingleArray, phi: SingleArray, low: SingleArray) -> None: ...

class Pool(Record):
    active: BoolArray
    weights: FloatArray
    curvature: FloatArray
    class_terms: FloatArray
    class_curvature: FloatArray
    class_ridge: FloatArray
    mean_weights: FloatArray
    mean_terms: FloatArray
    mix: FloatArray
    mix_curvature: FloatArray
    class_weight: FloatArray
    power: FloatArray
    power_curvature: FloatArray
    noise: FloatArray
    mistakes: FloatArray
    weight: FloatArray
    seen: IntArray
    history: FloatArray
    clock: IntArray

def pool_rows(
    pool: Pool,
    scores: FloatArray,
    y: IntArray,
    weight: FloatArray,
    predicted: IntArray,
    log_posteriors: FloatArray,
    learned_from: FloatArray,
) -> None: ...
def learn_scored_rows(
    pool: Pool,
    scores: FloatArray,
    y: IntArray,
    weight: FloatArray,
    predicted: IntArray,
) -> None: ...

class Pending(Record):
    rows: FloatArray
    labels: IntArray
    weight: FloatArray
    seen: IntArray
    @staticmethod
    def begin(delay: int, p: int) -> Pending: ...
    @staticmethod
    def block_rows(delay: int) -> int: ...

class PooledModel:
    """All that a pooled classifier has learned, and what it was drawn with."""

    def __init__(
        self,
        names: Sequence[str],
        shape: Shape,
        seed: int,
        features: Features,
        places: IntArray,
        scale: FeatureScale,
        states: Sequence[Member],
        pool: Pool,
        behind: Any = None,
        pending: Pending | None = None,
    ) -> None: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def shape(self) -> Shape: ...
    @property
    def seed(self) -> int: ...
    @property
    def features(self) -> Features: ...
    @property
    def places(self) -> IntArray: ...
    @property
    def scale(self) -> FeatureScale: ...
    @property
    def states(self) -> list[Any]: ...
    @property
    def pool(self) -> Pool: ...
    @property
    def behind(self) -> Any: ...
    @property
    def pending(self) -> Pending | None: ...
    @property
    def M(self) -> int: ...
    def replace_state(self, k: int, state: Member) -> None: ...
    def run(
        self,
        rows: RowBlock | FloatArray,
        y: IntArray,
        weight: FloatArray,
        predicted: IntArray,
        log_posteriors: FloatArray,
        threads: int,
    ) -> None: ...
    def learn_recorded(
        self,
        rows: RowBlock | FloatArray,
        y: IntArray,
        weight: FloatArray,
        scores: FloatArray,
        predicted: IntArray,
        threads: int,
    ) -> None: ...
    def score(
        self,
        rows: RowBlock | FloatArray,
        predicted: IntArray,
        log_posteriors: FloatArray,
        ordered: bool,
    ) -> None: ...
    def fill_scores(self, rows: RowBlock | FloatArray, scores: FloatArray) -> None: ...
    def fill_rows(
        self,
        rows: RowBlock | FloatArray,
        raw: FloatArray,
        z: SingleArray,
        low: SingleArray,
        phi: SingleArray,
    ) -> None: ...
