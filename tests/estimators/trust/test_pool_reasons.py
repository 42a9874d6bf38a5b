"""Reasons of a pooled classifier: members and features add up, by oracles and laws."""

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from estimators.snapshots import snapshot
from rpnb import PooledClassifier, RPNBClassifier
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.pooled.pool import terms_in_use

_RNG = np.random.default_rng(5)
Y = _RNG.integers(0, 3, 400)
X = _RNG.normal(size=(400, 4)) + 1.5 * _RNG.normal(size=(3, 4))[Y] + 3.0
WIDE = np.hstack([X, _RNG.normal(size=(400, 8))])


def pool(rows: Any = X, y: Any = Y, **parameters: Any) -> PooledClassifier:
    model = PooledClassifier(n_projections=64, random_state=0, **parameters)
    return model.partial_fit(rows, y)


def margins(model: PooledClassifier, rows: Any, one: int, other: int) -> FloatArray:
    """The pool's log odds, recovered from the probabilities that are given out."""
    state = model._state.pool
    noise = state.noise[0]
    P = model.predict_proba(rows)
    share = state.class_weight + 0.5
    Q = (P - noise * share / share.sum()) / (1.0 - noise)
    found: FloatArray = np.log(Q[:, one] / Q[:, other]) / state.power[0]
    return found


@pytest.mark.parametrize("rows", [X, WIDE], ids=["exact", "sampled"])
def test_members_and_features_add_up_to_the_log_odds(rows: FloatArray) -> None:
    model = pool(rows)
    found = model.explain(rows[:40])
    assert_array_equal(found.labels, model.predict(rows[:40]))
    for i in range(40):
        expected = margins(model, rows[i : i + 1], found.labels[i], found.against[i])
        assert_allclose(found.score[i], expected[0], rtol=1e-5, atol=1e-6)
    assert found.members is not None
    assert_allclose(found.members.sum(axis=1), found.score, rtol=1e-9, atol=1e-9)
    total = found.base + found.values.sum(axis=1)
    assert_allclose(total, found.score, rtol=1e-9, atol=1e-9)
    assert found.member_names == (*model.weights_, "constants")
    # A class may be the likeliest only because of what noise adds to it.
    P = model.predict_proba(rows[:40])
    clear = np.sort(P, axis=1)[:, -1] - np.sort(P, axis=1)[:, -2] > 0.02
    assert clear.sum() > 30
    assert (found.score[clear] > 0.0).all()
    assert_array_equal(found.against, np.argsort(P, axis=1)[:, -2])
    assert (found.errors.max() > 0.0) == (rows is WIDE)


def test_members_add_what_their_weights_give_to_their_scores() -> None:
    y = Y % 2
    model = pool(X, y, members=["binned_bayes"])
    found = model.explain(X[:20])
    terms = terms_in_use(model._state.pool)
    assert found.member_names == ("binned_bayes", "constants")
    assert found.members is not None
    constants = terms[1][found.labels] - terms[1][found.against]
    assert_allclose(found.members[:, 1], constants)
    # The prediction is the only member's best class but for constants, so f is 0 for it
    # and negative for the other one.
    weight = model.weights_["binned_bayes"] + terms[0][found.against]
    assert (found.members[:, 0] / weight >= -1e-9).mean() > 0.8


def test_few_features_have_the_values_of_all_subsets() -> None:
    model, x, b = pool(), X[:1], X[7:8]
    found = model.explain(x, label=2, against=0, background=b)
    assert_array_equal(found.errors, 0.0)
    for i in range(4):
        rest = [j for j in range(4) if j != i]
        total = 0.0
        for size in range(4):
            share = factorial(size) * factorial(3 - size) / factorial(4)
            for S in combinations(rest, size):
                without, with_i = b.copy(), b.copy()
                without[0, list(S)] = x[0, list(S)]
                with_i[0, [*S, i]] = x[0, [*S, i]]
                both = margins(model, np.vstack([with_i, without]), 2, 0)
                total += share * (both[0] - both[1])
        assert_allclose(found.values[0, i], total, rtol=1e-5, atol=1e-5)


