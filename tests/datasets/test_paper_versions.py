"""The versions of data that the paper used."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from rpnb.datasets import load
from rpnb.datasets.catalogue import entries
from rpnb.datasets.loader import (
    PAPER_VERSIONS,
    impute_modes,
    with_codes_from_one,
    without_decimal_points,
)


def test_the_examples_of_the_lost_decimal_points() -> None:
    X = np.array([[0.49, 0.5, 0.07, 1.0, 0.0, 0.1, 0.29, 0.57]])
    assert_array_equal(without_decimal_points(X), [[49, 5, 7, 1, 0, 1, 29, 57]])


@given(st.integers(0, 100))
def test_the_digits_are_those_of_the_text_without_its_point(hundredths: int) -> None:
    value = hundredths / 100
    text = f"{value:.2f}".rstrip("0").rstrip(".") or "0"
    digits = float(text.removeprefix("0.") if text.startswith("0.") else text)
    assert without_decimal_points(np.array([[value]])) == [[digits]]


def test_the_mode_fills_what_is_missing_and_nothing_else() -> None:
    X = np.array([[5.0, -1.0], [2.0, 1.0], [2.0, 3.0], [-1.0, 3.0], [0.0, 4.0]])
    filled = impute_modes(X)
    assert_array_equal(filled, [[5, 3], [2, 1], [2, 3], [2, 3], [0, 4]])
    assert X[0, 1] == -1  # the argument is not written to


def test_codes_from_one_start_at_one() -> None:
    for name in ("nursery", "tic_tac_toe"):
        true, read = load(name), load(name, reading="paper")
        assert true.X.min() == 0
        assert read.X.min() == 1
        assert_array_equal(read.X, with_codes_from_one(true.X))
        assert_array_equal(read.y, true.y)
        assert true.description.changed is None
        assert read.description.changed is not None
        assert read.description.reading == "paper"


def test_other_datasets_are_read_as_they_are(data_folder: Path) -> None:
    for slug in sorted(set(entries()) - set(PAPER_VERSIONS)):
        if entries()[slug].n < 5000:
            true = load(slug, data=data_folder)
            read = load(slug, reading="paper", data=data_folder)
            assert_array_equal(true.X, read.X)
            assert read.description.changed is None


def test_ecoli_and_soybean_of_the_paper(data_folder: Path) -> None:
    ecoli = load("ecoli", reading="paper", data=data_folder)
    assert_array_equal(ecoli.X[0], [49, 29, 48, 5, 56, 24, 35])
    assert ecoli.X.max() == 99
    soybean = load("soybean", data=data_folder)
    assert (soybean.X == -1).sum() == 712
    filled = load("soybean", "paper", data=data_folder)
    assert filled.X.min() == 0
    known = soybean.X >= 0
    assert_array_equal(filled.X[known], soybean.X[known])
