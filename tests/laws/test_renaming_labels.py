"""Labels are names: renaming them in order changes only the names of predictions."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from learners import names, new, stream_for

NAMES: list[Any] = [
    np.array(["ant", "bee", "cat"]),
    np.array([-9.0, 0.0, 3.0]),
    np.array(["ant", "bee", "cat"], object),
    np.array([5, 70, 1000], np.int16),
]


@pytest.mark.parametrize("name", names())
def test_renamed_labels_rename_predictions(name: str) -> None:
    X, y = stream_for(name, 80)
    classes = np.unique(y)
    plain = new(name)
    found = plain.predict_then_learn(X, y, classes)
    scores = getattr(plain, "decision_function", plain.predict)(X)
    for words in NAMES:
        model = new(name)
        renamed = model.predict_then_learn(X, words[y], words[classes])
        assert_array_equal(renamed, words[found.astype(int)])
        assert_array_equal(model.classes_, words[classes])
        assert_array_equal(model.predict(X), words[plain.predict(X)])
        if hasattr(model, "decision_function"):
            assert_array_equal(model.decision_function(X), scores)
