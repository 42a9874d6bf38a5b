"""Features of categories: the definition, any division into calls, bounded memory."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from oracles.categories import features
from rpnb.core.columns.categories import (
    FREQUENCIES,
    LOOKS,
    MOST_CATEGORIES,
    MOST_INDICATORS,
    NUMBER,
    ORDERED,
    SHARED_PLACES,
    Categories,
    Layout,
)
from rpnb.core.kernels.arrays import FloatArray, IntArray

LAYOUTS = [
    Layout((NUMBER, NUMBER), 1),
    Layout((1, 2), 1),
    Layout((3, FREQUENCIES), 1),
    Layout((FREQUENCIES, 4), 4),
    Layout((FREQUENCIES, FREQUENCIES), 2),
]
ONE = np.ones(1)


def stream(seed: int, n: int = 24, M: int = 7) -> tuple[FloatArray, IntArray]:
    """Rows whose columns 0 and 2 are categories, some of them missing, and classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 0] = rng.integers(0, 6, n)
    X[:, 2] = rng.choice([-0.0, 0.0, 2.5, np.nan, 2.0**52 + 3], n)
    return X, rng.integers(-1, M, n)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=10)
@given(seed=st.integers(0, 999))
def test_features_follow_from_the_labelled_rows_before(
    layout: Layout, seed: int
) -> None:
    X, y = stream(seed)
    categories = Categories([0, 2], 3, 7, layout)
    found = categories.learn(X, y, ONE)
    rows: list[list[float]] = []
    labels: list[int] = []
    for i, row in enumerate(X.tolist()):
        expected = features(row, rows, labels, [0, 2], layout)
        assert_allclose(found[i], expected, rtol=1e-14, err_msg=str(i))
        if y[i] >= 0:
            rows.append(row)
            labels.append(int(y[i]))
    again = [features(row, rows, labels, [0, 2], layout) for row in X.tolist()]
    assert_allclose(categories.encode(X), again, rtol=1e-14)


def test_an_order_is_a_column_of_places() -> None:
    X, y = stream(3)
    order = (2.5, 2.0**52 + 3, 0.0)
    categories = Categories([0, 2], 3, 7, orders=((), order))
    assert categories.layout == Layout((NUMBER, ORDERED), 1)
    places = {value: float(place) for place, value in enumerate(order)}
    expected = [places.get(value, 1.0) for value in X[:, 2].tolist()]
    assert_array_equal(categories.learn(X, y, ONE)[:, 2], expected)
    assert set(expected) == {0.0, 1.0, 2.0}
    changed = False
    while categories.kept is not None:
        more = min(categories.rows_until_look() or 0, len(X))
        categories.learn(X[:more], np.zeros(more, np.int64), ONE)
        if categories.seen in LOOKS:
            categories, kept = categories.looked()
            changed |= kept is not None
            if kept is not None:
                categories.learn(*kept)
    assert changed
    assert categories.layout.columns == (6, ORDERED)


@settings(max_examples=20)
@given(seed=st.integers(0, 99), cuts=st.sets(st.integers(1, 23)), data=st.data())
def test_any_cut_into_calls_gives_equal_bits(
    seed: int, cuts: set[int], data: st.DataObject
) -> None:
    X, y = stream(seed)
    layout = data.draw(st.sampled_from(LAYOUTS))
    whole, parts = (Categories([0, 2], 3, 7, layout) for _ in range(2))
    expected = whole.learn(X, y, ONE)
    edges = [0, *sorted(cuts), 24]
    for begin, end in itertools.pairwise(edges):
        part = slice(begin, end)
        # Predicting changes nothing, and the next row is predicted as it is learned.
        first = parts.encode(X[part])[:1]
        found = parts.learn(X[part], y[part], ONE)
        assert_array_equal(found, expected[part])
        assert_array_equal(first, expected[part][:1])
    assert vars(parts).keys() == vars(whole).keys()
    assert parts.known == whole.known
    assert parts.counts == whole.counts
    assert parts.totals == whole.totals


def test_classes_may_be_renumbered_at_any_time() -> None:
    X, y = stream(5)
    y = np.maximum(y, 0)
    source = np.array([-1, 3, 1, 0, 2, 6, 5, 4])  # class m is that of before
    target = np.argsort(np.concatenate([source[1:]])) + 1
    whole, parts = (Categories([0, 2], 3, 7, LAYOUTS[3]) for _ in range(2))
    expected = whole.learn(X, y, ONE)
    found = parts.learn(X[:15], y[:15], ONE)
    parts.arrange_classes(source)
    assert_array_equal(found, expected[:15])
    assert_array_equal(parts.learn(X[15:], target[y[15:]], ONE), expected[15:])
    assert parts.kept is not None
    assert_array_equal(parts.kept.y, target[y])


def test_few_categories_become_indicators_and_many_frequencies() -> None:
    n = LOOKS[-1]
    rows = np.arange(float(n))
    X = np.stack([rows % 3, rows % 40, np.ones(n)], axis=1)
    categories = Categories([0, 1, 2], 3, 3)
    categories.learn(X, np.arange(n) % 3, ONE)
    after, kept = categories.looked()
    assert after.layout == Layout((3, FREQUENCIES, 1), 2)
    assert kept is not None
    assert_array_equal(kept.X, X)
    assert after.kept is None  # the last look
    assert after.learn(*kept).shape == (n, 3 + 2 + 1)


def test_a_layout_that_still_fits_is_kept() -> None:
    n = LOOKS[-1]
    rows = np.arange(float(n))
    X = np.stack([rows % 3, rows % 40, np.ones(n)], axis=1)
    categories = Categories([0, 1, 2], 3, 3, Layout((3, FREQUENCIES, 1), 2))
    assert categories.rows_until_look() == LOOKS[0]
    categories.learn(X[: LOOKS[-2]], np.arange(LOOKS[-2]) % 3, ONE)
    assert categories.looked() == (categories, None)
    assert categories.kept is not None
    assert categories.rows_until_look() == n - LOOKS[-2]
    categories.learn(X[LOOKS[-2] :], np.arange(LOOKS[-2], n) % 3, ONE)
    assert categories.looked() == (categories, None)
    assert categories.kept is None  # the last look
    assert categories.rows_until_look() is None
    categories.arrange_classes(np.array([2, 0, 1]))
    assert_array_equal(np.sort(categories.ranks), [0, 1, 2])


def test_memory_is_bounded_whatever_the_categories() -> None:
    n = MOST_CATEGORIES + 5000
    categories = Categories([0], 1, 2, Layout((FREQUENCIES,), 1))
    categories.kept = None
    X = np.arange(n, dtype=np.float64)[:, None]
    categories.learn(X, np.arange(n) % 2, ONE)
    assert len(categories.known[0]) == MOST_CATEGORIES
    assert len(categories.counts[0]) <= MOST_CATEGORIES + SHARED_PLACES
    # Categories that share a slot do so each time.
    assert_array_equal(categories.encode(X[-9:]), categories.encode(X[-9:]))


def test_indicators_of_very_many_columns_are_bounded() -> None:
    P, n = 600, LOOKS[0]
    X = np.random.default_rng(0).integers(0, 20, (n, P)).astype(np.float64)
    categories = Categories(range(P), P, 2)
    categories.learn(X, np.arange(n) % 2, ONE)
    after, _ = categories.looked()
    assert after.width <= 2 * P < P * MOST_INDICATORS
