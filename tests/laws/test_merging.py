"""Models that learned parts of a stream merge in any order, and change nothing else."""

import copy
from typing import Any

import pytest
from numpy.testing import assert_allclose, assert_array_equal

from learners import content, names, new, stream_for
from rpnb.estimators.protocol import saved_model
from rpnb.preprocessing import RunningScaler, make_stream_pipeline

MERGING = [name for name in names() if hasattr(new(name), "merge")]


def test_learners_that_merge_are_these() -> None:
    assert MERGING == ["Pooled", "RPNB"]


def made(name: str) -> Any:
    if name == "pipeline":
        return make_stream_pipeline(RunningScaler(), made("RPNB"))
    more = {"members": "mergeable"} if name == "Pooled" else {"update": "all"}
    return new(name, **more)


@pytest.mark.parametrize("name", [*MERGING, "pipeline"])
def test_parts_merge_in_any_order_and_change_nothing_else(name: str) -> None:
    X, y = stream_for(name, 900)
    base = made(name).partial_fit(X[:400], y[:400], [0, 1, 2])
    first, second, third = (
        copy.deepcopy(base).partial_fit(X[a : a + 150], y[a : a + 150])
        for a in (400, 550, 700)
    )
    untouched = content(second), content(third)
    one = copy.deepcopy(first).merge(second, base).merge(third, base)
    two = copy.deepcopy(third).merge(first, base).merge(second, base)
    assert (content(second), content(third)) == untouched
    assert one.n_samples_seen_ == two.n_samples_seen_ == 850
    nothing = copy.deepcopy(first).merge(copy.deepcopy(base), base)
    if name == "Pooled":  # its weights are recomputed; what members counted adds up
        assert_same_sums(one, two)
        assert_same_sums(nothing, first)
    else:
        assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-6)
        assert_array_equal(nothing.predict_proba(X), first.predict_proba(X))


def assert_same_sums(one: Any, two: Any) -> None:
    both = saved_model(one).arrays, saved_model(two).arrays
    sums = [key for key in both[0] if key.endswith((".B", ".class_weight"))]
    assert len(sums) > 2
    for key in sums:
        assert_allclose(both[0][key], both[1][key], rtol=1e-6, err_msg=key)


@pytest.mark.parametrize("name", [*MERGING, "pipeline"])
def test_what_does_not_fit_is_refused_and_changes_nothing(name: str) -> None:
    X, y = stream_for(name, 60)
    model = made(name).partial_fit(X, y)
    before = content(model)
    others = [made(name), made("RPNB" if name != "RPNB" else "Pooled"), "text", None]
    others[1].partial_fit(X, y)
    for other in others:
        with pytest.raises((TypeError, ValueError)):
            model.merge(other)
        assert content(model) == before
