"""One step of a linear learner: a worked example, and each algorithm's invariant."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.linear import linear_pass_plain
from rpnb._core.linear import learn_rows
from rpnb.core.linear import (
    ALGORITHMS,
    MULTICLASS,
    LinearAlgorithm,
    LinearState,
    blank_state,
    copy_state,
    make_algorithm,
)

SIX = np.array([(1, 2), (2, -0.5), (-1, 1), (0.5, 0.7), (1, 0.3), (-0.4, -1)])

# Method; W row by row, Σ as 11, 12, 22, both to six decimals; predictions; updates.
THREE_CLASSES: list[tuple[str, list[float], list[float], str, int]] = [
    ("Perceptron", [-0.5, 0.2, 1.9, -0.2, -1.4, 0.0], [], "111222", 4),
    (
        "OGD",
        [-0.284077, 1.642039, 1.024726, -1.811141, -0.740650, 0.169102],
        [],
        "111112",
        5,
    ),
    (
        "PA",
        [-0.098352, 0.388634, 0.895297, -0.056705, -0.796945, -0.331929],
        [],
        "111313",
        6,
    ),
    (
        "PA1",
        [-0.098352, 0.388634, 0.895297, -0.056705, -0.796945, -0.331929],
        [],
        "111313",
        6,
    ),
    (
        "PA2",
        [-0.028868, 0.367178, 0.694362, -0.099099, -0.665495, -0.268079],
        [],
        "111313",
        6,
    ),
    (
        "AROW",
        [-0.103184, 0.314494, 0.474698, -0.344594, -0.371515, 0.030100],
        [0.120931, -0.016217, 0.129889],
        "111122",
        6,
    ),
    (
        "CW",
        [-0.079582, 0.159465, 0.877636, -0.070788, -0.798054, -0.088677],
        [0.438449, -0.040081, 0.489506],
        "111313",
        6,
    ),
    (
        "SCW1",
        [-0.079582, 0.159465, 0.877636, -0.070788, -0.798054, -0.088677],
        [0.438449, -0.040081, 0.489506],
        "111313",
        6,
    ),
    (
        "SCW2",
        [-0.059113, 0.192061, 0.697109, -0.102153, -0.637997, -0.089908],
        [0.524206, -0.031470, 0.549332],
        "111112",
        6,
    ),
]
TWO_CLASSES: list[tuple[str, list[float], list[float], str, int]] = [
    ("OGD", [-0.447376, 1.233791], [], "111112", 5),
    ("PA", [-1.124205, -0.550318], [], "111111", 6),
    (
        "AROW",
        [-0.123433, 0.131495],
        [0.120931, -0.016217, 0.129889],
        "111112",
        6,
    ),
    (
        "SCW1",
        [-0.062018, -0.332570],
        [0.247346, -0.019306, 0.256609],
        "111112",
        6,
    ),
    (
        "CW",
        [-0.246565, -0.277176],
        [0.307472, -0.012747, 0.474564],
        "111111",
        6,
    ),
]


@pytest.mark.parametrize("plain", [False, True], ids=["compiled", "plain"])
@pytest.mark.parametrize(
    ("two_class", "name", "W", "S", "predictions", "updates"),
    [(False, *line) for line in THREE_CLASSES]
    + [(True, *line) for line in TWO_CLASSES],
)
def test_the_worked_example_comes_out_to_the_last_printed_digit(
    plain: bool,
    two_class: bool,
    name: str,
    W: list[float],
    S: list[float],
    predictions: str,
    updates: int,
) -> None:
    learner = make_algorithm(ALGORITHMS[name], two_class=two_class)
    state = blank_state(learner, 3, 2)
    state.eligible[:] = True
    y = np.array([0, 1, 1, 0, 1, 0] if two_class else [0, 1, 2, 0, 1, 2])
    labels = np.empty(6, np.int64)
    if plain:
        counted = linear_pass_plain(learner, state, SIX, y, True, labels)
    else:
        counted = learn_rows(learner, state, SIX, y, labels)
    half_a_digit = 0.500001e-6
    assert_allclose(state.W.ravel(), W, rtol=0, atol=half_a_digit)
    if S:
        assert_allclose(state.S.ravel()[[0, 1, 3]], S, rtol=0, atol=half_a_digit)
        assert state.S[0, 1] == state.S[1, 0]
    else:
        assert state.S.shape == (0, 2)
    assert "".join(str(label + 1) for label in labels) == predictions
    assert counted == updates
    assert state.counts.tolist() == [6, updates]


# ------------------------------------------------------------- one step's invariants

numbers = st.floats(-8.0, 8.0).map(lambda value: round(value, 3))


@st.composite
def a_round(draw: st.DrawFn) -> dict[str, Any]:
    """Draw weights (3, p), a covariance (p, p), a row (p,), its class and its rival."""
    p = draw(st.integers(1, 4))
    flat = st.lists(numbers, min_size=3 * p, max_size=3 * p)
    W = np.array(draw(flat)).reshape(3, p)
    A = np.array(draw(st.lists(numbers, min_size=p * p, max_size=p * p)))
    A = A.reshape(p, p) / 8.0
    x = np.array(draw(st.lists(numbers, min_size=p, max_size=p)))
    if not x.any():
        x[0] = 1.0
    return {
        "W": W,
        "S": A @ A.T + 0.1 * np.eye(p),
        "x": x,
        "y": draw(st.integers(0, 1)),
    }


def taught(
    name: str, seen: dict[str, Any], two_class: bool, **options: Any
) -> tuple[LinearState, LinearState, LinearAlgorithm]:
    """State before and after one labelled row."""
    learner = make_algorithm(ALGORITHMS[name], two_class=two_class, **options)
    p = len(seen["x"])
    state = blank_state(learner, 3, p)
    state.W[:] = seen["W"][: len(state.W)]
    if state.S.size:
        S = seen["S"]
        state.S[:] = (S + S.T) / 2
    state.eligible[:] = True
    before = copy_state(state)
    labels = np.empty(1, np.int64)
    learn_rows(learner, state, seen["x"][None], np.array([seen["y"]]), labels)
    return before, state, learner


def margin(
    state: LinearState, seen: dict[str, Any], two_class: bool, rival: int = -1
) -> float:
    scores = state.W @ seen["x"]
    if two_class:
        return float(scores[0] if seen["y"] == 0 else -scores[0])
    return float(scores[seen["y"]] - scores[rival])


def rival_of(seen: dict[str, Any]) -> int:
    scores = seen["W"] @ seen["x"]
    scores[seen["y"]] = -np.inf
    return int(np.argmax(scores))


@pytest.mark.parametrize("two_class", [False, True])
@pytest.mark.parametrize("name", ["PA", "ROMMA", "AggressiveROMMA", "IELLIP"])
@given(seen=a_round())
def test_the_margin_after_an_update_is_one(
    name: str, two_class: bool, seen: dict[str, Any]
) -> None:
    if not two_class and ALGORITHMS[name] not in MULTICLASS:
        return
    if name.endswith("ROMMA") and not seen["W"].any(axis=1).all():
        return  # from zero, ROMMA goes the whole x
    before, after, _ = taught(name, seen, two_class)
    rival = rival_of(seen)
    m = margin(before, seen, two_class, rival)
    if after.counts[1] == 0:
        assert m >= (0.0 if name in ("ROMMA", "IELLIP") else 1.0) - 1e-9
        return
    if name.endswith("ROMMA") and np.array_equal(after.W, before.W):
        q = (seen["x"] @ seen["x"]) * (before.W**2).sum() * (1 if two_class else 2)
        assert q - m * m <= 1e-12 * q  # parallel: no step exists
        return
    size = np.abs(before.W).max() * np.abs(seen["x"]).max() + 1.0
    loose = 1e-3 if name.endswith("ROMMA") else 1e-9  # ROMMA divides by a difference
    assert_allclose(
        margin(after, seen, two_class, rival), 1.0, rtol=0, atol=loose * size
    )


def test_the_loss_of_pa_is_not_gone_with_half_the_step() -> None:
    seen = {"W": np.zeros((3, 2)), "S": np.eye(2), "x": np.array([3.0, 4.0]), "y": 1}
    before, after, _ = taught("PA", seen, False)
    half = after._replace(W=before.W + 0.5 * (after.W - before.W))
    rival = rival_of(seen)
    assert margin(half, seen, False, rival) == pytest.approx(0.5)
    assert margin(after, seen, False, rival) == pytest.approx(1.0)


@given(seen=a_round())
def test_pa1_is_pa_with_a_cap_and_pa2_leaves_its_share_of_the_loss(
    seen: dict[str, Any],
) -> None:
    square = seen["x"] @ seen["x"]
    for two_class, sides in ((True, 1), (False, 2)):
        before, after, _ = taught("PA1", seen, two_class, C=0.01)
        moved = np.abs(after.W - before.W).max()
        assert moved <= 0.01 * np.abs(seen["x"]).max() * (1.0 + 1e-9) + 1e-12
        before, after, _ = taught("PA2", seen, two_class, C=0.25)
        rival = rival_of(seen)
        loss = max(0.0, 1.0 - margin(before, seen, two_class, rival))
        left = 1.0 - margin(after, seen, two_class, rival)
        if loss > 0.0:
            share = 2.0 / (sides * square + 2.0)  # 1/(2C) = 2
            assert_allclose(left, loss * share, rtol=1e-7, atol=1e-9 * (1 + loss))


@pytest.mark.parametrize("two_class", [False, True])
@given(seen=a_round())
def test_arow_adds_the_row_to_the_precision(
    two_class: bool, seen: dict[str, Any]
) -> None:
    before, after, _ = taught("AROW", seen, two_class, C=0.5)
    x = seen["x"]
    expected = np.linalg.inv(before.S)
    if after.counts[1]:
        expected = expected + np.outer(x, x) / 0.5
    assert_allclose(np.linalg.inv(after.S), expected, rtol=1e-6, atol=1e-6)
    assert_array_equal(after.S, after.S.T)
    assert np.linalg.eigvalsh(after.S)[0] > 0.0


@given(seen=a_round())
def test_the_other_covariances_change_as_their_articles_say(
    seen: dict[str, Any],
) -> None:
    x = seen["x"]
    outer = np.outer(x, x)

    def precisions(name: str, C: float) -> tuple[LinearState, Any, Any]:
        before, after, _ = taught(name, seen, True, C=C)
        return after, np.linalg.inv(before.S), np.linalg.inv(after.S)

    _, old, new = precisions("SOP", 1.0)
    assert_allclose(new, old + outer, rtol=1e-6, atol=1e-6)
    v = x @ seen["S"] @ x

    after, old, new = precisions("NHERD", 2.0)
    gain = (2.0 / 0.5 + v / 0.5**2) if after.counts[1] else 0.0
    assert_allclose(new, old + gain * outer, rtol=1e-5, atol=1e-5)

    before, after, _ = taught("NAROW", seen, True, C=3.0)
    if after.counts[1] and v > 1.0 / 3.0 + 1e-9:
        assert_allclose(x @ after.S @ x, 1.0 / 3.0, rtol=1e-9)
    elif v < 1.0 / 3.0 - 1e-9:
        assert_array_equal(after.S, before.S)
        assert_array_equal(after.W, before.W)


@pytest.mark.parametrize("name", ["CW", "SCW1", "SCW2"])
@given(seen=a_round())
def test_the_two_class_confidence_constraint_is_met_with_equality(
    name: str, seen: dict[str, Any]
) -> None:
    before, after, learner = taught(name, seen, True, C=0.5)
    x, phi = seen["x"], learner.phi
    v = x @ before.S @ x
    m = margin(before, seen, True)
    if after.counts[1] == 0:
        assert phi * np.sqrt(v) <= m + 1e-9
        assert_array_equal(after.W, before.W)
        assert_array_equal(after.S, before.S)
        return
    assert phi * np.sqrt(v) > m - 1e-9
    assert_array_equal(after.S, after.S.T)
    assert np.linalg.eigvalsh(after.S)[0] > 0.0
    alpha = (margin(after, seen, True) - m) / v
    if name == "SCW1":
        assert alpha <= 0.5 + 1e-9
        if alpha > 0.5 - 1e-6:
            return  # capped: the constraint is not reached
    slack = alpha / (2.0 * 0.5) if name == "SCW2" else 0.0
    reached = margin(after, seen, True) + slack
    assert_allclose(
        reached, phi * np.sqrt(x @ after.S @ x), rtol=1e-6, atol=1e-7 * (1 + abs(m))
    )


@given(seen=a_round(), name=st.sampled_from(["CW", "SCW1", "SCW2"]))
def test_the_multiclass_confidence_steps_widen_the_margin_and_keep_sigma_sound(
    name: str, seen: dict[str, Any]
) -> None:
    before, after, learner = taught(name, seen, False, C=0.5)
    x = seen["x"]
    v = x @ before.S @ x
    rival = rival_of(seen)
    m = margin(before, seen, False, rival)
    lead = learner.phi * np.sqrt(v) - m
    assert abs(lead) < 1e-9 or (after.counts[1] == 1) == (lead > 0.0)
    gained = margin(after, seen, False, rival) - m
    assert gained >= -1e-9 * (1 + abs(m))
    assert x @ after.S @ x <= v * (1 + 1e-12)
    assert_array_equal(after.S, after.S.T)
    assert np.linalg.eigvalsh(after.S)[0] > 0.0
    if name == "SCW1":
        assert gained / (2.0 * v) <= 0.5 + 1e-9


def test_the_root_of_scw2_is_the_published_one_unless_the_librarys_is_asked_for() -> (
    None
):
    # A margin of −0.7 and a variance along x of 1.7: w moves by α·1.7.
    W, S = np.array([[-0.7]]), np.array([[1.7]])
    seen = {"W": W, "S": S, "x": np.ones(1), "y": 0}
    published, library = (
        (after.W - before.W)[0, 0] / 1.7
        for before, after, _ in (
            taught("SCW2", seen, True),
            taught("SCW2", seen, True, libol=True),
        )
    )
    # By hand, η = 0.90 (φ² = 1.642374), n = v + ½ = 2.2.
    square = 1.2815515655446004**2
    n, m, v = 2.2, -0.7, 1.7
    below = 2 * (n**2 + n * v * square)
    above = -(2 * m * n + square * m * v)
    root = np.sqrt(square**2 * m**2 * v**2 + 4 * n * v * square * (n + v * square))
    assert_allclose(published, (above + root) / below, rtol=1e-12)
    root = np.sqrt(
        2 * square**2 * m**2 * v + 4 * n * v * square * (n + 2 * v * np.sqrt(square))
    )
    assert_allclose(library, (above + root) / below, rtol=1e-12)
    assert abs(library - published) > 0.01


@pytest.mark.parametrize("name", ["CW", "SCW1", "SCW2", "IELLIP"])
def test_without_variance_there_is_no_update(name: str) -> None:
    for v in (1e-300, 0.0, -1e-300, np.nan):
        seen = {"W": -np.ones((1, 1)), "S": np.array([[v]]), "x": np.ones(1), "y": 0}
        before, after, _ = taught(name, seen, True)
        assert after.counts.tolist() == [1, int(v == 1e-300)]
        if v != 1e-300:
            assert_array_equal(after.W, before.W)
            assert_array_equal(after.S, before.S)


@given(seen=a_round())
def test_alma_stays_in_the_unit_ball(seen: dict[str, Any]) -> None:
    norm = np.sqrt((seen["W"][0] ** 2).sum())
    seen = {**seen, "W": seen["W"] / max(1.0, norm)}
    before, after, _ = taught("ALMA", seen, True)
    assert (after.W**2).sum() <= 1.0 + 1e-12
    # γ_1 = 1/0.9; an update is triggered by a margin below (1 − 0.9)·γ_1.
    lead = 0.1 / 0.9 - margin(before, seen, True)
    assert abs(lead) < 1e-9 or (after.counts[1] == 1) == (lead > 0.0)


def test_the_perceptrons_move_one_row_all_ahead_equally_or_by_their_lead() -> None:
    W = np.array([[1.0], [5.0], [3.0], [2.0], [0.0]])
    x = np.array([[2.0]])
    expected = {
        "Perceptron": [1.0, 3.0, 3.0, 4.0, 0.0],
        "PerceptronUniform": [1.0, 4.0, 2.0, 4.0, 0.0],
        "PerceptronProportional": [1.0, 3.5, 2.5, 4.0, 0.0],
    }
    for name, after in expected.items():
        learner = make_algorithm(ALGORITHMS[name], two_class=False)
        state = blank_state(learner, 5, 1)
        state.W[:] = W
        state.eligible[:] = True
        learn_rows(learner, state, x, np.array([3]), np.empty(1, np.int64))
        assert_array_equal(state.W.ravel(), after, err_msg=name)


@pytest.mark.parametrize("two_class", [False, True])
@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_a_wide_margin_causes_no_update(name: str, two_class: bool) -> None:
    always = ("OGDLogistic", "OGDSquare")  # their losses have no flat part
    if name in always or (not two_class and ALGORITHMS[name] not in MULTICLASS):
        return
    x = np.array([1.0, 2.0])
    W = np.array([[4.0, 3.0], [-4.0, 0.0], [0.0, -3.0]])
    seen = {"W": W, "S": np.eye(2), "x": x, "y": 0}
    before, after, _ = taught(name, seen, two_class)
    assert after.counts.tolist() == [1, 0]
    assert_array_equal(after.W, before.W)
    if name != "SOP":  # which takes note of every row
        assert_array_equal(after.S, before.S)


def test_the_rate_of_gradient_descent_falls_with_every_round_updated_or_not() -> None:
    learner = make_algorithm(ALGORITHMS["OGD"], two_class=True, C=3.0)
    state = blank_state(learner, 2, 1)
    X = np.array([[1.0], [1.0], [1.0], [-1.0]])
    y = np.array([0, 0, 0, 0])
    labels = np.empty(4, np.int64)
    updates = learn_rows(learner, state, X, y, labels)
    assert updates == 2  # the first row and the last
    assert_allclose(state.W[0, 0], 3.0 - 3.0 / np.sqrt(4.0))


@pytest.mark.parametrize("m", [-800.0, -1.0, 0.0, 1.0, 800.0])
def test_the_logistic_slope_is_right_where_its_exponential_is_not(m: float) -> None:
    learner = make_algorithm(ALGORITHMS["OGDLogistic"], two_class=True)
    state = blank_state(learner, 2, 2)
    state.W[:] = [[m, 0.0]]
    state.counts[0] = 3
    learn_rows(learner, state, np.ones((1, 2)), np.array([0]), np.empty(1, np.int64))
    # α = 1/√4 times the slope, in the weight that was 0.
    assert_allclose(state.W[0, 1], 0.5 * np.exp(-np.logaddexp(0.0, m)), rtol=1e-12)


def test_an_algorithm_has_the_librarys_defaults_and_existing_forms_only() -> None:
    assert_allclose(make_algorithm(ALGORITHMS["ALMA"], two_class=True).C, np.sqrt(2.0))
    phis = {
        (name, two_class): make_algorithm(ALGORITHMS[name], two_class=two_class).phi
        for name in ("CW", "SCW1", "SCW2")
        for two_class in (False, True)
    }
    assert phis["CW", True] == pytest.approx(0.524401, abs=5e-7)
    assert phis["SCW2", True] == pytest.approx(1.281552, abs=5e-7)
    for key in set(phis) - {("CW", True), ("SCW2", True)}:
        assert phis[key] == pytest.approx(0.674490, abs=5e-7)
    assert_allclose(
        make_algorithm(ALGORITHMS["CW"], two_class=True, eta=0.9).phi,
        phis["SCW2", True],
    )
    with pytest.raises(ValueError, match="ALMA has no multi-class form"):
        make_algorithm(ALGORITHMS["ALMA"], two_class=False)
