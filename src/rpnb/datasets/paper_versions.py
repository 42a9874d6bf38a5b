"""What the paper's files must have looked like, where they were not the true ones.

Each reading was found by comparing the printed results of the linear baselines with
runs on candidate readings; the printed results of Online Bagging then agreed too.
"""

from collections.abc import Callable

import numpy as np

from rpnb.core.kernels.arrays import FloatArray


def without_decimal_points(X: FloatArray) -> FloatArray:
    """Read numbers with two decimals as if their points were lost (Ecoli).

    The digits behind "0." are taken as an integer once trailing zeros are dropped:
    0.49 becomes 49, 0.5 becomes 5, 0.07 becomes 7; 1.00 and 0.00 stay 1 and 0.
    """
    hundredths = np.rint(100.0 * X)
    whole = np.where(hundredths % 10 == 0, hundredths / 10, hundredths)
    digits: FloatArray = np.where(hundredths % 100 == 0, hundredths / 100, whole)
    return digits


def with_modes(X: FloatArray, missing: float = -1.0) -> FloatArray:
    """Replace missing values by the most frequent one of their column (Soybean)."""
    filled = X.copy()
    for column in filled.T:
        values, counts = np.unique(column[column != missing], return_counts=True)
        column[column == missing] = values[np.argmax(counts)]
    return filled


def with_codes_from_one(X: FloatArray) -> FloatArray:
    """Count codes from 1 instead of 0 (Nursery, Tic_Tac_Toe)."""
    return X + 1.0


#: By slug; the paper read all other files as they are.
PAPER_READINGS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "ecoli": without_decimal_points,
    "nursery": with_codes_from_one,
    "soybean": with_modes,
    "tic_tac_toe": with_codes_from_one,
}
