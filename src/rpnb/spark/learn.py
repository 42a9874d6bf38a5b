"""Learning from a frame of Spark, mini-batch by mini-batch."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pyspark.sql import DataFrame
from sklearn.utils import get_tags

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.mini_batches import (
    BLOCK_ROWS,
    begin_rows,
    check_batch_size,
    learn_rows,
    learn_statistics,
    model_to_bytes,
)
from rpnb.spark.frames import (
    BadRows,
    FrameColumns,
    Order,
    Segment,
    choose_columns,
    layout_for,
    ordered_rows,
    segments,
    width_of,
)
from rpnb.spark.worker import Layout, fetcher, observer, stack_rows, unpack


@dataclass(frozen=True, slots=True)
class BatchResult:
    """One mini-batch: how its rows were predicted before they were learnt.

    Attributes
    ----------
    batch : int
        Its number, from 0 on.
    rows, mistakes : int
        Rows, and how many of them were predicted wrongly.
    kappa : float
        Cohen's κ of the predictions; NaN where it is not defined.
    updates : int
        Rows that changed the model.
    seconds : float
        Time that the mini-batch took.
    bytes_out, bytes_back : int
        Size of the model that the executors got, and of the statistics that came back.
    """

    batch: int
    rows: int
    mistakes: int
    kappa: float
    updates: int
    seconds: float
    bytes_out: int
    bytes_back: int

    @property
    def error(self) -> float:
        """Share of the rows that were predicted wrongly."""
        return self.mistakes / self.rows


class Predicted:
    """The predictions of one mini-batch: for `learn_ordered`'s callers."""

    def __init__(self, result: BatchResult, y: IntArray, labels: IntArray) -> None:
        self.result = result
        self.y, self.labels = y, labels


def learn(
    model: Any,
    frame: DataFrame,
    *,
    features: str | Sequence[str] | None = None,
    label: str = "label",
    order: Order = None,
    classes: ArrayLike | str | None = None,
    batch_size: int | None = None,
    bad_rows: BadRows = "refuse",
    aside: str | None = None,
    on_batch: Callable[[BatchResult], None] | None = None,
) -> list[BatchResult]:
    """Learn the rows of a frame by mini-batches, each shared out to the executors.

    The model is the same, to the bit, as after `partial_fit` of the same rows in the
    same order in one process, whatever the number of partitions and executors, and
    whatever happens to them. It changes only once the whole frame was read and checked.

    Parameters
    ----------
    model : RPNBClassifier or GaussianNB
        The model, new or fitted; `RPNBClassifier` with a `batch_size` other than 1 and
        a `temperature` that is None or a number. It is changed.
    frame : DataFrame
        The rows.
    features : str or sequence of str, optional
        Columns of numbers; or one column of arrays, or of Spark's vectors, dense or
        sparse. By default, all columns but the label and the order.
    label : str, default="label"
        The column of the labels: text, integers, booleans, floats with integer values.
    order : str or sequence of str, optional
        Columns that give the rows an order, such as a time. Rows that are equal in
        them, and all rows without it, are ordered by a hash of the row: at random, but
        always in the same way.
    classes : array-like or "all", optional
        Classes that may be predicted from the first row on; "all" are those of the
        frame, as by `fit`.
    batch_size : int, optional
        Rows of a mini-batch, for models without such a parameter; by default all rows.
    bad_rows : {"refuse", "set_aside"}, default="refuse"
        What becomes of rows without a label, or with values that are missing, not
        finite or beyond ±1e150: the frame is refused, naming the first of them; or they
        are left out.
    aside : str, optional
        Where rows that are set aside are written, as Parquet.
    on_batch : callable, optional
        Called after each mini-batch.

    Returns
    -------
    list of BatchResult
        One for each mini-batch.
    """
    results = []
    for each in learn_frame(
        model,
        frame,
        choose_columns(frame, features, label, order),
        classes=classes,
        batch_size=batch_size,
        bad_rows=bad_rows,
        aside=aside,
    ):
        results.append(each.result)
        if on_batch is not None:
            on_batch(each.result)
    return results


