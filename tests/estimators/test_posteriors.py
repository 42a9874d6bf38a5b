"""Scores of the classes as log posteriors."""

import numpy as np
from numpy.testing import assert_allclose

from rpnb.estimators.posteriors import log_posteriors


def test_a_row_without_any_score_has_equal_posteriors() -> None:
    scores = np.array([[-np.inf, -np.inf], [0.0, np.log(3.0)], [-np.inf, 5.0]])
    expected = [[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]
    assert_allclose(np.exp(log_posteriors(scores)), expected)
