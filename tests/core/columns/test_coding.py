"""Values of columns as numbers, by their hash or as they are."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rpnb.core.columns.coding import (
    TEXT_WIDTH,
    category_numbers,
    date_numbers,
    is_words,
    local_time,
    number_of_text,
    text_numbers,
)

RED = bytes.fromhex("0de917af2f0a48a3")


@given(st.lists(st.text(), min_size=1))
def test_texts_have_one_number_each_and_no_two_the_same(texts: list[str]) -> None:
    numbers = category_numbers(texts)
    assert_array_equal(numbers, [number_of_text(text) for text in texts])
    assert len(set(numbers.tolist())) == len(set(texts))
    # Whole numbers that float64 has, beyond those of usual codes.
    assert ((numbers >= 2.0**52) & (numbers < 2.0**53)).all()


def test_a_number_of_a_text_is_the_same_everywhere() -> None:
    # `printf red | b2sum -l 64`, read from the last byte to the first, without 12 bits.
    assert number_of_text("red") == 2**52 + (int.from_bytes(RED, "little") >> 12)


def test_numbers_are_their_own_and_missing_values_are_nan() -> None:
    found = category_numbers([-0.0, 2, True, np.float32(1.5), None, float("nan")])
    assert_array_equal(found, [0.0, 2.0, 1.0, 1.5, np.nan, np.nan])
    assert not np.signbit(found[0])


def test_texts_of_other_types_and_dates_are_their_spelling() -> None:
    found = category_numbers([np.str_("red"), date(2026, 1, 2)])
    expected = [number_of_text("red"), number_of_text("2026-01-02")]
    assert_array_equal(found, expected)


def test_sentences_are_told_from_categories() -> None:
    assert is_words("the parcel came a day late")
    assert not is_words("New York")
    assert not is_words(5.0)


def test_what_has_no_fixed_spelling_is_no_category() -> None:
    with pytest.raises(TypeError, match="must be text or a number, got \\[1\\]"):
        category_numbers([[1]])


def test_words_are_hashed_whatever_their_case_and_order() -> None:
    a, b, c, missing = text_numbers(["Red car!", "car  RED", "blue bike", None])
    assert a.shape == (TEXT_WIDTH,)
    assert_array_equal(a, b)
    assert (a != c).any()
    assert_array_equal(missing, np.zeros(TEXT_WIDTH))
    half = TEXT_WIDTH // 2
    assert_allclose([np.linalg.norm(a[:half]), np.linalg.norm(a[half:])], 1.0)


def test_texts_that_share_trigrams_are_near() -> None:
    a, b, c = text_numbers(["learning", "learned", "quixotry"])
    assert a @ b > a @ c


def test_a_text_is_read_up_to_a_bound() -> None:
    a, b = text_numbers(["word " * 4000, "word " * 4000 + "other " * 9])
    assert_array_equal(a, b)


@pytest.mark.parametrize("offset", ["", "Z", "+05", "-0330", "+05:45"])
@pytest.mark.parametrize("time", ["2024-01-01T05:15:00", "2024-01-01 05:15:00.125"])
def test_the_offset_of_a_time_is_left_out(time: str, offset: str) -> None:
    assert local_time(time + offset) == time


@pytest.mark.parametrize("text", ["2024-01-01", "2024-01-01+05:00", "5-3", "Z"])
def test_other_texts_keep_what_looks_like_an_offset(text: str) -> None:
    assert local_time(text) == text


def test_dates_are_days_and_circles() -> None:
    times = np.array(["2024-03-01T18:00", "2024-03-08T18:00", "NaT"], "M8[us]")
    first, later, missing = date_numbers(times)
    assert later[0] - first[0] == 7.0
    assert first[0] == (date(2024, 3, 1) - date(1970, 1, 1)).days + 0.75
    assert_allclose(first[1:5], later[1:5], atol=1e-9)  # same time, same weekday
    assert_allclose(first[1:3], [-1.0, 0.0], atol=1e-9)  # six in the evening
    assert_allclose(first[1::2] ** 2 + first[2::2] ** 2, 1.0)
    assert np.isnan(missing).all()
