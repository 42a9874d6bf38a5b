"""Predicting, by any method, does not change a model."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from learners import content, names, new, stream_for

METHODS = (
    *("predict", "predict_next", "predict_proba", "predict_next_proba"),
    *("predict_log_proba", "decision_function", "predict_set"),
)


@pytest.mark.parametrize("name", names())
def test_every_question_leaves_the_model_as_it_was(name: str) -> None:
    X, y = stream_for(name, 300 if name == "Pooled" else 60)
    asked, silent = new(name), new(name)
    classes = np.unique(y)
    for part in np.array_split(np.arange(len(y)), 5):
        for model in (asked, silent):
            model.partial_fit(X[part], y[part], classes)
        before = content(asked)
        rows = X.copy()
        for method in METHODS:
            question = getattr(asked, method, None)
            if question is not None:
                first, again = question(rows), question(rows)
                assert_array_equal(np.asarray(first), np.asarray(again), strict=True)
        if hasattr(asked, "predict_one"):
            for x in rows[:3]:
                asked.predict_one(x)
        assert content(asked) == before == content(silent)
        assert_array_equal(rows, X)
