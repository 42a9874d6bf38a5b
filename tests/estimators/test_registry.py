"""The learners by name, and the depth of their class hierarchies."""

from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator

from rpnb import FrozenRPNB, PooledClassifier, RPNBClassifier, baselines
from rpnb.drift import DriftAware
from rpnb.estimators import learners as package
from rpnb.estimators.registry import (
    _MODULES,
    ALIASES,
    POOLED,
    RPNB,
    find_learner,
    learners,
)


def levels(estimator: Any) -> int:
    """Return how many classes there are from `BaseEstimator` to this one."""
    above = [levels(base) for base in estimator.__bases__ if base is not BaseEstimator]
    return issubclass(estimator, BaseEstimator) + max(above, default=0)


@pytest.mark.parametrize("name", learners())
def test_a_learner_has_its_own_name_a_family_and_a_sentence(name: str) -> None:
    learner = learners()[name]
    assert learner.name == name
    assert name in (RPNB, POOLED, learner.estimator.__name__)
    assert learner.description.endswith(".")
    assert learner.seeded == ("random_state" in learner.estimator().get_params())


@pytest.mark.parametrize(
    "estimator",
    [FrozenRPNB, DriftAware, *(each.estimator for each in learners().values())],
)
def test_no_class_is_more_than_three_levels_above_base_estimator(
    estimator: Any,
) -> None:
    assert 1 <= levels(estimator) <= 3


def test_the_baselines_are_all_learners_but_the_first_two() -> None:
    assert list(learners())[:2] == [POOLED, RPNB]
    assert learners()[RPNB].estimator is RPNBClassifier
    assert learners()[POOLED].estimator is PooledClassifier
    assert baselines.names() == list(learners())[2:]
    assert set(baselines.names()) == set(baselines.__all__) - {"make", "names"}
    for name in baselines.names():
        assert getattr(baselines, name) is learners()[name].estimator


def test_no_module_of_learners_is_left_out() -> None:
    files = {path.stem for path in Path(package.__path__[0]).glob("*.py")}
    shared = {"__init__", "linear", "tree_ensemble"}
    assert {f"learners.{name}" for name in files - shared} == {m for m, _ in _MODULES}


def test_learners_are_found_by_their_other_names() -> None:
    assert find_learner("SCW") is learners()["SCW1"]
    assert find_learner("RPNBClassifier") is learners()[RPNB]
    assert find_learner("PooledClassifier") is learners()[POOLED]
    assert find_learner("pooledclassifier") is find_learner("POOLED")
    assert find_learner("arow") is learners()["AROW"]
    assert find_learner("no learner") is None
    assert all(find_learner(name) for name in ALIASES)
