"""Datasets that a rule gives row by row: Monk-2 and Nursery; and Iris, from a table."""

import numpy as np

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.datasets.records import LabelArray, Rows

# Nursery's class follows from a hierarchy of criteria: Olave, Rajkovic & Bohanec
# (1989); Zupan, Bohanec, Bratko & Demsar (1997) give its shape. The tables of each
# node were read off UCI's rows, which hold every combination: two combinations of
# criteria have the same level where they agree on the class in every context.
_EMPLOYMENT = np.array([[0, 1, 1, 2, 3], [1, 1, 2, 3, 3], [2, 2, 3, 3, 3]])
_STRUCTURE = np.array([[0, 1, 2, 2], [1, 1, 2, 2], [1, 2, 2, 2], [2, 2, 2, 2]])
_STANDING = np.array(  # structure, housing, finance
    [[[0, 1], [1, 1], [1, 1]], [[1, 1], [1, 1], [2, 2]], [[1, 2], [2, 2], [2, 2]]]
)
_SOCIAL_HEALTH = np.array([[0, 1, 2], [0, 1, 2], [1, 1, 2]])
_NURSERY_CLASSES = np.array(
    ["not_recom", "recommend", "very_recom", "priority", "spec_prior"]
)
_NURSERY = np.array(  # employment, standing, social and health
    [
        [[1, 3, 0], [2, 3, 0], [3, 3, 0]],
        [[2, 3, 0], [2, 3, 0], [3, 3, 0]],
        [[3, 3, 0], [3, 3, 0], [3, 4, 0]],
        [[3, 3, 0], [3, 4, 0], [4, 4, 0]],
    ]
)


def nursery() -> Rows:
    """Return Nursery: all 12,960 applications, codes from 0, in UCI's order."""
    codes = _product(3, 5, 4, 4, 3, 2, 3, 3)
    parents, has_nurs, form, children, housing, finance, social, health = codes.T
    level = _NURSERY[
        _EMPLOYMENT[parents, has_nurs],
        _STANDING[_STRUCTURE[form, children], housing, finance],
        _SOCIAL_HEALTH[social, health],
    ]
    return codes.astype(np.float64), _NURSERY_CLASSES[level]


def monk_2() -> Rows:
    """Return KEEL's monk-2: all 432 robots, codes from 1, in lexicographic order.

    Its concept is MONK-3 of Thrun et al. (1991) without noise, not MONK-2: the jacket
    is green and the robot holds a sword, or the jacket is not blue and the body is
    not an octagon.
    """
    codes = _product(3, 3, 2, 3, 4, 2) + 1
    _, body, _, holding, jacket, _ = codes.T
    concept = ((jacket == 3) & (holding == 1)) | ((jacket != 4) & (body != 3))
    label: LabelArray = np.where(concept, "1", "0")
    return codes.astype(np.float64), label


def iris() -> Rows:
    """Return Iris as UCI has it.

    scikit-learn follows Fisher (1936); UCI's file differs from it in three cells of
    the rows 35 and 38, and is what the literature of the paper used.
    """
    from sklearn.datasets import load_iris  # slow to import, rarely needed

    table = load_iris()
    X: FloatArray = np.array(table.data, dtype=np.float64)
    X[34] = X[37] = (4.9, 3.1, 1.5, 0.1)
    species = np.array([f"Iris-{name}" for name in table.target_names])
    return X, species[table.target]


def _product(*sizes: int) -> IntArray:
    """All combinations of codes below `sizes`, the last changing fastest."""
    codes: IntArray = np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1).T
    return codes
