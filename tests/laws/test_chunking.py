"""How rows are divided into calls changes neither labels nor the model."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from learners import content, names, new, stream_for


@pytest.mark.parametrize("name", names())
@settings(max_examples=6)
@given(inner=st.sets(st.integers(1, 299), max_size=6), seed=st.integers(0, 1000))
def test_any_cut_gives_the_same_labels_and_bits(
    name: str, inner: set[int], seed: int
) -> None:
    n = 300 if name == "Pooled" else 60  # past the rows that its scale is taken from
    X, y = stream_for(name, n, seed)
    classes = np.unique(y)
    whole, parts = new(name), new(name)
    expected = whole.predict_then_learn(X, y, classes)
    found = [
        parts.predict_then_learn(X[a:b], y[a:b], classes)
        for a, b in pairwise(sorted({0, *(cut % n for cut in inner), n}))
    ]
    assert_array_equal(np.concatenate(found), expected)
    assert content(parts) == content(whole)
