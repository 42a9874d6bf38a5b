"""Names of features: numbers that are equal exactly if the names are."""

from collections.abc import Hashable
from enum import StrEnum
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpnb.estimators.named.feature_numbers import feature_number


class Colour(StrEnum):
    RED = "red"


names = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([-0.0, 0.5, 1.0, 2.5, 1e300])
    | st.text("s1:", max_size=3)
    | st.binary(max_size=2),
    lambda inner: st.tuples(inner) | st.tuples(inner, inner),
    max_leaves=4,
)


@given(st.lists(names, min_size=2, max_size=8))
def test_numbers_are_equal_exactly_if_names_are(given_names: list[Hashable]) -> None:
    for a, b in combinations(given_names, 2):
        assert (feature_number(a) == feature_number(b)) == (a == b)


def test_equal_keys_of_other_types_have_the_same_number() -> None:
    assert feature_number(np.int64(3)) == feature_number(3) == feature_number(3.0)
    assert feature_number(np.bool_(True)) == feature_number(1)
    assert feature_number(np.float32(0.5)) == feature_number(0.5)
    assert feature_number(np.str_("red")) == feature_number("red")
    assert feature_number(Colour.RED) == feature_number("red")


def test_tuples_are_not_confused_with_what_their_parts_spell() -> None:
    spelled: list[Hashable] = [("a", "b"), ("ab",), ("a1:b",), "a", (("a",), "b"), ()]
    assert len({feature_number(name) for name in spelled}) == len(spelled)


def test_the_numbers_never_change() -> None:
    # Models that were pickled rely on them.
    assert feature_number("age") == 15604021426596613679
    assert feature_number(0) == 12901799172319015802
    assert feature_number(("a", 1.5, None)) == 15148080440815028672


def test_many_names_have_as_many_numbers() -> None:
    assert len({feature_number(f"x{i}") for i in range(100_000)}) == 100_000


@pytest.mark.parametrize("name", [object(), Fraction(1, 2), 1j, frozenset("a")])
def test_a_name_without_a_fixed_spelling_is_refused(name: Any) -> None:
    with pytest.raises(TypeError, match="name of a feature must be text, a number"):
        feature_number(name)
    with pytest.raises(TypeError, match=r"got .* of type"):
        feature_number((1, name))
