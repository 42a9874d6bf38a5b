"""Correcting priors before labels arrive: against loops, and without harm."""

import itertools
import json
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import label_shift
from oracles import waiting as oracle
from rpnb.baselines import GaussianNB
from rpnb.evaluate.waiting import PriorCorrection
from rpnb.evaluate.waiting.class_mix import ClassMix
from rpnb.evaluate.waiting.priors import BLOCK, FEWEST, best_share, mix_of

LATE = 300


def stream(n: int, share: Any, seed: int = 0) -> tuple[Any, Any]:
    """Return probabilities under equal shares, and labels of two Gaussian classes."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    odds = np.exp(2.0 * (rng.normal(size=n) + 2.0 * y - 1.0))
    P = np.stack([1.0 / (1.0 + odds), odds / (1.0 + odds)], axis=1)
    return P, y


def moving(n: int) -> Any:
    return 0.5 + 0.4 * np.sin(np.arange(n) / 400)


def run(P: Any, y: Any, cuts: Any = ()) -> tuple[Any, list[float]]:
    """Correct rows whose labels arrive `LATE` rows later, in parts between cuts."""
    correction, out, shares = PriorCorrection(), [], []
    edges = sorted({*range(0, len(y) + 1, 100), *cuts})
    for begin, end in itertools.pairwise(edges):
        if begin % 100 == 0 and begin >= LATE:
            late = np.arange(begin - LATE, begin - LATE + 100)
            correction.add_labelled(late[:37], y[late[:37]])
            correction.add_labelled(late[37:], y[late[37:]])
        out.append(correction.correct(P[begin:end]))
        shares.append(correction.share)
    return np.concatenate(out), shares


def log_loss(P: Any, y: Any) -> float:
    return float(-np.log(P[np.arange(len(y)), y]).mean())


def test_corrections_are_those_of_plain_loops() -> None:
    P, y = stream(2000, moving(2000))
    found, shares = run(P, y)
    twin, expected = oracle.PriorCorrection(), []
    for t in range(len(y)):
        if t % 100 == 0 and t >= LATE:
            for row in range(t - LATE, t - LATE + 100):
                twin.add_labelled(row, int(y[row]))
        expected.append(twin.correct(P[t].tolist()))
    assert max(shares) > 0.0
    assert_allclose(found, expected, rtol=1e-9)


def test_cuts_into_calls_change_nothing() -> None:
    P, y = stream(1800, moving(1800))
    whole, _ = run(P, y)
    cuts = np.random.default_rng(1).integers(0, 1800, 40).tolist()
    assert_array_equal(run(P, y, cuts)[0], whole)


def test_a_mix_that_moves_is_followed_and_one_that_stays_is_left_alone() -> None:
    P, y = stream(6000, moving(6000))
    found, shares = run(P, y)
    assert max(shares) == 1.0
    assert log_loss(found, y) < log_loss(P, y) - 0.03
    for seed in range(4):
        P, y = stream(6000, 0.5, seed)
        found, _ = run(P, y)
        assert log_loss(found, y) < log_loss(P, y) + 0.001


def test_a_gain_must_be_larger_than_two_standard_errors() -> None:
    blocks = 20
    up_and_down = np.resize([1.0, -1.0], blocks)  # a mean of 0, a deviation of 1
    error = 1.0 / np.sqrt(blocks)
    means = np.stack(
        [
            np.full(blocks, -1.0),
            up_and_down + 1.9 * error,  # the largest mean, but not significant
            0.1 * up_and_down + 0.3 * error,
            0.1 * up_and_down + 0.1 * error,
        ],
        axis=1,
    )
    gains = np.repeat(means, BLOCK, axis=0)
    assert best_share(gains) == 0.75
    gains[:, 2] = -1.0
    assert best_share(gains) == 0.0
    assert best_share(np.ones((FEWEST - 1, 4))) == 0.0
    assert best_share(np.ones((FEWEST, 4))) == 0.25


def test_the_mix_of_rows_is_found() -> None:
    P, _y = stream(20_000, 0.8)
    assert_allclose(mix_of(P, np.array([0.5, 0.5])), [0.2, 0.8], atol=0.02)


def test_classes_may_be_added_and_old_rows_are_let_go() -> None:
    P, _y = stream(1000, 0.5)
    correction = PriorCorrection(most_waiting=600)
    correction.correct(P)
    wide = np.full((200, 3), 1.0 / 3.0)
    assert correction.correct(wide).shape == (200, 3)
    correction.add_labelled([0, 1, 1199], [0, 0, 2])
    assert correction.labelled == 1


def test_a_class_may_be_added_between_two_estimates() -> None:
    P, y = stream(4000, moving(4000))
    correction = PriorCorrection()
    for begin in range(0, 4000, 100):
        if begin >= LATE:
            late = np.arange(begin - LATE, begin - LATE + 100)
            correction.add_labelled(late, y[late])
        correction.correct(P[begin : begin + 100])
        if correction.share:
            break
    assert correction.share > 0.0
    correction.correct(P[:20])
    given = np.array([[0.3, 0.5, 0.2]])
    again = PriorCorrection.from_json(json.loads(json.dumps(correction.to_json())))
    assert_array_equal(correction.apply(given), again.apply(given))
    found = correction.correct(given)
    assert_array_equal(found, again.correct(given))
    assert not np.allclose(found, given)
    two = correction.apply([[0.3, 0.5, 0.0]])
    assert found[0, 0] / found[0, 1] == pytest.approx(two[0, 0] / two[0, 1])
    assert again.to_json() == correction.to_json()


def test_names_and_the_order_of_classes_change_nothing() -> None:
    P, y = stream(3000, moving(3000))
    names = np.array(["no", "yes"])
    plain, mix, applied = PriorCorrection(), ClassMix(), 0
    for begin in range(0, 3000, 100):
        rows = range(begin, begin + 100)
        if begin >= LATE:
            late = np.arange(begin - LATE, begin - LATE + 100)
            plain.add_labelled(late, y[late])
            # The first labels of rows count; those of other rows do not.
            labels = [*names[y[late]], "no", "yes"]
            mix.add_labelled([*(f"row {i}" for i in late), "row 0", "other"], labels)
            mix = ClassMix.from_json(json.loads(json.dumps(mix.to_json())))
        turn = -1 if begin % 300 else 1
        classes = [*names[::turn]]
        now = mix.apply(classes, P[rows][:, ::turn])[:, ::turn]
        assert_array_equal(now, plain.apply(P[rows]))
        found, numbers = mix.correct(classes, P[rows][:, ::turn])
        expected = plain.correct(P[rows])
        assert_array_equal(found[:, ::turn], expected)
        for row, number in zip(rows, numbers, strict=True):
            mix.name_row(f"row {row}", number)
        applied += not np.array_equal(expected, P[rows])
        assert mix.share == plain.share
    assert applied > 5
    assert plain.mix is not None
    assert mix.shares == dict(zip(names.tolist(), plain.mix.tolist(), strict=True))


def test_bad_input_is_refused_and_changes_nothing() -> None:
    correction = PriorCorrection()
    correction.correct([[0.5, 0.5]])
    for wrong in ([0.5, 0.5], [[1.0]], [[np.nan, 1.0]], [[0.0, 0.0]], [[-1.0, 2.0]]):
        with pytest.raises(ValueError, match=r"P must|each row of P"):
            correction.correct(wrong)
    for rows, truth in (([1], [0]), ([0], [2]), ([0], [0, 1]), ([-1], [0])):
        with pytest.raises(ValueError, match="must"):
            correction.add_labelled(rows, truth)
    assert (correction.rows, correction.labelled) == (1, 0)


def test_the_benchmark_measures_a_small_stream() -> None:
    made = {name: (X, y) for name, X, y in label_shift.simulated(4000, 0, None)}
    assert len(made) == 6
    loss, error, added, _, used, _ = label_shift.measure(
        *made["Gaussian, constant"], GaussianNB()
    )
    assert 0.0 < error < loss < 1.1
    assert 0.0 <= used <= 1.0
    assert abs(added) < 0.01
