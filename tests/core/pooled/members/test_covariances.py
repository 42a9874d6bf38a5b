"""Discriminants with a shared covariance, against their oracles."""

from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from core.pooled.members.test_members import D, part, scores_along, shape_of, stream
from oracles.pooled.blocks import place
from oracles.pooled.members.covariances import Discriminants, FadingDiscriminants
from rpnb.core.kernels.arrays import FloatArray, IntArray, SingleArray
from rpnb.core.pooled.member import MemberRows, State, copy_state, same_state
from rpnb.core.pooled.members import fading_covariance, shared_covariance
from rpnb.core.pooled.model import model_shape, new_model

BOTH = [shared_covariance, fading_covariance]


def begun(member: ModuleType, p: int = 4, M: int = 3) -> State:
    return member.begin(shape_of(p), np.ones(M, np.bool_), 5)


def oracle_scores(
    oracle: Discriminants, phi: SingleArray, y: IntArray, weight: FloatArray
) -> FloatArray:
    expected = []
    for row, label, w in zip(phi.astype(np.float64), y, weight, strict=True):
        expected.append(oracle.score(row))
        oracle.learn(row, label, w)
    return np.array(expected)


# 2,000 rows pass all schedules: the first 256, groups of 64 and of 128, more than 256
# rows until discriminants are recomputed.
@pytest.mark.parametrize(("n", "M"), [(20, 3), (300, 11), (2000, 3)])
def test_the_shared_covariance_equals_its_oracle(n: int, M: int) -> None:
    rows, y, weight = stream(n, M=M)
    oracle = Discriminants(M, 4 + D)
    expected = oracle_scores(oracle, rows.phi[:, : 4 + D], y, weight)
    scores = scores_along(shared_covariance, rows, y, weight, M)
    assert_allclose(scores, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("n", [20, 700])
def test_the_fading_covariance_equals_its_oracle(n: int) -> None:
    rows, y, weight = stream(n)
    columns = fading_covariance.chosen_columns(shape_of(4))
    oracle = FadingDiscriminants(3, len(columns))
    expected = oracle_scores(oracle, rows.phi[:, columns], y, weight)
    scores = scores_along(fading_covariance, rows, y, weight, 3)
    assert_allclose(scores, expected, rtol=2e-3, atol=2e-3)


def test_the_columns_of_the_fading_covariance_are_features_and_some_projections() -> (
    None
):
    columns = fading_covariance.chosen_columns(model_shape(3, 512, 0, 0))
    projections = [*range(3, 19), *range(3 + 128, 19 + 128)]  # a quarter are dense
    assert_array_equal(columns, [0, 1, 2, *projections])
    columns = fading_covariance.chosen_columns(model_shape(65, 512, 0, 0))
    assert_array_equal(columns, [*range(64), *range(256, 320)])
    columns = fading_covariance.chosen_columns(model_shape(2, 32, 0, 0, dense=24))
    assert_array_equal(columns, [0, 1, *range(2, 10), *range(26, 34)])


@pytest.mark.parametrize("equal", [True, False])
def test_rows_are_collected_while_there_is_space(equal: bool) -> None:
    rows, y, weight = stream(70)
    weight = np.ones(70) if equal else weight
    state = begun(shared_covariance)
    state.seen[0] = 1408 - 60  # a group of 128 rows ends after 60
    state.next[0] = 4096
    state.pending[0] = 256 - 70
    state.weight[:] = 1.0  # of rows that are zeros
    shared_covariance.learn_rows(state, rows, y, weight, np.zeros((70, 1, 3)))
    assert state.pending[0] == 10
    squares = (weight[:60, None] * rows.phi[:60].astype(np.float64) ** 2).sum(axis=0)
    diagonal = [state.A[place(f, f)] for f in range(len(squares))]
    assert_allclose(diagonal, squares, rtol=0 if equal else 1e-5)


def test_sums_of_rows_alone_are_their_sums() -> None:
    rows, y, weight = stream(300)
    state = begun(shared_covariance)
    before = copy_state(state)
    sums = shared_covariance.sum_rows(state, rows, y, weight)
    assert same_state(state, before)
    assert sums.seen[0] == 300
    assert sums.pending[0] == 0
    assert_allclose(sums.class_weight, np.bincount(y, weight))
    wide = rows.phi.astype(np.float64)
    weighted = weight[:, None] * wide
    for c in range(3):
        assert_allclose(sums.B[c], weighted[y == c].sum(axis=0))
    A = wide.T @ weighted
    E = len(A)
    ours = [sums.A[place(i, j)] for i in range(E) for j in range(i + 1)]
    assert_allclose(ours, A[np.tril_indices(E)], rtol=1e-5, atol=1e-5)


def test_few_rows_merge_into_sums_without_discriminants() -> None:
    rows, y, weight = stream(20)
    state = begun(shared_covariance)
    shared_covariance.learn_rows(state, rows, y, weight, np.zeros((20, 1, 3)))
    merged = shared_covariance.merge([state, state])
    assert_allclose(merged.B, 2 * state.B)
    assert merged.seen[0] == 40
    once = shared_covariance.merge([state, state], state)
    assert_allclose(once.B, state.B)
    assert_allclose(2 * once.A, merged.A)
    assert once.seen[0] == 20


def test_fading_sums_merge_by_adding_what_is_left() -> None:
    states = []
    for n in (330, 350):
        rows, y, weight = stream(n)
        state = begun(fading_covariance)
        fading_covariance.learn_rows(state, rows, y, weight, np.zeros((n, 1, 3)))
        states.append(state)
    a, b = states
    merged = fading_covariance.merge(states)
    assert_allclose(merged.class_weight, a.class_weight + b.class_weight)
    assert_allclose(merged.log_count, np.log(merged.class_weight + 0.5))
    assert_allclose(merged.B, a.B + b.B)
    assert merged.next[0] == merged.seen[0] + 64 == 330 + 350 + 64


@pytest.mark.parametrize("member", BOTH)
def test_a_state_is_a_tuple_of_arrays_that_it_owns(member: ModuleType) -> None:
    rows, y, weight = stream(70)
    state = begun(member)
    before = copy_state(state)
    member.learn_rows(state, rows, y, weight, np.zeros((70, 1, 3)))
    assert not same_state(state, before)
    changed = state._replace(V=np.ones_like(state.V))
    assert (changed.V == 1.0).all()
    assert not (state.V == 1.0).all()
    assert state._fields == tuple(state._asdict())


@pytest.mark.parametrize("member", BOTH)
def test_rows_are_scored_as_before_they_are_learned(member: ModuleType) -> None:
    rows, y, weight = stream(90)
    state, expected = begun(member), np.zeros((90, 1, 3))
    member.learn_rows(begun(member), rows, y, weight, expected)
    for i in range(90):
        row, scores, learned = part(rows, slice(i, i + 1)), *np.zeros((2, 1, 1, 3))
        member.score_rows(state, row, scores)
        member.learn_rows(state, row, y[i : i + 1], weight[i : i + 1], learned)
        assert_array_equal(scores[0], expected[i])
        assert_array_equal(learned[0], expected[i])


@pytest.mark.parametrize("member", BOTH)
def test_a_state_begins_again(member: ModuleType) -> None:
    rows, y, weight = stream(90)
    state = begun(member)
    member.learn_rows(state, rows, y, weight, np.zeros((90, 1, 3)))
    again = state.begin_again(shape_of(4), np.ones(3, np.bool_), 5)
    assert type(again) is type(state)
    assert same_state(again, begun(member))


@pytest.mark.parametrize("member", BOTH)
def test_rows_that_do_not_fit_are_refused(member: ModuleType) -> None:
    rows, y, weight = stream(5)
    state, scores = begun(member), np.zeros((5, 1, 3))
    narrow = MemberRows(rows.raw, rows.z, rows.low, rows.phi[:, :8].copy())
    with pytest.raises(ValueError, match="phi"):
        member.learn_rows(state, narrow, y, weight, scores)
    with pytest.raises(ValueError, match="phi"):
        member.score_rows(state, narrow, scores)
    with pytest.raises(ValueError, match="of length 4"):
        member.score_rows(state, part(rows, slice(4)), scores)
    with pytest.raises(ValueError, match="no class"):
        member.learn_rows(state, rows, y + 3, weight, scores)


def test_rows_that_cannot_be_summed_are_refused() -> None:
    rows, y, weight = stream(5)
    state = begun(shared_covariance)
    with pytest.raises(ValueError, match="no class"):
        state.sum_rows(rows.phi, np.full(5, -1), weight)
    with pytest.raises(ValueError, match="weight"):
        state.sum_rows(rows.phi, y, weight[:4])
    with pytest.raises(ValueError, match="phi"):
        state.sum_rows(rows.phi[:4], y, weight)


@pytest.mark.parametrize("member", BOTH)
def test_arrays_that_do_not_fit_together_are_refused(member: ModuleType) -> None:
    state = begun(member)
    for name, array in [
        ("A", np.zeros(256)),
        ("kept", np.zeros(16, np.float32)),
        ("pending", np.array([-1])),
        ("pending", np.array([257])),
    ]:
        with pytest.raises(ValueError, match=member.OUTPUTS[0]):
            state._replace(**{name: array})
    wide = np.zeros((state.V.shape[0], 16), np.float32)
    with pytest.raises(ValueError, match="axis 1"):
        state._replace(V=wide, offset=np.zeros(16, np.float32))
    state.pending[0] = 257  # too late to be refused when the state was made
    with pytest.raises(ValueError, match="out of range"):
        state.settle()


@pytest.mark.parametrize("member", BOTH)
def test_counters_that_would_never_be_reached_are_refused(member: ModuleType) -> None:
    rows, y, weight = stream(5)
    state = begun(member)
    state.seen[0] = 1
    with pytest.raises(ValueError, match="contradict"):
        member.learn_rows(state, rows, y, weight, np.zeros((5, 1, 3)))


def test_states_of_another_shape_do_not_go_into_a_model() -> None:
    names = [member.OUTPUTS[0] for member in BOTH]
    shape = shape_of(4)
    model = new_model(names, 4, D, 0, np.ones(3, np.bool_), 5)
    for k, member in enumerate(BOTH):
        model.replace_state(k, begun(member))
        with pytest.raises(ValueError, match=names[k]):
            model.replace_state(k, begun(member, p=40))
    shared, fading = begun(shared_covariance), begun(fading_covariance)
    for wrong in (-1, 3):
        shared.labels[9] = wrong
        with pytest.raises(ValueError, match="no class"):
            model.replace_state(0, shared)
    fading.columns[0] = shape.E
    with pytest.raises(ValueError, match="columns"):
        model.replace_state(1, fading)
