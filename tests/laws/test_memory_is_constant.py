"""A model takes no more memory after many rows than after some."""

import pytest

from learners import names, new, stream_for
from rpnb.estimators.protocol import saved_model

#: Trees split for ever, as they should; those of the pool have a limit that is tested
#: in core/pooled/members/test_boosted_trees.py.
GROWING = ("OnlineBagging", "OnlineBoosting", "Pooled")


@pytest.mark.parametrize("name", [name for name in names() if name not in GROWING])
def test_arrays_do_not_grow_with_the_stream(name: str) -> None:
    X, y = stream_for(name, 3000)
    model = new(name).fit(X[:100], y[:100])
    sizes = {key: array.nbytes for key, array in saved_model(model).arrays.items()}
    model.partial_fit(X, y)
    assert {k: a.nbytes for k, a in saved_model(model).arrays.items()} == sizes
