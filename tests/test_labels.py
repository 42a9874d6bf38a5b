"""Labels and their numbers: those of a plain dictionary, however they are given."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rpnb.estimators.checks.labels import number_labels
from rpnb.labels import NO_LABEL, CodedLabels, LabelIndex, first_seen, join_coded

INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))


def numbers_by_dictionary(labels: list[Any]) -> list[int]:
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]


@given(st.lists(INTEGERS, max_size=30), st.integers(0, 30))
def test_integers_are_numbered_in_order_of_first_sight(
    labels: list[int], where: int
) -> None:
    index = LabelIndex()
    parts = [labels[:where], labels[where:]]
    found = np.concatenate([index.of(np.array(part, np.int64)) for part in parts])
    assert found.tolist() == numbers_by_dictionary(labels)
    assert index.labels == tuple(dict.fromkeys(labels))
    assert len(index) == len(index.labels)
    assert index.labels_of(found) == labels


@given(st.lists(st.sampled_from("abcdefg"), max_size=30), st.data())
def test_encoded_labels_are_numbered_in_order_of_first_sight(
    labels: list[str], data: st.DataObject
) -> None:
    values = data.draw(st.permutations("abcdefg"))
    codes = np.array([values.index(label) for label in labels], np.int64)
    index = LabelIndex()
    assert index.of_codes(codes, values).tolist() == numbers_by_dictionary(labels)
    assert index.labels == tuple(dict.fromkeys(labels))
    assert index.array().tolist() == list(index.labels)
    # None is added where that is not wanted.
    some = LabelIndex(labels[:1])
    expected = [0 if label == labels[0] else -1 for label in labels]
    assert some.of_codes(codes, values, add=False).tolist() == expected
    assert some.labels == tuple(labels[:1])


@given(st.lists(st.integers(0, 6), max_size=30))
def test_first_seen_is_the_order_of_a_dictionary(codes: list[int]) -> None:
    found = first_seen(np.array(codes, np.int64), 7).tolist()
    assert found == list(dict.fromkeys(codes))


def test_labels_that_are_equal_are_one_label_whatever_their_type() -> None:
    index = LabelIndex()
    numbers = index.of([1, np.int64(1), 1.0, True, None, 0])
    assert numbers.tolist() == [0, 0, 0, 0, NO_LABEL, 1]
    assert index.labels_of(numbers) == [1, 1, 1, 1, None, 0]
    assert index.of(np.array([0, 1, 1])).tolist() == [1, 0, 0]
    assert index.of(np.array([True, False])).tolist() == [0, 1]
    assert len(index) == 2


def test_finding_adds_nothing() -> None:
    index = LabelIndex(["a"])
    assert index.find("b") is None
    assert "b" not in index
    assert index.find_all(["b", "a"]).tolist() == [-1, 0]
    assert index.labels == ("a",)
    assert index.add("b") == 1
    assert index.find("b") == 1
    assert "b" in index


def test_indices_of_the_same_labels_in_the_same_order_are_equal() -> None:
    assert LabelIndex(["a", 1]) == LabelIndex(["a", 1])
    assert LabelIndex(["a", 1]) != LabelIndex([1, "a"])
    assert LabelIndex(["a"]) != ["a"]
    assert repr(LabelIndex(["a", 1])) == "LabelIndex(['a', 1])"


def test_the_array_of_labels_follows_what_is_added() -> None:
    index = LabelIndex()
    assert index.array().dtype.kind == "i"
    assert index.array().shape == (0,)
    index.of(["a", "bc"])
    assert index.array().tolist() == ["a", "bc"]
    index.add("def")
    assert index.array().tolist() == ["a", "bc", "def"]
    assert index.array() is index.array()


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.uint64])
def test_integers_of_any_width_are_numbered(kind: Any) -> None:
    labels = np.array([3, 100, 3, 0, 127], kind)
    index = LabelIndex()
    for _ in range(2):
        assert index.of(labels).tolist() == [0, 1, 0, 2, 3]


KINDS: dict[str, NDArray[Any]] = {
    "text": np.array(["b", "éé", "a", "", "ccc"]),
    "objects": np.array(["b", "éé", "a", "", "ccc"], dtype=object),
    "integers": np.array([30, -7, 2**40, 0, 5]),
    "bytes": np.array([3, 1, 4, 0, 5], np.int8),
    "floats": np.array([3.0, -1.0, 4.0, 0.0, 5.0]),
    "booleans": np.array([True, False]),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_numbered_labels_are_those_labels_and_keep_their_dtype(
    kind: str, data: st.DataObject
) -> None:
    values = KINDS[kind]
    places = st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=12)
    index = LabelIndex()
    parts = [values[data.draw(places)] for _ in range(3)]
    coded = [index.coded(part) for part in parts]
    parts, coded = [*parts, np.concatenate(parts)], [*coded, join_coded(coded)]
    for part, each in zip(parts, coded, strict=True):
        assert each.decoded().tolist() == part.tolist()
        assert each.decoded().dtype == part.dtype
        assert index.of(each).tolist() == index.of(part).tolist() == each.codes.tolist()
        assert each[::-2].decoded().tolist() == part[::-2].tolist()
        # The same classes, of the same dtype, and numbers as for the labels themselves.
        known, declared = np.unique(values[:1]), data.draw(st.sampled_from([0, 1, 2]))
        classes = [None, values[:1], values[-2:]][declared]
        found = number_labels(each, known, LabelIndex(known.tolist()), classes)
        expected = number_labels(part, known, LabelIndex(known.tolist()), classes)
        assert found[0].tolist() == expected[0].tolist()
        assert found[0].dtype == expected[0].dtype
        assert (found[0] is known) == (expected[0] is known)
        assert found[1].tolist() == expected[1].tolist()
        assert found[0][found[1]].tolist() == part.tolist()


def test_parts_of_several_dtypes_are_joined_as_their_labels_would_be() -> None:
    index = LabelIndex()
    wide, narrow = np.array(["long", "b"]), np.array(["b", "c"])
    joined = join_coded([index.coded(wide), index.coded(narrow)])
    assert joined.decoded().dtype == np.concatenate([wide, narrow]).dtype
    assert joined.decoded().tolist() == ["long", "b", "b", "c"]


def test_no_label_stays_none_in_numbered_labels() -> None:
    labels = CodedLabels(np.array([1, -1, 0]), np.array(["a", "b"]))
    assert labels.decoded().tolist() == ["b", None, "a"]
    assert labels[:1].decoded().dtype == labels.values.dtype
    index = LabelIndex(["z"])
    assert index.of(labels).tolist() == [1, NO_LABEL, 2]
    assert index.labels == ("z", "b", "a")
    assert join_coded([labels, labels]).codes.tolist() == [1, -1, 0, 1, -1, 0]
