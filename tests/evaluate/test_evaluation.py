"""Learners in one pass: their counts, and their independence."""

import gc
import weakref
from itertools import count, pairwise
from typing import Any

import numpy as np
import pandas  # type: ignore[import-untyped]
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from rpnb import RPNBClassifier
from rpnb.baselines import make
from rpnb.evaluate import confusion_counts
from rpnb.evaluate.drivers.driver import Probabilities
from rpnb.evaluate.evaluation import native_evaluation
from rpnb.evaluate.stream_blocks import ChunkBlocks, join
from rpnb.files import LabelledArrays, LabelledChunk
from rpnb.labels import LabelIndex

NAMES = ("OGD", "GaussianNB")


def test_a_label_that_one_learner_alone_predicts_is_in_all_tables() -> None:
    source = LabelledArrays("arrays", np.zeros((4, 1)), np.array(list("abab")))
    seen = make("NoChange").partial_fit([[0.0]], ["z"])
    evaluation = native_evaluation(
        {"first": make("MajorityClass"), "second": seen}, {"last": make("NoChange")}
    )
    blocks = ChunkBlocks(evaluation.labels)
    for chunk in source.chunks(2):
        evaluation.step(blocks.block(chunk))
    assert evaluation.labels.labels == ("a", "b", "z")
    first, second, last = (each.confusion.counts for each in evaluation.participants)
    assert_array_equal(first, [[1, 0, 0, 1], [2, 0, 0, 0], [0, 0, 0, 0]])
    assert_array_equal(second, [[0, 1, 1, 0], [2, 0, 0, 0], [0, 0, 0, 0]])
    assert_array_equal(last, [[0, 1, 0, 1], [2, 0, 0, 0], [0, 0, 0, 0]])


def test_a_class_that_was_declared_is_a_label_once_it_is_predicted() -> None:
    source = LabelledArrays("arrays", np.zeros((4, 1)), np.array(list("bbaa")))
    evaluation = native_evaluation({"last": make("NoChange")}, classes=["a", "b", "c"])
    blocks = ChunkBlocks(evaluation.labels)
    found = [evaluation.step(blocks.block(chunk))[0] for chunk in source.chunks(1)]
    predicted = [evaluation.labels.labels_of(each.numbers) for each in found]
    assert predicted == [["a"], ["b"], ["b"], ["a"]]
    assert evaluation.labels.labels == ("b", "a")


def test_rows_without_a_label_have_no_number_in_any_chunk() -> None:
    """Codes are those of the reader, which has seen a label that never occurs here."""
    labels = LabelIndex(["never", "w"])
    blocks = ChunkBlocks(labels)
    chunks = [[2, 1, 2], [-1, 1, -1, 3], [-1, -1], [3, 2]]
    numbers = []
    for codes in chunks:
        labelled = np.array(list("wxyz"))
        X, rows = np.zeros((len(codes), 1)), np.arange(len(codes))
        chunk = LabelledChunk(X, labelled, np.array(codes), rows, None)
        found: Any = blocks.block(chunk).numbers
        numbers.append(found.tolist())
    assert numbers == [[3, 2, 3], [-1, 2, -1, 4], [-1, -1], [4, 3]]
    assert labels.labels == ("never", "w", "x", "y", "z")


@given(st.lists(st.integers(1, 59), max_size=4), st.booleans(), st.integers(0, 99))
def test_the_counts_are_those_of_each_learner_alone_for_any_chunking(
    cuts: list[int], text: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 4, 60)
    y = np.array(list("dbca"))[numbers] if text else numbers * 10
    X = rng.standard_normal((60, 3)) + numbers[:, None]
    (whole,) = LabelledArrays("arrays", X, y).chunks(60)
    names = (*NAMES, "MajorityClass")
    evaluation = native_evaluation(
        {name: make(name) for name in NAMES}, {names[2]: make(names[2])}
    )
    blocks = ChunkBlocks(evaluation.labels)
    for start, stop in pairwise(sorted({0, *cuts, 60})):
        (part,) = LabelledArrays("part", X[start:stop], y[start:stop]).chunks(60)
        # The codes of the whole stream, as a file gives them.
        codes = whole.codes[start:stop]
        chunk = LabelledChunk(part.X, whole.labels, codes, part.rows, None)
        evaluation.step(blocks.block(chunk))
    labels = {label: number for number, label in enumerate(evaluation.labels.labels)}
    truth = np.array([labels[label] for label in y.tolist()])
    for participant in evaluation.participants:
        alone = make(participant.name).predict_then_learn(X, y).tolist()
        predicted = np.array([-1 if a is None else labels[a] for a in alone])
        counts = confusion_counts(truth, predicted, len(labels))
        assert_array_equal(participant.confusion.counts, counts)
    assert_array_equal(evaluation.class_history.places()[1][-1], np.bincount(truth))


def test_rows_are_let_go_once_they_are_learned() -> None:
    # By reference counting: a cycle would wait for the collector, and memory would
    # grow.
    evaluation = native_evaluation(
        {"NB": make("GaussianNB")}, {"last": make("NoChange")}
    )
    blocks = ChunkBlocks(evaluation.labels)
    rng = np.random.default_rng(0)
    kept = []
    gc.disable()
    try:
        for _ in range(3):
            X, y = rng.standard_normal((8, 2)), rng.integers(0, 2, 8)
            kept.append(weakref.ref(X))
            chunk = LabelledChunk(X, np.arange(2), y, np.arange(8), None)
            evaluation.step(blocks.block(chunk))
            del chunk
            del X
        assert [reference() for reference in kept] == [None] * 3
    finally:
        gc.enable()


def test_measuring_probabilities_does_not_move_mini_batches() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 50)
    rows = LabelledArrays("rows", rng.normal(size=(50, 3)) + y[:, None], y)
    means = []
    kinds: tuple[Probabilities, ...] = ("none", "truth")
    for asked in kinds:
        model = RPNBClassifier(4, batch_size=20, random_state=0)
        evaluation = native_evaluation({"RPNB": model}, probabilities=asked)
        blocks = ChunkBlocks(evaluation.labels)
        for chunk in rows.chunks(40, None):
            evaluation.step(blocks.block(chunk))
        means.append(model._state.moments.mean)
    assert_array_equal(means[0], means[1])


def test_learning_at_the_end_of_the_stream_takes_time_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(times)))
    (learner,) = native_evaluation({"a": make("NoChange")}, {}).participants
    learner.finish()
    assert learner.seconds == 1.0


def test_tables_are_joined_whatever_they_are() -> None:
    rows = np.arange(6.0).reshape(3, 2)
    kinds: list[Any] = [pandas.DataFrame, polars.DataFrame, np.array, csr_array, list]
    for table in kinds:
        whole: Any = join([table(rows[:1]), table(rows[1:])])
        assert type(whole) is type(table(rows))
        sparse = table is csr_array
        assert_array_equal(whole.toarray() if sparse else np.array(whole), rows)
