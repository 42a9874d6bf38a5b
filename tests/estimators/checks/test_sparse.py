"""Sparse matrices whose arrays do not fit their shape are refused, in every format."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from estimators.snapshots import snapshot
from estimators.streams import blobs, small

X, y = blobs(1, 40, p=6)
ONES = np.ones((8, 6))


def with_array(matrix: Any, name: str, place: Any, value: Any) -> Any:
    """The matrix with one entry of one of its arrays replaced."""
    getattr(matrix, name)[place] = value
    return matrix


def with_attribute(matrix: Any, name: str, value: Any) -> Any:
    setattr(matrix, name, value)
    return matrix


def with_key(matrix: Any, key: tuple[int, int]) -> Any:
    matrix._dict[key] = 1.0
    return matrix


def with_longer_row(matrix: Any) -> Any:
    matrix.rows[2].append(5)
    return matrix


DAMAGED: dict[str, Callable[[], Any]] = {
    "coo column": lambda: with_array(sp.coo_matrix(ONES), "col", 0, 14),
    "coo negative column": lambda: with_array(sp.coo_array(ONES), "col", 0, -1),
    "coo row": lambda: with_array(sp.coo_matrix(ONES), "row", 3, 1 << 30),
    "coo negative row": lambda: with_array(sp.coo_array(ONES), "row", 3, -2),
    "coo lengths": lambda: with_attribute(sp.coo_matrix(ONES), "data", np.ones(3)),
    "csr column": lambda: with_array(sp.csr_matrix(ONES), "indices", 0, 6),
    "csr indptr back": lambda: with_array(sp.csr_array(ONES), "indptr", 2, 40),
    "csr indptr end": lambda: with_array(sp.csr_array(ONES), "indptr", -1, 10**6),
    "csr real indices": lambda: with_attribute(
        sp.csr_matrix(ONES), "indices", np.zeros(48)
    ),
    "csc row": lambda: with_array(sp.csc_matrix(ONES), "indices", 5, 8),
    "csc length": lambda: with_attribute(
        sp.csc_matrix(ONES), "indptr", np.array([0, 48])
    ),
    "bsr column": lambda: with_array(
        sp.bsr_matrix(ONES, blocksize=(2, 3)), "indices", 1, 2
    ),
    "bsr blocks": lambda: with_attribute(
        sp.bsr_matrix(ONES, blocksize=(2, 3)), "data", np.ones((8, 3, 3))
    ),
    "bsr dimensions": lambda: with_attribute(
        sp.bsr_matrix(ONES, blocksize=(2, 3)), "data", np.ones((8, 6))
    ),
    "lil column": lambda: with_array(
        sp.lil_matrix(ONES), "rows", 1, [0, 1, 2, 3, 4, 99]
    ),
    "lil order": lambda: with_array(sp.lil_matrix(ONES), "rows", 1, [0, 2, 1, 3, 4, 5]),
    "lil lengths": lambda: with_longer_row(sp.lil_matrix(ONES)),
    "lil rows": lambda: with_attribute(
        sp.lil_matrix(ONES), "rows", sp.lil_matrix(ONES).rows[:3]
    ),
    "dia offsets": lambda: with_attribute(
        sp.dia_matrix(np.eye(6)), "offsets", np.array([0, 1])
    ),
    "dia twice": lambda: with_array(sp.dia_matrix(ONES), "offsets", 1, -7),
    "dia dimensions": lambda: with_attribute(
        sp.dia_matrix(np.eye(6)), "data", np.ones(6)
    ),
    "dok": lambda: with_key(sp.dok_matrix(ONES), (99, 2)),
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("method", ["predict", "partial_fit"])
def test_a_damaged_matrix_is_refused_and_changes_nothing(
    damage: str, method: str
) -> None:
    model = small().fit(X, y)
    before = snapshot(model)
    rows = DAMAGED[damage]()
    arguments = (rows,) if method == "predict" else (rows, np.zeros(8, np.int64))
    message = f"damaged sparse matrix in {damage[:3].upper()}"
    with pytest.raises(ValueError, match=message):
        getattr(model, method)(*arguments)
    assert snapshot(model) == before


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr", "lil", "dia", "dok"])
def test_every_format_gives_the_predictions_of_dense_rows(form: str) -> None:
    model = small().fit(X, y)
    thinned = np.where(np.abs(X) < 0.5, 0.0, X)
    rows = sp.csr_matrix(thinned).asformat(form)
    assert_array_equal(model.predict_proba(rows), model.predict_proba(thinned))


def test_flags_that_lie_about_the_order_of_columns_are_not_believed() -> None:
    model = small().fit(X, y)
    rows = sp.csr_matrix(X)
    assert rows.has_canonical_format
    rows.indices[:6] = [5, 4, 3, 2, 1, 0]
    rows.data[:6] = rows.data[:6][::-1].copy()
    assert rows.has_canonical_format  # SciPy has not noticed
    assert_array_equal(model.predict_proba(rows), model.predict_proba(X))
    doubled = sp.csr_matrix(X)
    assert doubled.has_canonical_format
    doubled.indices[1] = 0  # column 0 twice, column 1 not at all
    expected = X.copy()
    expected[0, :2] = X[0, 0] + X[0, 1], 0.0
    assert_array_equal(model.predict_proba(doubled), model.predict_proba(expected))
