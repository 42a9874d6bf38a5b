"""Hoeffding trees and their ensembles."""

from collections.abc import Iterator
from typing import Any, ClassVar, Self, overload

from numpy.typing import NDArray

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.trees import Draws, TreeParameters

class _Record:
    _fields: ClassVar[tuple[str, ...]]
    def __init__(self, *arrays: NDArray[Any], **named: NDArray[Any]) -> None: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __len__(self) -> int: ...
    def _replace(self, **changes: NDArray[Any]) -> Self: ...
    def _asdict(self) -> dict[str, NDArray[Any]]: ...

class Nodes(_Record):
    @property
    def attribute(self) -> IntArray: ...
    @property
    def threshold(self) -> FloatArray: ...
    @property
    def left(self) -> IntArray: ...
    @property
    def right(self) -> IntArray: ...

class LeafCounts(_Record):
    @property
    def slots(self) -> IntArray: ...
    @property
    def class_weight(self) -> FloatArray: ...
    @property
    def majority_right(self) -> FloatArray: ...
    @property
    def bayes_right(self) -> FloatArray: ...
    @property
    def checked(self) -> FloatArray: ...
    @property
    def frozen(self) -> BoolArray: ...

class LeafMoments(_Record):
    @property
    def weight(self) -> FloatArray: ...
    @property
    def mean(self) -> FloatArray: ...
    @property
    def scatter(self) -> FloatArray: ...
    @property
    def low(self) -> FloatArray: ...
    @property
    def high(self) -> FloatArray: ...

class LeafDensities(_Record):
    @property
    def centre(self) -> FloatArray: ...
    @property
    def precision(self) -> FloatArray: ...
    @property
    def normaliser(self) -> FloatArray: ...
    @property
    def peak(self) -> FloatArray: ...
    @property
    def flat(self) -> IntArray: ...
    @property
    def limit(self) -> FloatArray: ...

class Leaves:
    _fields: ClassVar[tuple[str, ...]]
    def __init__(
        self, counts: LeafCounts, observed: LeafMoments, densities: LeafDensities
    ) -> None: ...
    @property
    def counts(self) -> LeafCounts: ...
    @property
    def observed(self) -> LeafMoments: ...
    @property
    def densities(self) -> LeafDensities: ...
    def __iter__(self) -> Iterator[Any]: ...

class Forest:
    _fields: ClassVar[tuple[str, ...]]
    def __init__(self, splits: IntArray, nodes: Nodes, leaves: Leaves) -> None: ...
    @property
    def splits(self) -> IntArray: ...
    @property
    def nodes(self) -> Nodes: ...
    @property
    def leaves(self) -> Leaves: ...
    @property
    def places(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class MemberAccuracy(_Record):
    @property
    def right(self) -> FloatArray: ...
    @property
    def wrong(self) -> FloatArray: ...
    @property
    def seen(self) -> FloatArray: ...

def pass_tree(
    forest: Forest,
    k: int,
    rules: TreeParameters,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> None:
    """Do what `pass_bagging` does with tree k alone; `weight` is (n,)."""

def pass_bagging(
    forest: Forest,
    rules: TreeParameters,
    draws: Draws,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> None:
    """Test each row of X (n, p) on every tree, then learn it if `learn`.

    Votes are added to `votes` (n, M). Only `learn` reads `y` (n,), the class numbers,
    and `weight`, (n,) or (1,) if all rows weigh the same; a row whose weight is not
    above 0 is tested but not learned. A forest that runs out of places gets new
    arrays: those taken from it earlier no longer follow it.
    """

def pass_boosting(
    forest: Forest,
    accuracy: MemberAccuracy,
    rules: TreeParameters,
    draws: Draws,
    pure: bool,
    X: FloatArray,
    y: IntArray,
    weight: FloatArray,
    learn: bool,
    votes: FloatArray,
) -> None:
    """Do what `pass_bagging` does, by boosting; writes to `accuracy` as well.

    If `pure`, a row is learned with weight λ instead of a Poisson draw.
    """

def fill_labels(votes: FloatArray, labels: IntArray) -> None:
    """Label each row by the class with most votes (n, M), the lowest of equals."""

# Parts of trees, bound for tests
def refresh_densities(leaves: Leaves, leaf: int, m: int, density: int) -> None: ...
def score_by_factors(
    leaves: Leaves, leaf: int, m: int, x: FloatArray, density: int
) -> float: ...
def weight_below(
    leaves: Leaves, leaf: int, m: int, j: int, z: float, deviation: float
) -> float: ...
def fill_row_words(
    seed: int, purpose: int, member: int, row: int, words: NDArray[Any]
) -> None: ...
@overload
def draw_poisson(word: int) -> float: ...
@overload
def draw_poisson(word: int, mean: float) -> float: ...
def influence(right: float, wrong: float) -> float: ...
