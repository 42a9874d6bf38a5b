"""The classifier among scikit-learn's tools."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_estimator,
    estimator_checks_generator,
    parametrize_with_checks,
)

from estimators.snapshots import state_of
from estimators.streams import blobs, small
from learners import KINDS, names
from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.estimators.expected_failures import expected_failed_checks

Test = Callable[[Any, Any], None]

X, y = blobs(1, 150, apart=3.0)
WORDS = np.array(["ant", "bee", "cat"])[y]


#: Checks of what each class writes itself: its parameters.
CONSTRUCTED = {
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_dont_overwrite_parameters",
    "check_estimators_overwrite_params",
    "check_do_not_raise_errors_in_init_or_set_params",
}
each_check: Callable[[Test], Test] = parametrize_with_checks(
    [
        RPNBClassifier(n_estimators=10, random_state=0),
        *(baselines.make(name) for name in KINDS if name in baselines.names()),
    ],
    expected_failed_checks=expected_failed_checks,
)


@each_check
def test_scikit_learns_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", [n for n in names() if n not in KINDS])
def test_constructors_of_the_others_are_scikit_learns(name: str) -> None:
    """What they learn with is that of the learners above."""
    done = 0
    for estimator, check in estimator_checks_generator(baselines.make(name)):
        if check.func.__name__ in CONSTRUCTED:
            check(estimator)
            done += 1
    assert done == len(CONSTRUCTED)


def test_the_pool_passes_but_for_what_is_declared_to_fail() -> None:
    """A check that passes after all must not be declared."""
    model = PooledClassifier(n_projections=16, random_state=0)
    found = check_estimator(
        model,
        expected_failed_checks=expected_failed_checks(model),
        on_fail="raise",
        on_skip=None,
    )
    declared = {each["check_name"] for each in found if each["expected_to_fail"]}
    failed = {each["check_name"] for each in found if each["status"] == "xfail"}
    assert declared == failed == set(expected_failed_checks(model))
    assert expected_failed_checks(baselines.PA()) == {}


def test_a_pipeline_is_its_steps_one_after_the_other() -> None:
    pipeline = make_pipeline(StandardScaler(), small()).fit(X, WORDS)
    scaled = StandardScaler().fit_transform(X)
    alone = small().fit(scaled, WORDS)
    assert_array_equal(pipeline.predict(X), alone.predict(scaled))
    assert state_of(pipeline[-1]) == state_of(alone)
    assert pipeline.score(X, WORDS) > 0.9


def test_cross_validation_learns_each_fold_afresh() -> None:
    scores = cross_val_score(small(), X, WORDS, cv=3, error_score="raise")
    assert scores.min() > 0.85
    assert_array_equal(scores, cross_val_score(small(), X, WORDS, cv=3))
    predictions = cross_val_predict(small(), X, WORDS, cv=3, method="predict_proba")
    assert predictions.shape == (150, 3)


def test_a_grid_search_finds_what_is_better() -> None:
    grid = {"prior_weight": [1.0, 1e6], "combiner": ["log_sum", "vote"]}
    search = GridSearchCV(small(), grid, cv=3, error_score="raise").fit(X, WORDS)
    assert search.best_params_["prior_weight"] == 1.0
    assert search.best_score_ > 0.85
    assert search.best_estimator_.n_samples_seen_ == 150


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_probabilities_can_be_calibrated(method: str) -> None:
    calibrated = CalibratedClassifierCV(small(), method=method, cv=3).fit(X, WORDS)
    probabilities = calibrated.predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1.0)
    assert calibrated.score(X, WORDS) > 0.9


def test_it_votes_with_others_and_is_scored() -> None:
    members = [("one", small()), ("other", small(random_state=1))]
    vote = VotingClassifier(members, voting="soft").fit(X, WORDS)
    assert vote.score(X, WORDS) > 0.9
    model = small().fit(X, y == 0)
    assert get_scorer("roc_auc")(model, X, y == 0) > 0.95
    assert get_scorer("neg_log_loss")(model, X, y == 0) > -0.5


def test_it_shows_its_parameters() -> None:
    shown = repr(small(update="all"))
    assert shown == "RPNBClassifier(n_estimators=7, random_state=3, update='all')"
    assert "RPNBClassifier" in small().fit(X, y)._repr_html_()
