"""Numbers that must stay finite: constant, repeated, huge and tiny observations."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from estimators.snapshots import snapshot, state_of
from estimators.streams import blobs, rows, small
from rpnb.core.bayes.statistics import COMBINERS

N = 48
PLAIN, y = blobs(1, N)
SIGNS = np.sign(PLAIN)

EXTREMES: dict[str, Any] = {
    "the largest": 1e150 * SIGNS,
    "up to the largest": 1e150 * np.clip(PLAIN / 4, -1, 1),
    "the largest, once": np.where(np.arange(N)[:, None] == 20, 1e150 * SIGNS, PLAIN),
    "tiny": 1e-150 * PLAIN,
    "below any normal number": 5e-324 * np.round(PLAIN),
    "huge beside tiny": PLAIN * [1e150 / 8, 1e-150, 1.0, 1e-300],
    "in single precision": (PLAIN * 1e38 / 8).astype(np.float32),
    "all zero": 0 * PLAIN,
    "minus zero": -0.0 * np.abs(PLAIN),
    "constant": 0 * PLAIN + 3.7,
    "constant and huge": 0 * PLAIN + 1e150,
    "one column varies": PLAIN * [0, 0, 1, 0] + 5.0,
    "far from zero": PLAIN + 1e12,
    "so far that nothing is left": PLAIN + 1e20,
    "two rows again and again": PLAIN[[0, 1] * (N // 2)],
    "each row twice": np.repeat(PLAIN[: N // 2], 2, axis=0),
    "one column only": PLAIN[:, :1],
}
LABELS: dict[str, Any] = {
    "three classes": y,
    "one class": 0 * y,
    "a class for every row": np.arange(N),
    "a class of one row": np.where(np.arange(N) == 30, 9, y),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", EXTREMES)
def test_labels_and_state_are_those_of_the_loop_and_stay_finite(
    kind: str, labels: str
) -> None:
    X, t = EXTREMES[kind], LABELS[labels]
    whole, again, single = small(), small(), small()
    predictions = whole.predict_then_learn(X, t, classes=[-1])  # one is never seen
    assert_array_equal(again.predict_then_learn(X, t, classes=[-1]), predictions)
    one_by_one: list[Any] = []
    for c in rows(N):
        one_by_one += single.predict_then_learn(X[c], t[c], classes=[-1]).tolist()
    assert predictions.tolist() == one_by_one
    assert state_of(whole) == state_of(single) == state_of(again)
    assert_array_equal(whole.predict(X), [single.predict(X[c])[0] for c in rows(N)])
    state = whole._state
    for part in (*state.moments, *state.gaussians):
        assert np.isfinite(part).all()
    assert np.isfinite(whole.decision_function(X)).all()


@pytest.mark.parametrize("rule", COMBINERS)
@pytest.mark.parametrize("kind", EXTREMES)
def test_predictions_stay_finite_and_agree_under_every_rule(
    kind: str, rule: Any
) -> None:
    X = EXTREMES[kind]
    model = small(combiner=rule)
    for c in (slice(0, 1), slice(1, N)):
        predictions = model.predict_then_learn(X[c], y[c], classes=[0, 1, 2, 3])
        assert set(predictions) <= {0, 1, 2, 3}
        probabilities = model.predict_proba(X)
        assert np.isfinite(probabilities).all()
        assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
        assert np.isfinite(model.decision_function(X)).all()
        # What the last rounding made equal may go to either.
        chosen = np.take_along_axis(probabilities, model.predict(X)[:, None], axis=1)
        assert_array_equal(chosen[:, 0], probabilities.max(axis=1))


@pytest.mark.parametrize("kind", EXTREMES)
def test_weightless_priors_and_batches_stay_finite(kind: str) -> None:
    X = EXTREMES[kind]
    for settings in (
        {"prior_weight": 0.0},
        {"prior_weight": 0.0, "update": "all", "batch_size": 10},
        {"var_floor": 1e-300, "prior_weight": 0.0},
        {"var_floor": 1e300},
        {"class_prior": "frequency", "batch_size": None},
    ):
        model = small(**settings).fit(X, y)
        for _ in range(3):
            model.partial_fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.isfinite(model.predict_proba(X)).all()


def test_a_single_row_is_a_stream() -> None:
    for rule in COMBINERS:
        model = small(combiner=rule).fit(PLAIN[:1], ["only"])
        assert model.predict(PLAIN).tolist() == ["only"] * N
        assert_allclose(model.predict_proba(PLAIN), 1.0, rtol=1e-14)


def test_a_tie_goes_to_the_first_of_the_sorted_classes() -> None:
    for rule in COMBINERS:
        model = small(combiner=rule)
        model.partial_fit(np.zeros((1, 4)), ["dog"], classes=["cat", "ant", "dog"])
        # The two that have seen nothing are equal, and wider: better far away.
        assert set(model.predict(np.full((3, 4), 50.0))) == {"ant"}


def test_refused_rows_in_the_middle_leave_the_rows_before_them_unlearned() -> None:
    X = PLAIN.copy()
    X[40, 1] = np.nan
    model = small().fit(PLAIN, y)
    before = snapshot(model)
    with pytest.raises(ValueError, match=r"NaN \(row 40, column 1\)"):
        model.predict_then_learn(X, y)
    assert snapshot(model) == before
