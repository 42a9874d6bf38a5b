"""Operations of the linear learners on rows, where numbers are near their limits."""

import numpy as np
import pytest

from rpnb._core.linear import is_credible, stays_finite
from rpnb.core.kernels.row_blocks import RowBlock

LARGE = 1.5e308


@pytest.mark.parametrize(
    ("w", "values", "columns", "keep", "step", "finite"),
    [
        ([LARGE, 1.0], [1.0, 1.0], [], 1.0, 1.0, True),
        ([LARGE, 1.0], [LARGE, 1.0], [], 1.0, 1.0, False),
        ([LARGE, 1.0], [LARGE, 1.0], [], 1.0, -1.0, True),
        ([LARGE, 1.0], [1.0, LARGE], [], 1.0, 1.5, False),
        ([LARGE, 1.0], [1.0, 1.0], [], 1.5, 1.0, False),
        # Of a sparse row, columns that it does not have grow as well.
        ([LARGE, 1.0], [1.0], [1], 1.0, 1.0, True),
        ([LARGE, 1.0], [1.0], [1], 1.5, 1.0, False),
        ([LARGE, 1.0], [1.0], [1], 0.5, 1.0, True),
        ([1.0, LARGE], [LARGE], [1], 1.0, 1.0, False),
        ([1.0, LARGE], [LARGE], [0], 1.0, 1.0, True),
        ([1.0, np.nan], [1.0], [1], 1.0, 1.0, False),
    ],
)
def test_whether_a_step_stays_finite(
    w: list[float],
    values: list[float],
    columns: list[int],
    keep: float,
    step: float,
    finite: bool,
) -> None:
    ends = np.array([0, len(values)])
    row = RowBlock(np.array(values), np.array(columns, np.int64), ends)
    assert stays_finite(np.array(w), row, keep, step) == finite


@pytest.mark.parametrize(
    ("v", "credible"),
    [
        (1.0, True),
        (0.5, True),
        (0.49, False),
        (-1.0, False),
        (np.nan, False),
        (np.inf, False),
    ],
)
def test_a_variance_along_a_row_must_be_possible(v: float, credible: bool) -> None:
    assert is_credible(np.eye(2), np.array([0.5, 1.0]), v) == credible
    assert is_credible(np.eye(2), np.zeros(2), v) == bool(0.0 <= v < np.inf)
