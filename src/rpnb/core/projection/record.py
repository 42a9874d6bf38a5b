"""K random projections as one record: the recipe, and the matrix drawn from it."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from rpnb.core.kernels.arrays import SingleArray, UIntArray
from rpnb.core.projection.hadamard import Hadamard, draw_hadamard
from rpnb.core.projection.matrices import Distribution, draw, longest_column
from rpnb.core.projection.very_sparse import VerySparse, draw_very_sparse

# Bytes of a matrix beyond which it is not kept: its rows are drawn where needed.
LARGEST_MATRIX: Final = 1 << 29


@dataclass(frozen=True, slots=True)
class Projection:
    """K random projections: the recipe, and the matrix that follows from it."""

    law: Distribution
    seed: int
    features: UIntArray
    """(p,) the features' numbers"""
    K: int
    q: int
    R: SingleArray
    """(p, F), drawn from the five above; without rows where it is not kept"""
    longest: float
    """largest Euclidean norm of a column of R"""
    structure: VerySparse | Hadamard | None = None
    """what stands in R's place, for laws that have it"""

    @property
    def p(self) -> int:
        """Number of features."""
        return self.features.shape[0]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the recipe; the matrix is drawn again."""
        return make_projection, (self.law, self.seed, self.features, self.K, self.q)

    def __deepcopy__(self, _memo: object) -> "Projection":
        """Share it: nothing in it ever changes."""
        return self

    def same_as(self, other: "Projection") -> bool:
        """Whether the two project every observation alike."""
        return (
            (self.law, self.seed, self.K, self.q)
            == (other.law, other.seed, other.K, other.q)
        ) and np.array_equal(self.features, other.features)


def make_projection(
    law: Distribution, seed: int, features: UIntArray, K: int, q: int
) -> Projection:
    """Draw K projections of the given features to q dimensions."""
    F = K * q
    unkept = np.empty((0, F), np.float32)
    if law == "very_sparse":
        very_sparse = draw_very_sparse(seed, features, F)
        return Projection(law, seed, features, K, q, unkept, 0.0, very_sparse)
    if law == "hadamard":
        hadamard = draw_hadamard(seed, features, F)
        return Projection(law, seed, features, K, q, unkept, 0.0, hadamard)
    if features.shape[0] * F * unkept.itemsize > LARGEST_MATRIX:
        return Projection(law, seed, features, K, q, unkept, 0.0)
    R = draw(law, seed, features, K, q)
    return Projection(law, seed, features, K, q, R, longest_column(R))
