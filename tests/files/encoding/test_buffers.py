"""Memory of chunks, which is reused once nobody holds it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rpnb.files.encoding.column_encoder import Buffers


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 3), st.booleans()), max_size=30
    )
)
def test_memory_in_use_is_never_overwritten(steps: list[tuple[int, int, bool]]) -> None:
    buffers, held = Buffers(), []
    for k, (n, p, keep) in enumerate(steps):
        X = buffers.empty(n, p)
        assert X.shape == (n, p)
        assert X.flags.c_contiguous
        X[:] = k
        if keep:  # a view is enough
            held.append((k, X[1:].T))
        for number, view in held:
            assert (view == number).all()


def test_memory_that_nobody_holds_is_used_again() -> None:
    buffers = Buffers()
    first = buffers.empty(4, 2)
    address = first.ctypes.data
    del first
    again = buffers.empty(2, 3)
    assert again.ctypes.data == address
    other = buffers.empty(4, 2)
    assert not np.shares_memory(again, other)
