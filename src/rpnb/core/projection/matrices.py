"""Drawing the K matrices of random projections: equation (2).

The K matrices are stored side by side as one (p, F) matrix of 32-bit floats, unscaled:
the factor 1/√q is applied to the observation, which is shorter. Single precision
halves the memory to be read and costs no accuracy, since a projection is *any* draw
from its distribution.
"""

from math import floor, log2
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rpnb._core import projection as kernels
from rpnb._core.projection import project as project
from rpnb.core.kernels.arrays import SingleArray, UIntArray

MatrixDistribution: TypeAlias = Literal["gaussian", "bernoulli", "achlioptas"]
Distribution: TypeAlias = MatrixDistribution | Literal["very_sparse", "hadamard"]
# Distributions whose entries are independent of each other and of p, so that any row
# can be drawn alone.
MATRIX_DISTRIBUTIONS: Final[tuple[MatrixDistribution, ...]] = get_args(
    MatrixDistribution
)
DISTRIBUTIONS: Final[tuple[Distribution, ...]] = (
    *MATRIX_DISTRIBUTIONS,
    "very_sparse",
    "hadamard",
)


def down_space_dimension(p: int) -> int:
    """Return q = ⌊2·log₂ p⌋, at least 1 and at most p (section 3.1 of the paper)."""
    return max(1, min(p, floor(2.0 * log2(p))))


def draw_matrix(
    distribution: Distribution, seed: int, features: UIntArray, K: int, q: int
) -> SingleArray:
    """Draw the rows of the K projections that belong to `features`, side by side.

    Parameters
    ----------
    distribution : {"gaussian", "bernoulli", "achlioptas"}
        Distribution of the entries: N(0, 1); ±1 with probability ½ each; or −√3, 0, √3
        with probabilities 1/6, 2/3, 1/6 (section 2.1 of the paper). All have mean 0 and
        variance 1.
    seed : int
        64 bits.
    features : array of shape (p,)
        The features' numbers, 64 bits each. A row depends on its own number only.
    K, q : int
        Number of projections, and columns of each.

    Returns
    -------
    array of shape (p, K·q)
        Column k·q + j is column j of matrix k, not divided by √q.
    """
    if distribution not in MATRIX_DISTRIBUTIONS:
        raise ValueError(
            f"the rows of a {distribution!r} projection depend on how many features "
            "there are; rows can be drawn alone for " + ", ".join(MATRIX_DISTRIBUTIONS)
        )
    R = np.empty((features.shape[0], K * q), np.float32)
    kernels.draw_matrix(distribution, seed, np.ascontiguousarray(features), q, R)
    return R
