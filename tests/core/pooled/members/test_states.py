"""The state of every member satisfies the schema of model files, at any time."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from core.pooled.members.test_members import D, N, part, stream
from rpnb.core.pooled.member import Shape
from rpnb.core.pooled.members import binned_bayes, selected_neighbours
from rpnb.core.pooled.model import MEMBERS, model_shape
from rpnb.estimators.saving.pooled_schema import MEMBER_SCHEMAS
from rpnb.estimators.saving.schema import StateSchema, check_arrays


def check(name: str, shape: Shape, state: Any) -> None:
    """Refuse a state whose arrays, sizes, types or ranges violate the schema."""
    schema, M = MEMBER_SCHEMAS[name], len(state.active)
    fields = schema.fields(shape, M, {k: v.shape for k, v in state._asdict().items()})
    check_arrays(state._asdict(), StateSchema(fields))
    assert type(state) is schema.record
    schema.check(state)


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize(("p", "M"), [(4, 3), (40, 9)])
@pytest.mark.parametrize("delay", [0, 5])
def test_states_are_as_the_schema_says(name: str, p: int, M: int, delay: int) -> None:
    member = MEMBERS[name]
    shape = model_shape(p, D, 64, delay)
    state = member.begin(shape, np.ones(M, np.bool_), 5)
    check(name, shape, state)
    more = np.append(np.arange(M), -1)
    check(name, shape, member.grow_classes(state, more, more >= 0))
    rows, y, weight = stream(N, p, M)
    for where in (slice(0, N // 2), slice(N // 2, N)):
        n = where.stop - where.start
        scores = np.zeros((n, len(member.OUTPUTS), M))
        member.learn_rows(state, part(rows, where), y[where], weight[where], scores)
        check(name, shape, state)
    check(name, shape, member.grow_classes(state, more, more >= 0))
    check(name, shape, member.merge([state, state]))


@pytest.mark.parametrize(
    ("member", "pairs"),
    [(binned_bayes, 1_000_000), (selected_neighbours, selected_neighbours.MOST_PAIRS)],
)
def test_states_of_too_many_features_and_classes_are_as_the_schema_says(
    member: ModuleType, pairs: int
) -> None:
    p = 40
    shape = model_shape(p, D, 64, 0)
    name = member.OUTPUTS[0]
    state = member.begin(shape, np.ones(pairs // p + 1, np.bool_), 5)
    assert min(array.size for array in state) == 0  # less is kept
    check(name, shape, state)


def test_states_of_not_too_many_are_whole() -> None:
    shape = model_shape(40, D, 64, 0)
    M = selected_neighbours.MOST_PAIRS // 40
    state = selected_neighbours.begin(shape, np.ones(M, np.bool_), 5)
    assert min(array.size for array in state) > 0
    check("selected_neighbours", shape, state)
