"""The search for values that no learner accepts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpnb._core.streams import LARGEST, first_bad

BAD = [np.inf, -np.inf, np.nan, 2 * LARGEST, -2 * LARGEST]
values = st.lists(st.sampled_from([0.0, -1.0, LARGEST, -LARGEST, *BAD]), max_size=70)


def is_bad(value: float, missing: bool) -> bool:
    return not missing if np.isnan(value) else abs(value) > LARGEST


@given(values, st.integers(0, 600), st.booleans())
def test_the_first_bad_value_is_found(
    ending: list[float], before: int, missing: bool
) -> None:
    rows = np.concatenate([np.ones(before), ending])
    bad = [i for i, value in enumerate(rows.tolist()) if is_bad(value, missing)]
    assert first_bad(rows, missing) == (bad[0] if bad else -1)


@pytest.mark.parametrize("missing", [False, True])
def test_in_single_precision_only_what_is_not_finite_is_bad(missing: bool) -> None:
    rows = np.full(300, np.finfo(np.float32).max, np.float32)
    assert first_bad(rows, missing) == -1
    rows[77] = np.nan
    assert first_bad(rows, missing) == (-1 if missing else 77)
    rows[100] = -np.inf
    assert first_bad(rows, missing) == (100 if missing else 77)