def test_errors_cover_the_exact_values() -> None:
    model = pool(WIDE)
    exact = model.explain(WIDE[:10], n_evaluations=4096)
    some = model.explain(WIDE[:10], n_evaluations=240)
    assert_array_equal(exact.errors, 0.0)
    assert some.errors.max() > 0.0
    off = np.abs(some.values - exact.values) / np.maximum(some.errors, 1e-12)
    assert np.mean(off < 3.0) > 0.9
    fine = model.explain(WIDE[:10], n_evaluations=2400)
    assert np.abs(fine.values - exact.values).mean() < (
        0.7 * np.abs(some.values - exact.values).mean()
    )


def test_no_row_depends_on_others_and_nothing_changes() -> None:
    model = pool(WIDE)
    before = snapshot(model)
    found = model.explain(WIDE[:12])
    assert found.members is not None
    for part in (slice(0, 1), slice(1, 6), slice(6, 12)):
        some = model.explain(WIDE[part])
        assert_array_equal(some.values, found.values[part])
        assert_array_equal(some.errors, found.errors[part])
        assert_array_equal(some.members, found.members[part])
        assert_array_equal(some.score, found.score[part])
    other = PooledClassifier(n_projections=64, random_state=0)
    for start in range(0, 400, 7):
        other.partial_fit(WIDE[start : start + 7], Y[start : start + 7])
    assert_array_equal(other.explain(WIDE[:12]).values, found.values)
    assert snapshot(model) == before


def test_several_background_rows_are_averaged() -> None:
    model, b = pool(), X[50:53]
    found = model.explain(X[:3], label=1, against=2, background=b)
    each = [
        model.explain(X[:3], label=1, against=2, background=b[k : k + 1])
        for k in range(3)
    ]
    assert_allclose(found.values, np.mean([e.values for e in each], axis=0), atol=1e-9)
    assert_allclose(found.base, np.mean([e.base for e in each], axis=0), atol=1e-9)


def test_the_background_is_the_mean_of_the_scale() -> None:
    model = pool()
    mean = model._state.scale.mean
    assert_allclose(mean, X[:256].mean(axis=0))
    found = model.explain(X[:5])
    given = model.explain(X[:5], background=mean[None, :])
    assert_array_equal(found.values, given.values)
    same = model.explain(mean[None, :])
    assert_array_equal(same.values, 0.0)
    assert same.base[0] == same.score[0]


def test_sparse_rows_have_values_for_their_own_features() -> None:
    sparse = np.where(_RNG.random(WIDE.shape) < 0.4, WIDE, 0.0)
    model = pool(csr_array(sparse))
    found = model.explain(csr_array(sparse[:9]))
    dense = model.explain(sparse[:9], background=np.zeros((1, 12)))
    assert_allclose(found.values.toarray(), dense.values, atol=1e-9)
    assert_allclose(found.errors.toarray(), dense.errors, atol=1e-9)
    assert_allclose(found.base + found.values.sum(axis=1), found.score, atol=1e-9)
    steps = found.waterfall(2, X=csr_array(sparse[:9]))
    assert_allclose(steps.score, found.score[2])


def test_hashed_features_are_explained_by_their_own_names() -> None:
    p = 5000
    rows = np.zeros((300, p))
    rows[:, :4] = X[:300]
    model = pool(csr_array(rows), Y[:300])
    found = model.explain(csr_array(rows[:4]))
    assert found.values.shape == (4, p)
    assert set(found.values.indices) <= {0, 1, 2, 3}
    assert_allclose(found.base + found.values.sum(axis=1), found.score, atol=1e-9)
    dense = model.explain(rows[:4])
    assert_allclose(dense.values, found.values.toarray(), atol=1e-9)
    with pytest.raises(ValueError, match="X must be given for hashed features"):
        model.feature_importance()
    with pytest.raises(
        ValueError, match="at most 4096 features, but row 0 differs in 5000"
    ):
        model.explain(rows[:1] + 1.0)


