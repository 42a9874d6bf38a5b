"""Rare forms of streams: single vectors, chunks, sparse rows, odd times."""

import datetime as dt
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from river.naive_bayes import MultinomialNB
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rpnb.baselines import make
from rpnb.evaluate import prequential
from rpnb.evaluate.arrival_times import _times, column
from rpnb.evaluate.drivers.partial_pipeline import PartialPipeline
from rpnb.evaluate.metrics import true_class_macro_f1
from rpnb.evaluate.stream_blocks import Block, gather, records_of
from rpnb.labels import LabelIndex

_RNG = np.random.default_rng(0)
Y = _RNG.integers(0, 2, 60)
X = _RNG.normal(size=(60, 3)) + Y[:, None]
LABELS = LabelIndex().coded(Y)


def test_vectors_and_chunks_are_the_table_they_make() -> None:
    def accuracy(rows: Any, *labels: Any) -> Any:
        return prequential(make("PA"), rows, *labels)["PA"].last("accuracy")

    whole = accuracy(X, Y)
    assert accuracy(zip(X, Y, strict=True)) == whole
    cuts = [0, 10, 10, 37, 60]
    chunks = [(X[a:b], Y[a:b]) for a, b in pairwise(cuts)]
    assert accuracy(iter(chunks)) == whole


def test_a_row_or_chunk_unlike_the_first_is_named() -> None:
    def rows() -> Iterator[Any]:
        yield X[0], 0
        yield X[:2], 1

    with pytest.raises(ValueError, match="row 1 must be a dict or a vector as the fir"):
        prequential(make("PA"), rows())
    chunks = iter([(X[:10], Y[:10]), (X[10:20], Y[:9])])
    with pytest.raises(ValueError, match="10 rows and y has 9 labels") as caught:
        prequential(make("PA"), chunks)
    assert "in chunk 1, which begins with row 10" in caught.value.__notes__


def test_sparse_rows_equal_the_stored_values() -> None:
    dense = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 3.0]])
    assert records_of(csr_array(dense)) == [{1: 2.0}, {}, {0: 1.0, 2: 3.0}]
    assert records_of(dense[:1]) == [{0: 0.0, 1: 2.0, 2: 0.0}]
    frame = pandas.DataFrame(dense, columns=list("abc"))
    assert records_of(frame)[2] == {"a": 1.0, "b": 0.0, "c": 3.0}
    counts = (X > 0.5) * 1.0
    given = prequential(MultinomialNB(), csr_array(counts), Y)["MultinomialNB"]
    table = prequential(MultinomialNB(), counts, Y)["MultinomialNB"]
    assert given.last("accuracy") == pytest.approx(table.last("accuracy"), abs=0.2)


@pytest.mark.parametrize(
    "rows", [[0], [16, 17], [12, 13], [10, 19], [9, 10], [3, 8, 15], [19], [*range(20)]]
)
def test_gathered_rows_are_the_requested_ones(rows: list[int]) -> None:
    parts = [slice(a, a + 5) for a in (0, 5, 10, 15)]
    kept = [Block(part.start, X[part], LABELS[part]) for part in parts]
    block = gather(kept, np.array(rows))
    assert_array_equal(block.X, X[rows])
    assert_array_equal(block.y, Y[rows])
    assert len(block) == len(rows)


def test_a_class_of_one_row_counts_in_the_mean_over_classes() -> None:
    """The last column counts the rows without a prediction."""
    counts = np.array([[0, 1, 0, 0], [0, 3, 0, 0], [0, 0, 0, 0]])
    assert true_class_macro_f1(counts) == pytest.approx((0.0 + 6 / 7) / 2)


def test_columns_of_times() -> None:
    frame = pandas.DataFrame({"t": [1, 2], "x": [3.0, 4.0]})
    assert_array_equal(column(Block(0, frame, LABELS[:2]), "t"), [1, 2])
    with pytest.raises(ValueError, match=r"X has no column 'q', only \['t', 'x'\]"):
        column(Block(0, frame, LABELS[:2]), "q")
    with pytest.raises(ValueError, match="row 6 has no feature 'q'"):
        column(Block(5, [{"q": 1}, {"x": 1}], LABELS[:2]), "q")
    with pytest.raises(TypeError, match=r"needs named features, .* got ndarray"):
        column(Block(0, X, LABELS), "q")


def test_times_are_numbers_stamps_or_durations() -> None:
    day, hour = dt.datetime(2020, 1, 2), dt.timedelta(hours=1)
    found = {
        "stamps": _times("t", [day, None], 0),
        "durations": _times("t", np.array([hour, None], object), 0),
        "numbers": _times("t", np.array([1, 2.5], object), 0),
        "whole": _times("t", np.array([1, 2], np.int16), 0),
    }
    assert {name: str(each.dtype) for name, each in found.items()} == {
        "stamps": "datetime64[ns]",
        "durations": "timedelta64[ns]",
        "numbers": "float64",
        "whole": "int64",
    }
    assert found["stamps"][0] == np.datetime64("2020-01-02")
    assert np.isnat(found["stamps"][1])
    assert found["durations"][0] == np.timedelta64(1, "h")
    for odd in (
        [True, False],
        ["a", "b"],
        [day, "x"],
        [day, 5],
        [hour, 5.0],
        [5, None],
    ):
        with pytest.raises(TypeError, match="t must hold numbers, time stamps or dur"):
            _times("t", odd, 0)
    with pytest.raises(ValueError, match=r"a number, or inf for never, .* row 8"):
        _times("t", [1.0, np.nan], 7)


def test_a_pipeline_learns_step_by_step_and_has_the_probabilities_of_its_last() -> None:
    def pipeline() -> Any:
        learner = SGDClassifier(loss="log_loss", random_state=0)
        return make_pipeline(StandardScaler(), "passthrough", learner)

    ours, twin = PartialPipeline(pipeline()), pipeline()
    assert not hasattr(ours, "classes_")
    scaler, _, last = (step for _, step in twin.steps)
    for part, classes in ((slice(20), [0, 1]), (slice(20, 60), None)):
        scaler.partial_fit(X[part])
        last.partial_fit(scaler.transform(X[part]), Y[part], classes)
        given = None if classes is None else np.array(classes)
        ours.partial_fit(X[part], Y[part], given)
    assert_array_equal(ours.predict(X), last.predict(scaler.transform(X)))
    expected = last.predict_proba(scaler.transform(X))
    assert_allclose(ours.predict_proba(X), expected)
    assert_array_equal(PartialPipeline(ours.pipeline).classes_, [0, 1])
    without = make_pipeline(StandardScaler(), SGDClassifier())
    assert not hasattr(PartialPipeline(without), "predict_proba")
