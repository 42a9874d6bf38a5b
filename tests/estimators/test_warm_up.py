"""What is compiled beforehand: also what long streams, and all paths, need."""

from typing import Any

import pytest

from rpnb import PooledClassifier
from rpnb.baselines import GaussianNB
from rpnb.estimators import warm_up as module
from rpnb.estimators.warm_up import warm_up


def test_a_pool_is_given_streams_that_are_long_enough_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shapes: dict[str, list[Any]] = {"PooledClassifier": [], "GaussianNB": []}

    def record(model: Any, X: Any, y: Any) -> Any:
        assert len(X) == len(y)
        assert set(y) == {"a", "b"}
        shapes[type(model).__name__].append(X.shape)
        return model

    for learner in (PooledClassifier, GaussianNB):
        monkeypatch.setattr(learner, "partial_fit", record)
    assert list(warm_up(["Pooled", "GaussianNB"])) == ["Pooled", "GaussianNB"]
    # Up to 256 rows it compiles nothing; from 33 features on it has more members.
    assert shapes == {"PooledClassifier": [(320, 4), (320, 40)], "GaussianNB": []}


def test_all_paths_of_rpnb_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []

    def record(*_: Any, path: str) -> None:
        paths.append(path)

    monkeypatch.setattr(module, "run", record)
    assert list(warm_up()) == ["RPNB"]
    assert paths == ["plain", "exact", "columns", "quadratic"]


def test_seconds_are_those_of_each_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 13.0, 13.0, 13.5])
    monkeypatch.setattr(module, "compiling_seconds", lambda: next(clock))
    assert warm_up(["GaussianNB", "PA"]) == {"GaussianNB": 3.0, "PA": 0.5}