def test_columns_of_frames_are_explained_as_a_whole() -> None:
    rng = np.random.default_rng(2)
    n = 700
    kind = rng.integers(0, 4, n)
    place = rng.integers(0, 40, n)
    y = np.where(rng.random(n) < 0.9, kind % 2, place % 2)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "kind": pd.Categorical(np.array(list("abcd"))[kind]),
            "place": pd.Series([f"street {k}" for k in place], dtype="category"),
            "day": pd.date_range("2026-01-01", periods=n, freq="h"),
        }
    )
    model = PooledClassifier(n_projections=16, random_state=0).partial_fit(frame, y)
    found = model.explain(frame[:15])
    assert found.values.shape == (15, 4)
    assert list(found.names) == list(frame.columns)
    assert_array_equal(found.errors, 0.0)
    assert_allclose(found.base + found.values.sum(axis=1), found.score, atol=1e-9)
    assert found.members is not None
    assert_allclose(found.members.sum(axis=1), found.score, atol=1e-9)
    assert_array_equal(found.labels, model.predict(frame[:15]))
    for shares in (model.feature_importance(), model.feature_importance(frame[:20])):
        assert shares.shape == (4,)
        assert shares.argmax() == 1
    same = model.explain(frame[:3], background=frame[:1])
    assert_array_equal(same.values[0], 0.0)
    steps = found.waterfall(0, X=frame[:15])
    assert f"kind = {frame['kind'][0]}" in steps.names


@pytest.mark.parametrize("others", [0, 12])
def test_a_category_without_information_is_not_a_reason(others: int) -> None:
    # The mean of its indicators is not a category, and would be a reason by itself.
    rng = np.random.default_rng(0)
    n = 1500
    size = rng.normal(size=n)
    frame = pd.DataFrame({"size": size, "colour": rng.choice(list("rgb"), n)})
    for j in range(others):
        frame[f"noise {j}"] = rng.choice(list("uvwx"), n)
    y = size + 0.5 * rng.normal(size=n) > 2.0
    model = PooledClassifier(random_state=0).partial_fit(frame, y)
    shares = model.feature_importance()
    assert shares.argmax() == 0
    assert others or shares[0] > 0.8
    found = model.explain(frame[:40], label=False, against=True)
    assert np.abs(found.values[:, 1:].mean(axis=0)).max() < 0.2
    assert_allclose(found.base + found.values.sum(axis=1), found.score, atol=1e-9)


def test_missing_values_are_explained() -> None:
    rows = X.copy()
    rows[::3, 1] = np.nan
    model = pool(rows)
    found = model.explain(rows[:6])
    assert np.isfinite(found.values).all()
    assert_allclose(found.base + found.values.sum(axis=1), found.score, atol=1e-9)


def test_features_that_matter_are_found() -> None:
    model = pool(WIDE)
    for shares in (model.feature_importance(), model.feature_importance(WIDE[:30])):
        assert_allclose(shares.sum(), 1.0)
        assert shares[:4].sum() > 0.7
    kept = model.feature_importance()
    last = np.vstack([WIDE[384:400], WIDE[336:384]])  # a ring of 64 rows
    assert_allclose(kept, model.feature_importance(last), atol=1e-12)
    young = pool(X[:20], Y[:20])
    assert_allclose(young.feature_importance(), young.feature_importance(X[:20]))


def test_names_labels_and_tables() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "<c>", "d"])
    y = np.array(["no", "so", "yes"])[Y]
    model = pool(frame, y)
    found = model.explain(frame[:3], label="yes")
    assert set(found.labels) == {"yes"}
    assert "yes" not in set(found.against)
    found = model.explain(frame[:3], against="so")
    assert set(found.against) == {"so"}
    many = found._repr_html_()
    assert many.count("<tr>") == 4
    one = model.explain(frame[:1])._repr_html_()
    assert "&lt;c&gt;" in one
    assert "<c>" not in one
    assert "member binned_bayes" in one
    assert one.count("<tr>") == 1 + 4 + len(model.weights_) + 1
    # The same for learners whose reasons are in closed form.
    exact = RPNBClassifier(5, random_state=0).partial_fit(frame, y).explain(frame[:1])
    assert exact.errors is None
    assert "<th>±</th>" not in exact._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": 9}, "label must be a class that has been seen, got 9"),
        ({"label": 1, "against": 1}, "against must be a different class"),
        ({"background": X[:, :2]}, "features"),
        ({"n_evaluations": 0}, "n_evaluations must be"),
    ],
)
def test_what_cannot_be_explained_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        pool().explain(X[:2], **arguments)
    with pytest.raises(ValueError, match="at least two classes"):
        pool(X[:5], np.zeros(5, np.int64)).explain(X[:2])
    with pytest.raises(ValueError, match="background must be None for sparse rows"):
        pool().explain(csr_array(X[:2]), background=X[:1])