def learn_frame(
    model: Any,
    frame: DataFrame,
    columns: FrameColumns,
    *,
    classes: ArrayLike | str | None = None,
    batch_size: int | None = None,
    bad_rows: BadRows = "refuse",
    aside: str | None = None,
    set_aside: list[int] | None = None,
) -> Iterator[Predicted]:
    """Learn a frame; yield the predictions of each mini-batch once it is learnt.

    How many rows were set aside is appended to the list `set_aside`.
    """
    size = check_batch_size(model, batch_size)
    if isinstance(classes, str) and classes != "all":
        raise ValueError(f"classes must be labels, 'all' or None, got {classes!r}")
    known = getattr(model, "n_features_in_", None)
    p = width_of(frame, columns) if known is None else int(known)
    if columns.kind == "columns":
        p = len(columns.features)
    context = frame.sparkSession.sparkContext
    with ordered_rows(
        frame,
        columns,
        p,
        bad_rows=bad_rows,
        aside=aside,
        allow_nan=get_tags(model).input_tags.allow_nan,
    ) as rows:
        if set_aside is not None:
            set_aside.append(rows.set_aside)
        if rows.rows == 0:
            return
        declared = rows.labels if isinstance(classes, str) else classes
        begin_rows(model, p, rows.labels, declared, columns.names)
        layout = layout_for(size, rows.rows, max(context.defaultParallelism, 1))
        key = uuid.uuid4().hex
        for segment in segments(rows, model.classes_, layout):
            for batch in segment.batches:
                expected = min(size or rows.rows, rows.rows - batch * layout.batch_rows)
                yield _learn_batch(
                    model, context, segment, layout, batch, key, expected
                )


def _learn_batch(
    model: Any,
    context: Any,
    segment: Segment,
    layout: Layout,
    batch: int,
    key: str,
    expected: int,
) -> Predicted:
    """Learn one mini-batch: on the executors, or here if it is one block only.

    `expected` is the number of its rows.
    """
    start = time.perf_counter()
    updates = int(model.n_updates_)
    first = batch * layout.blocks_per_batch
    blocks = range(first, first + layout.blocks_per_batch)
    where = segment.partitions(batch)
    out = back = 0
    if layout.batch_rows <= BLOCK_ROWS or not model._blocks_add_up(model._state):
        found = context.runJob(segment.rdd, fetcher(blocks), where)
        parts = sorted((unpack(row) for row in found), key=lambda part: part[0])
        y = _all_rows([part[1] for part in parts], expected)
        back = sum(len(row["values"]) + len(row.numbers) for row in found)
        labels = learn_rows(model, stack_rows([part[2] for part in parts]), y)
    else:
        content = model_to_bytes(model)
        out = len(content)
        broadcast = context.broadcast(content)
        work = observer(key, f"{key}.{batch}", broadcast, blocks)
        observed = sorted(
            context.runJob(segment.rdd, work, where), key=lambda each: each.block
        )
        broadcast.destroy()
        statistics = [
            each.statistics._replace(
                y=each.statistics.y.astype(np.int64),
                labels=each.statistics.labels.astype(np.int64),
            )
            for each in observed
        ]
        back = sum(
            sum(array.nbytes for array in each.arrays.values()) + 8 * each.y.shape[0]
            for each in statistics
        )
        y = _all_rows([each.y for each in statistics], expected)
        learn_statistics(model, statistics)
        labels = np.concatenate([each.labels for each in statistics])
    result = BatchResult(
        batch,
        y.shape[0],
        int(np.count_nonzero(y != labels)),
        kappa(y, labels, model.classes_.shape[0]),
        int(model.n_updates_) - updates,
        time.perf_counter() - start,
        out,
        back,
    )
    return Predicted(result, y, labels)


def _all_rows(parts: list[IntArray], expected: int) -> IntArray:
    """Return the classes of all rows of a mini-batch, or say that some are missing."""
    y = np.concatenate([np.zeros(0, np.int64), *parts])
    if y.shape[0] != expected:
        raise RuntimeError(
            f"a mini-batch had {expected} rows when the frame was counted and "
            f"{y.shape[0]} when it was learnt: a frame must give the same rows "
            "whenever it is read, so persist what is drawn at random"
        )
    return y


def kappa(y: IntArray, labels: IntArray, M: int) -> float:
    """Return Cohen's κ of predictions; −1 stands for none."""
    n = y.shape[0]
    truth = np.bincount(y, minlength=M).astype(np.float64)
    said = np.bincount(labels[labels >= 0], minlength=M).astype(np.float64)
    agreed = np.count_nonzero(y == labels) / n
    by_chance = float(truth @ said) / (float(n) * n)
    return (agreed - by_chance) / (1.0 - by_chance) if by_chance < 1.0 else float("nan")
