"""`n_jobs` affects only time, and threads of the caller may outlive the interpreter."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib import parallel_config
from numpy.testing import assert_array_equal

from estimators.snapshots import state_of
from estimators.streams import blobs, cuts, rules, seeds, small
from rpnb import RPNBClassifier
from rpnb.core.kernels import threads
from rpnb.estimators.checks import parameters
from rpnb.estimators.checks.parameters import threads_for

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


@pytest.fixture(autouse=True)
def few_rows_are_worth_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "LEAST_ROWS", 10)
    monkeypatch.setattr(parameters, "LEAST_ROWS", 10)


@settings(max_examples=30)
@given(st.data(), seeds, rules, st.integers(2, 5), st.integers(1, 4))
def test_predictions_and_state_do_not_depend_on_threads(
    data: st.DataObject, seed: int, rule: Any, jobs: int, M: int
) -> None:
    X, y = blobs(seed, 130, M=M)
    alone, many = small(combiner=rule), small(combiner=rule, n_jobs=jobs)
    for c in data.draw(cuts(130)):
        expected = alone.predict_then_learn(X[c], y[c])
        assert_array_equal(many.predict_then_learn(X[c], y[c]), expected)
    assert state_of(many) == state_of(alone)
    for name in METHODS:
        assert_array_equal(getattr(many, name)(X), getattr(alone, name)(X))
    assert state_of(many) == state_of(alone)


def test_joblib_is_asked_how_many() -> None:
    assert threads_for(None, 400) == 1
    with parallel_config(backend="threading", n_jobs=3):
        assert threads_for(None, 400) == 3
        assert threads_for(None, 19) == 1  # too few rows for two
        assert threads_for(2, 400) == 2
    assert threads_for(2, 400) == 2


def test_threads_may_be_changed_at_any_time_and_are_not_in_files(
    tmp_path: Path,
) -> None:
    X, y = blobs(0)
    model = small(n_jobs=2).fit(X, y)
    model.set_params(n_jobs=-1).partial_fit(X, y)
    model.save(tmp_path / "model")
    loaded = RPNBClassifier.load(tmp_path / "model")
    assert loaded.n_jobs is None
    assert state_of(loaded) == state_of(model)
    model.set_params(n_jobs=0)
    for prediction in (model.predict, model.predict_proba):
        with pytest.raises(ValueError, match="n_jobs must not be 0"):
            prediction(X)


def test_labels_go_to_the_rows_they_belong_to() -> None:
    X, y = blobs(1, 1000, M=4, apart=6.0)
    model = small(n_jobs=4).fit(X, y)
    order = np.argsort(y, kind="stable")
    assert_array_equal(model.predict(X[order]), model.predict(X)[order])
    assert len(np.unique(model.predict(X))) == 4


def test_a_daemon_thread_that_is_learning_lets_the_process_end() -> None:
    """Python ends such threads when they ask for its lock, inside the core."""
    code = """
import threading, time
import numpy as np
from rpnb import PooledClassifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(100_000, 30)), rng.integers(0, 10, 100_000)
model = PooledClassifier(random_state=0).partial_fit(X[:300], y[:300], range(10))
def learn():
    while True:
        model.partial_fit(X[:5_000], y[:5_000])
threading.Thread(target=learn, daemon=True).start()
time.sleep(0.1)
"""
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603  our own code
    assert (done.returncode, done.stderr) == (0, "")
