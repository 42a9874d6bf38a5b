"""The pool ranks rows of a very rare class."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

from rpnb import PooledClassifier


def test_few_positives_among_many_rows_are_ranked_above_the_others() -> None:
    # 32 positives: one row in 312, half of them learned.
    X, y = make_classification(
        10_000,
        n_features=10,
        n_informative=5,
        weights=[0.9968],
        flip_y=0.0,
        random_state=3,
    )
    half = len(y) // 2
    assert 10 <= y[:half].sum() <= 25
    model = PooledClassifier(random_state=0)
    model.partial_fit(X[:half], y[:half])
    P = model.predict_proba(X[half:])[:, 1]
    assert roc_auc_score(y[half:], P) > 0.75
    # Nearly all rows are told apart; if scores were cut off, most would tie.
    assert len(np.unique(P)) > 0.9 * len(P)
