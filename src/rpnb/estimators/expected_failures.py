"""Checks of scikit-learn that a learner fails, and why: for `check_estimator`."""

from typing import Any

from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.pooled import PooledClassifier

_WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
_REASONS = {
    PooledClassifier: "a row of weight 2 is one of the rows that neighbours and trees "
    "keep, and one step of the pool; two rows come at two places of a random order",
    RPNBClassifier: "a row of weight 2 is one update; of two rows the second may no "
    "longer be a mistake",
}


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator fails by design, and why.

    Parameters
    ----------
    estimator : estimator
        Any learner of this package.

    Returns
    -------
    dict of str to str
        Reasons by name of the check, as `expected_failed_checks` of scikit-learn's
        `check_estimator` and `parametrize_with_checks` takes them.

    Examples
    --------
    >>> from rpnb import PooledClassifier
    >>> sorted(expected_failed_checks(PooledClassifier()))[0]
    'check_sample_weight_equivalence_on_dense_data'
    """
    reason = _REASONS.get(type(estimator))
    return {} if reason is None else dict.fromkeys(_WEIGHTS, reason)
