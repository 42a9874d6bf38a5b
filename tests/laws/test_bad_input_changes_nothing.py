"""Refused input leaves the model unchanged, fitted or not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from learners import content, names, new, stream_for

#: Ways to spoil rows and labels.
BAD: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "an infinity": lambda X, y: (np.where(np.arange(4) == 2, np.inf, X), y),
    "too large": lambda X, y: (X * 1e200, y),
    "one label too few": lambda X, y: (X, y[:-1]),
    "text for numbers": lambda X, y: (np.full(X.shape, "a"), y),
    "a column too many": lambda X, y: (np.hstack([X, X[:, :1]]), y),
    "a missing label": lambda X, y: (X, np.where(np.arange(len(y)) == 2, np.nan, y)),
    "labels of two types": lambda X, y: (X, ["a", *y[1:].tolist()]),
    "three dimensions": lambda X, y: (X[:, :, None], y),
    "no rows": lambda X, y: (X[:0], y[:0]),
}
METHODS = ("partial_fit", "predict_then_learn")


@pytest.mark.parametrize("name", names())
def test_refused_rows_leave_no_trace(name: str) -> None:
    X, y = stream_for(name, 40)
    classes = np.unique(y)
    model = new(name).partial_fit(X, y, classes)
    before = content(model)
    for kind, spoil in BAD.items():
        rows, labels = spoil(X[:8], y[:8])
        for method in METHODS:
            with pytest.raises((TypeError, ValueError)):
                getattr(model, method)(rows, labels)
            assert content(model) == before, kind
        if kind != "a column too many":  # which a model without rows may learn
            fresh = new(name)
            with pytest.raises((TypeError, ValueError)):
                fresh.partial_fit(rows, labels, classes)
            assert not fresh.__sklearn_is_fitted__(), kind
    # Still as good as new.
    fresh = new(name).partial_fit(X, y, classes)
    assert content(model.partial_fit(X, y)) == content(fresh.partial_fit(X, y))
