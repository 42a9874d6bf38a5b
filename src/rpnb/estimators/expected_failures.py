"""Checks of scikit-learn that a learner fails by design, for `check_estimator`."""

from typing import Any

from rpnb.estimators.pooled import PooledClassifier
from rpnb.estimators.rpnb import RPNBClassifier

_WEIGHTS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
_REASONS: dict[type, str] = {
    PooledClassifier: "a sample of weight 2 is kept once by neighbours and trees, and "
    "is one step of the pool; two samples are kept twice, at two places of the order",
    RPNBClassifier: "a sample of weight 2 is one update; of two equal samples, the "
    "second may no longer be a mistake",
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
    >>> from rpnb import PooledClassifier, expected_failed_checks
    >>> sorted(expected_failed_checks(PooledClassifier()))[0]
    'check_sample_weight_equivalence_on_dense_data'
    """
    reason = _REASONS.get(type(estimator))
    return {} if reason is None else dict.fromkeys(_WEIGHTS, reason)
