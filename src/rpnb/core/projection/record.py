"""K random projections as one record: parameters, and the matrix drawn from them."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from rpnb._core.projection import Hadamard, VerySparse, max_column_norm
from rpnb.core.kernels.arrays import SingleArray, UIntArray, checksum
from rpnb.core.projection.matrices import Distribution, draw_matrix

# A matrix of more bytes is not kept: its rows are drawn on demand.
LARGEST_MATRIX: Final = 1 << 29
# Rows in the fingerprint of a matrix that is not kept.
_SAMPLE: Final = 64


# Distributions that are applied by a structure instead of a matrix.
STRUCTURED: Final[dict[Distribution, type[VerySparse | Hadamard]]] = {
    "very_sparse": VerySparse,
    "hadamard": Hadamard,
}


@dataclass(frozen=True, slots=True)
class Projection:
    """K random projections: the parameters, and the matrix drawn from them."""

    distribution: Distribution
    seed: int
    features: UIntArray
    """(p,) the features' numbers"""
    K: int
    q: int
    R: SingleArray
    """(p, F), drawn from the five above; (0, F) if no matrix is kept"""
    max_column_norm: float
    """largest Euclidean norm of a column of R"""
    structure: VerySparse | Hadamard | None = None
    """applied instead of R, for the distributions in `STRUCTURED`"""

    @property
    def p(self) -> int:
        """Number of features."""
        return self.features.shape[0]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the parameters; the matrix is drawn again."""
        parameters = self.distribution, self.seed, self.features, self.K, self.q
        return make_projection, parameters

    def __deepcopy__(self, _memo: object) -> "Projection":
        """Return the same object, since a projection never changes."""
        return self

    def same_as(self, other: "Projection") -> bool:
        """Whether both project every observation to the same numbers."""
        return (
            (self.distribution, self.seed, self.K, self.q)
            == (other.distribution, other.seed, other.K, other.q)
        ) and np.array_equal(self.features, other.features)


def make_projection(
    distribution: Distribution, seed: int, features: UIntArray, K: int, q: int
) -> Projection:
    """Draw K projections of the given features to q dimensions."""
    features = np.ascontiguousarray(features)
    F = K * q
    no_matrix = np.empty((0, F), np.float32)
    parameters = distribution, seed, features, K, q
    if distribution in STRUCTURED:
        structure = STRUCTURED[distribution].draw(seed, features, F)
        return Projection(*parameters, no_matrix, 0.0, structure)
    if features.shape[0] * F * no_matrix.itemsize > LARGEST_MATRIX:
        return Projection(*parameters, no_matrix, 0.0)
    R = draw_matrix(*parameters)
    return Projection(*parameters, R, max_column_norm(R))


def fingerprint(projection: Projection) -> int:
    """Return a checksum of the projections, the same on every machine.

    A matrix that is too large to be kept is represented by 64 of its rows.
    """
    structure = projection.structure
    if isinstance(structure, VerySparse):
        return checksum([structure.starts, structure.entries])
    if isinstance(structure, Hadamard):
        return checksum([structure.signs, structure.places, structure.weights])
    if projection.R.shape[0] > 0:
        return checksum([projection.R])
    some = np.linspace(0, projection.p - 1, _SAMPLE).astype(np.int64)
    rows = draw_matrix(
        projection.distribution,
        projection.seed,
        projection.features[some],
        projection.K,
        projection.q,
    )
    return checksum([rows])
