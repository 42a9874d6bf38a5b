"""Cells, tests and adjustments, against SciPy and plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import chi2_contingency

from rpnb.evaluate.waiting.changes import (
    ColumnCounts,
    ErrorCounts,
    column_p_value,
    distance_of,
    find_changes,
    holm,
    share_p_values,
)
from rpnb.evaluate.waiting.table_columns import Cells, TableColumns

counts = st.lists(st.integers(0, 60), min_size=2, max_size=8)


@given(counts, st.data())
def test_columns_are_tested_as_scipy_tests_them(
    before: list[int], data: st.DataObject
) -> None:
    size = len(before)
    after = data.draw(st.lists(st.integers(0, 60), min_size=size, max_size=size))
    a, b = np.array(before), np.array(after)
    common = a + b >= 10
    table = np.stack([a, b])
    table = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2 or 0 in (a.sum(), b.sum()):
        assert column_p_value(a, b) == 1.0
        return
    p = chi2_contingency(table, correction=False).pvalue
    assert_allclose(column_p_value(a, b), p, rtol=1e-9, atol=1e-300)


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 50), st.integers(1, 50))
def test_shares_are_tested_as_scipy_tests_them(
    a: int, more: int, b: int, others: int
) -> None:
    n, m = a + more, b + others
    found = share_p_values(*(np.array([each]) for each in (a, n, b, m)))[0]
    if a + b == 0:
        assert found == 1.0
        return
    p = chi2_contingency([[a, n - a], [b, m - b]], correction=True).pvalue
    assert_allclose(found, p, rtol=1e-9)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9))
def test_holm_adjusts_as_its_definition_does(values: list[float]) -> None:
    adjusted = holm(np.array(values))
    order = sorted(range(len(values)), key=lambda i: values[i])
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, (len(values) - rank) * values[i])
        assert_allclose(adjusted[i], min(largest, 1.0))


def test_distances_are_about_zero_by_chance_and_one_without_overlap() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(50):
        many, few = rng.integers(0, 10, 1000), rng.integers(0, 10, 500)
        pair = np.bincount(many, minlength=10), np.bincount(few, minlength=10)
        found.append(distance_of(*pair))
    assert max(found) < 0.06
    assert distance_of(np.array([900, 0]), np.array([0, 900])) > 0.95


@given(st.lists(st.floats(-5, 5) | st.just(float("nan")), min_size=30, max_size=90))
def test_every_value_has_the_cell_that_its_text_names(values: list[float]) -> None:
    column = np.array(values)
    cells = Cells.of(column, categorical=False)
    more = np.concatenate([column, [-9.0, 9.0, np.nan]])
    numbers = cells.find(more)
    assert cells.count(more).sum() == len(more)
    for value, number in zip(more.tolist(), numbers.tolist(), strict=True):
        text = cells.text(number)
        if np.isnan(value):
            assert text == "missing"
        elif cells.values is not None:
            inside = value in cells.values
            assert text == (f"{value:g}" if inside else "other values")
        elif value < cells.low:
            assert text.startswith("below")
        elif value > cells.high:
            assert text.startswith("above")
        else:
            k = len(cells.edges)
            below = cells.edges[number - 1] if number else -np.inf
            above = cells.edges[number] if number < k else np.inf
            assert below < value <= above
            ends = max(below, cells.low), min(above, cells.high)
            assert text == " to ".join(dict.fromkeys(f"{end:g}" for end in ends))


def test_a_new_value_is_named_if_it_is_most_of_the_other_values() -> None:
    before, after = np.repeat([0.0, 1.0], 500), np.repeat([0.0, 1.0, 2.0, 3.0], 125)
    names = ["ash", "elm", "oak", "yew"]
    for new, said in (([3.0], "other values, mostly yew"), ([], "other values")):
        column = np.concatenate([after, np.repeat(new, 10)])
        cells = Cells.of(before, categorical=True)
        pair = cells.count(before), cells.count(column)
        other = cells.main_other(column)
        counts = ColumnCounts("feature", "tree", cells, *pair, names, other)
        (change,) = find_changes([counts])
        assert change.cells[0].cell == said
    # Numbers between quantiles have no other values.
    assert np.isnan(Cells.of(np.arange(100.0), categorical=False).main_other(after))


def test_tables_of_all_kinds_have_the_same_columns() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1.5, None, 2.0], "c": ["a", "b", None]})
    records = [{"n": 1.5, "c": "a"}, {"n": None, "c": "b"}, {"n": 2.0, "c": None}]
    for table in (frame, records):
        columns = TableColumns()
        found = columns.numbers(table)
        assert_allclose(found, [[1.5, 0.0], [np.nan, 1.0], [2.0, np.nan]])
        assert columns.names == ("n", "c")
        assert columns.categorical == [False, True]
        assert columns.labels(1) == ["a", "b", "other values"]
        again = columns.numbers(table)
        assert_allclose(again, found)


def test_only_changed_columns_are_named() -> None:
    rng = np.random.default_rng(3)
    before, after = rng.normal(size=(1000, 20)), rng.normal(size=(500, 20))
    after[:, 4] += 1.0
    columns = []
    for j in range(20):
        cells = Cells.of(before[:, j], categorical=False)
        pair = cells.count(before[:, j]), cells.count(after[:, j])
        columns.append(ColumnCounts("feature", f"x{j}", cells, *pair))
    (change,) = find_changes(columns)
    assert change.name == "x4"
    assert change.distance > 0.2
    assert change.p_value < 1e-9
    x4 = columns[4].cells
    assert change.cells[0].cell == f"{x4.edges[-1]:g} to {x4.high:g}"
    assert "x4 moved by" in str(change)


def test_errors_are_named_by_the_cell_they_rose_in() -> None:
    cells = Cells.of(np.array([0.0, 1.0]), categorical=True)
    rows = np.array([500, 500, 0, 0])
    calm = ErrorCounts("calm", cells, (rows, rows // 10), (rows, rows // 9))
    risen = np.array([50, 250, 0, 0])
    found = ErrorCounts("risen", cells, (rows, rows // 10), (rows, risen))
    (change,) = find_changes([], [calm, found])
    assert (change.kind, change.name) == ("error", "risen")
    assert [cell.cell for cell in change.cells] == ["1"]
    assert_allclose((change.cells[0].before, change.cells[0].after), (0.1, 0.5))
