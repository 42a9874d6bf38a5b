"""Confidence sequences of differences: formulas and coverage."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rpnb import PooledClassifier, RPNBClassifier, baselines
from rpnb.datasets import streams
from rpnb.evaluate import prequential
from rpnb.evaluate.differences import (
    LARGEST,
    Difference,
    DifferenceTracker,
    Loss,
    difference_of,
)


def tracked(
    losses: np.ndarray, every: int = 100, loss: Loss = "error", confidence: float = 0.95
) -> Difference:
    """The difference of two learners with these losses."""
    tracker = DifferenceTracker(["A", "B"], [], loss)
    for start in range(0, losses.shape[1], every):
        tracker.add(losses[:, start : start + every])
        tracker.add_checkpoint()
    found = tracker.difference("A", "B", confidence)
    assert found is not None
    return found


def slow_bound(D: list[float], alpha: float, B: float) -> float:
    """u(V_t)/t by the formulas, one row after the other."""
    V = total = 0.0
    for i, d in enumerate(D):
        V += (d - (total / i if i else 0.0)) ** 2
        total += d
    c, m, eta, s = 2 * B, B * B, 2.0, 1.4
    v = max(V, m)
    zeta = sum(k**-s for k in range(1, 200_000)) + 200_000 ** (1 - s) / (s - 1)
    ell = s * math.log(math.log(v / m, eta) + 1) + math.log(zeta / alpha)
    k1 = (eta**0.25 + eta**-0.25) / math.sqrt(2)
    k2 = (math.sqrt(eta) + 1) / 2
    return (math.sqrt(k1**2 * v * ell + (k2 * c * ell) ** 2) + k2 * c * ell) / len(D)


@pytest.mark.parametrize("loss", ["error", "log_loss"])
def test_the_bound_is_that_of_the_formulas(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    B = LARGEST[loss]
    losses = B * rng.beta([[0.3], [0.5]], 2.0, (2, 3000))
    found = tracked(losses, 1000, loss, confidence=0.9)
    for k, t in enumerate((1000, 2000, 3000)):
        D = (losses[0] - losses[1])[:t].tolist()
        assert_allclose(found.mean[k], sum(D) / t, rtol=1e-12)
        bound = slow_bound(D, 0.05, B)
        assert_allclose(found.high[k] - found.mean[k], bound, rtol=1e-6)
        assert_allclose(found.mean[k] - found.low[k], bound, rtol=1e-6)


def test_sums_do_not_depend_on_the_calls() -> None:
    losses = np.random.default_rng(1).exponential(size=(3, 500))
    cuts = ([500], [1, 2, 3, 250, 500], list(range(1, 501)))
    found = []
    for ends in cuts:
        tracker = DifferenceTracker(["A", "B", "C"], [], "log_loss")
        start = 0
        for end in ends:
            tracker.add(losses[:, start:end])
            start = end
        tracker.add_checkpoint()
        pairs = [tracker.difference(*pair) for pair in tracker.pairs()]
        found.append([(d.mean[-1], d.high[-1]) for d in pairs if d is not None])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("loss", ["error", "log_loss"])
def test_equal_learners_are_hardly_ever_found_to_differ(loss: Loss) -> None:
    """At most 5 % of streams may ever cross, checked after every 20 rows."""
    rng = np.random.default_rng(2)
    crossed = 0
    for k in range(2000):
        p = (0.5, 0.2, 0.05, 0.01)[k % 4]
        # Errors of two learners that often are wrong together, and of one that drifts.
        rate = np.where(np.arange(600) < 300, p, 1.0 - p) if k % 3 == 0 else p
        A, B = rng.random((2, 600)) < rate
        both = rng.random(600) < 0.5
        losses = np.array([A, np.where(both, A, B)], np.float64)
        if loss == "log_loss":
            # Right with a probability near 1, or wrong with one near 0: heavy tails.
            losses = np.where(losses > 0.0, 1.5, 0.1) * rng.exponential(size=(2, 600))
        found = tracked(losses, loss=loss, every=20)
        crossed += bool(np.any((found.low > 0.0) | (found.high < 0.0)))
    assert crossed <= 0.05 * 2000


def test_a_difference_is_found() -> None:
    rng = np.random.default_rng(3)
    losses = (rng.random((2, 5000)) < [[0.1], [0.3]]).astype(np.float64)
    found = tracked(losses)
    assert found.better == "A"
    assert found.since is not None
    assert found.since < 1000
    assert "A is better than B since row" in str(found)
    swapped = tracked(losses[::-1])
    assert swapped.better == "B"
    assert_allclose(swapped.mean, -found.mean)
    assert_array_equal(swapped.since, found.since)


def test_prequential_compares_any_two_learners() -> None:
    models = {
        "pool": PooledClassifier(random_state=0),
        "RPNB": RPNBClassifier(random_state=0),
        "PA": baselines.PA(),
    }
    result = prequential(
        models, streams.led(3000, seed=0), metrics=["error", "log_loss"], every=500
    )
    found = result.difference("pool", "same as last")
    assert found.better == "pool"
    gap = result["pool"].last("error") - result["same as last"].last("error")
    assert_allclose(found.mean[-1], gap)
    assert_array_equal(found.rows, result["pool"].rows)
    back = result.difference("same as last", "pool")
    assert_array_equal(back.low, -found.high)
    assert result.difference("pool", "RPNB", "log_loss").better == "pool"
    with pytest.raises(ValueError, match="cannot be compared by log-loss"):
        result.difference("pool", "PA", "log_loss")
    with pytest.raises(ValueError, match="two different learners"):
        result.difference("same as last", "majority class")
    with pytest.raises(ValueError, match="two different learners"):
        result.difference("pool", "pool")
    with pytest.raises(ValueError, match="name must be"):
        result.difference("pool", "nobody")
    with pytest.raises(ValueError, match="confidence must be"):
        result.difference("pool", "RPNB", confidence=1.0)


@pytest.mark.parametrize("loss", ["error", "log_loss"])
def test_all_rows_at_once_equal_a_tracker_inspected_after_each(
    loss: Loss,
) -> None:
    rng = np.random.default_rng(3)
    losses = -np.log(rng.random((2, 400))) if loss == "log_loss" else None
    if losses is None:
        losses = (rng.random((2, 400)) < [[0.1], [0.9]]).astype(np.float64)
    expected = tracked(losses, 1, loss, 0.9)
    found = difference_of(("A", "B"), loss, (losses[0], losses[1]), 0.9)
    for name in ("rows", "mean", "low", "high"):
        assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.since == expected.since
    assert loss == "log_loss" or found.since is not None
