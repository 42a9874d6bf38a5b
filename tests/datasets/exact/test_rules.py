from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from rpnb.datasets.catalogue import describe
from rpnb.datasets.csv_files import file_of, read_rows
from rpnb.datasets.exact import rules
from rpnb.datasets.exact.endgame import NO_MATE, krvk_positions, moves_to_mate
from rpnb.datasets.exact.tic_tac_toe import final_boards
from rpnb.datasets.records import Rows, count_labels, fingerprint

EXACT: dict[str, Callable[[], Rows]] = {
    "Chess-krvk": krvk_positions,
    "Iris": rules.iris,
    "Monk-2": rules.monk_2,
    "Nursery": rules.nursery,
    "Tic_Tac_Toe": final_boards,
}


@pytest.mark.parametrize("name", EXACT)
def test_a_rule_gives_the_very_rows_of_the_catalogue(name: str) -> None:
    X, y = EXACT[name]()
    entry = describe(name)
    assert X.shape == (entry.n, entry.p)
    assert count_labels(y) == dict(sorted(entry.class_counts.items()))
    assert fingerprint(X, y) == entry.rows


@pytest.mark.parametrize("name", EXACT)
def test_a_rule_gives_the_rows_of_the_file(name: str, data_folder: Path) -> None:
    entry = describe(name)
    X, y = EXACT[name]()
    X_file, y_file = read_rows(file_of(entry, data_folder), entry)
    if name == "Monk-2":  # KEEL's order follows no rule
        assert sorted(zip(X.tolist(), y.tolist(), strict=True)) == sorted(
            zip(X_file.tolist(), y_file.tolist(), strict=True)
        )
    else:
        assert_array_equal(X, X_file)
        assert_array_equal(y, y_file)


def test_one_changed_label_or_number_is_another_dataset() -> None:
    X, y = rules.nursery()
    entry = describe("nursery")
    wrong = y.copy()
    wrong[7] = "priority" if y[7] != "priority" else "not_recom"
    assert fingerprint(X, wrong) != entry.rows
    X[11, 3] += 1
    assert fingerprint(X, y) != entry.rows


def test_the_fingerprint_ignores_order_and_the_sign_of_zero() -> None:
    X, y = rules.monk_2()
    order = np.random.default_rng(0).permutation(len(X))
    assert fingerprint(X[order], y[order]) == fingerprint(X, y)
    assert fingerprint(0.0 * X, y) == fingerprint(-0.0 * X, y)


def test_iris_of_scikit_learn_differs_from_ucis_in_two_rows() -> None:
    X, y = rules.iris()
    fisher = load_iris().data
    assert_array_equal(np.flatnonzero((fisher != X).any(axis=1)), [34, 37])
    assert fingerprint(fisher, y) != describe("iris").rows


def test_a_chess_position_keeps_its_depth_in_every_mirror() -> None:
    depth = moves_to_mate()
    upside_down = depth[:, ::-1, :, ::-1, :, ::-1]
    left_right = depth[::-1, :, ::-1, :, ::-1, :]
    diagonal = depth.transpose(1, 0, 3, 2, 5, 4)
    for mirrored in (upside_down, left_right, diagonal):
        assert_array_equal(depth, mirrored)


def test_chess_positions_known_by_heart() -> None:
    depth = moves_to_mate()
    assert depth[1, 2, 7, 0, 1, 0] == 0  # Kb3 Rh1, black Kb1: mate on the back rank
    assert depth[1, 2, 0, 0, 1, 0] == NO_MATE  # Kb3 Ra1 Kb1: black takes the rook
    assert depth[1, 2, 1, 1, 0, 0] == NO_MATE  # Kb3 Rb2 Ka1: stalemate
    assert depth[2, 1, 1, 7, 0, 0] == 1  # Kc2 Rb8 Ka1: Ka2 is forced, then Ra8 mates
    assert depth[depth != NO_MATE].max() == 16
