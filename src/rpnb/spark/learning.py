"""Learning from a Spark frame, mini-batch by mini-batch."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pyspark.sql import DataFrame
from sklearn.utils import get_tags

from rpnb.core.kappa import cohen
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.mini_batches import (
    BLOCK_ROWS,
    begin_rows,
    check_batch_size,
    counts_of_classes,
    learn_rows,
    learn_statistics,
    learned_together,
    model_to_bytes,
)
from rpnb.estimators.protocol import class_weight_of, is_balanced
from rpnb.spark.bad_rows import BadRows
from rpnb.spark.blocks import (
    BlockRows,
    Fragment,
    Layout,
    Segment,
    check_rows,
    counts_before_blocks,
    join_fragments,
    layout_for,
    row_blocks_of,
    segments,
)
from rpnb.spark.frame_columns import FrameColumns, Order, choose_columns, width_of
from rpnb.spark.ordering import ordered_rows
from rpnb.spark.worker import fetch, observer


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Result of one mini-batch, whose rows were predicted before they were learned.

    Attributes
    ----------
    batch : int
        Number of the mini-batch, from 0.
    rows, mistakes : int
        Number of rows, and of wrong predictions among them.
    kappa : float
        Cohen's κ of the predictions; NaN where it is not defined.
    updates : int
        Number of rows that changed the model.
    seconds : float
        Time that the mini-batch took.
    bytes_out, bytes_back : int
        Size of the model sent to the executors, and of the statistics returned.

    Examples
    --------
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.spark import learn
    >>> model = RPNBClassifier(20, batch_size=300, random_state=0)
    >>> first, second = learn(model, frame, order="time")
    >>> second.batch, second.rows, second.error < 0.5
    (1, 300, True)
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
        """Error rate of the predictions.

        Examples
        --------
        >>> from rpnb import RPNBClassifier
        >>> from rpnb.spark import learn
        >>> model = RPNBClassifier(20, batch_size=300, random_state=0)
        >>> first, second = learn(model, frame, order="time")
        >>> first.error                                  # nothing was learned before
        1.0
        """
        return self.mistakes / self.rows


class Predicted(NamedTuple):
    """Predictions of one mini-batch, for callers of `learn_frame`."""

    result: BatchResult
    y: IntArray
    """(n,) class numbers of the rows"""
    labels: IntArray
    """(n,) predicted class numbers, −1 for none"""
    probabilities: FloatArray | None
    """(n, M), if requested"""


def learn(
    model: Any,
    frame: DataFrame,
    *,
    features: str | Sequence[str] | None = None,
    label: str = "label",
    order: Order = None,
    weight: str | None = None,
    classes: ArrayLike | str | None = None,
    batch_size: int | None = None,
    bad_rows: BadRows = "refuse",
    aside: str | None = None,
    on_batch: Callable[[BatchResult], None] | None = None,
) -> list[BatchResult]:
    """Learn the rows of a frame by mini-batches, distributed to the executors.

    The model is the same, to the bit, as after `partial_fit` of the same rows in the
    same order in one process, whatever the number of partitions and executors, and
    whatever happens to them. It changes only after the whole frame has been read and
    checked.

    Parameters
    ----------
    model : RPNBClassifier, GaussianNB, PooledClassifier or MajorityClass
        The model, new or fitted; `RPNBClassifier` with a `batch_size` other than 1,
        `PooledClassifier` with members="mergeable". It is changed.
    frame : DataFrame
        The rows.
    features : str or sequence of str, optional
        Columns of numbers; or one column of arrays, or of Spark's vectors, dense or
        sparse. By default, all columns but the label, the order and the weight.
    label : str, default="label"
        Column of the labels: text, integers, booleans, or floats with integer values.
    order : str or sequence of str, optional
        Columns that define the order of the rows, such as a time. Ties, and all rows if
        no order is given, are ordered by a hash of the row: at random, but always in
        the same way.
    weight : str, optional
        Column of weights: a row of weight w is learned as w equal rows in one update.
        Rows of weight 0 are left out.
    classes : array-like or "all", optional
        Classes that may be predicted from the first row on; "all" are those of the
        frame, as by `fit`.
    batch_size : int, optional
        Number of rows per mini-batch, for models without this parameter; by default
        all.
    bad_rows : {"refuse", "set_aside"}, default="refuse"
        What to do with rows without a label, or with values that are missing, not
        finite or beyond ±1e150: refuse the frame, naming the first of them; or leave
        them out.
    aside : str, optional
        Path to which rows that are left out are written, as Parquet.
    on_batch : callable, optional
        Function called after each mini-batch.

    Returns
    -------
    list of BatchResult
        Results, one for each mini-batch.

    Examples
    --------
    >>> from rpnb import RPNBClassifier
    >>> from rpnb.spark import learn
    >>> model = RPNBClassifier(20, batch_size=300, random_state=0)
    >>> [result.rows for result in learn(model, frame, order="time")]
    [300, 300]
    >>> model.n_samples_seen_
    600
    """
    results = []
    for each in learn_frame(
        model,
        frame,
        choose_columns(frame, features, label, order, weight),
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
    probabilities: bool = False,
) -> Iterator[Predicted]:
    """Learn a frame; yield the predictions of each mini-batch once it is learned.

    The number of rows set aside is appended to the list `set_aside`. With
    `probabilities`, the probabilities of the predictions are included.
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
        before = None
        if is_balanced(class_weight_of(model)):
            before = counts_before_blocks(
                rows, model.classes_, layout, counts_of_classes(model)
            )
        for segment in segments(rows, model.classes_, layout):
            fetched = _FetchedRows(context, segment)
            for batch in segment.batches:
                expected = min(size or rows.rows, rows.rows - batch * layout.batch_rows)
                first = batch * layout.blocks_per_batch
                blocks = range(first, first + layout.blocks_per_batch)
                counts = None if before is None else {n: before[n] for n in blocks}
                work = _BatchWork(
                    segment, fetched, layout, batch, blocks, key, expected, counts
                )
                yield _learn_batch(model, context, work, probabilities)


class _FetchedRows:
    """Rows fetched by the driver, which learns small mini-batches itself.

    Several of them share a partition, which is fetched once.
    """

    def __init__(self, context: Any, segment: Segment) -> None:
        self._context, self._segment = context, segment
        self._partitions: list[int] = []
        self._pairs: list[tuple[int, Fragment]] = []

    def blocks(self, batch: int, numbers: range) -> list[BlockRows]:
        """Return the blocks of a mini-batch, given their numbers."""
        partitions = self._segment.partitions(batch)
        if partitions != self._partitions:
            self._pairs = self._context.runJob(self._segment.rdd, fetch, partitions)
            self._partitions = partitions
        return join_fragments(self._pairs, numbers)


class _BatchWork(NamedTuple):
    """A mini-batch to be learned."""

    segment: Segment
    """segment with its blocks"""
    fetched: _FetchedRows
    layout: Layout
    batch: int
    """number of the mini-batch"""
    blocks: range
    """numbers of its blocks"""
    key: str
    """key of the model on the executors"""
    expected: int
    """number of its rows"""
    counts: dict[int, IntArray] | None
    """number of rows of each class before each block, if classes are balanced"""


def _learn_batch(
    model: Any, context: Any, work: _BatchWork, probabilities: bool
) -> Predicted:
    """Learn one mini-batch, in two groups if its first block must come first."""
    count = -(-work.expected // BLOCK_ROWS)
    groups = learned_together(model, work.blocks[:count])
    if len(groups) == 1:
        return _learn_group(model, context, work, probabilities)
    first = work._replace(
        blocks=groups[0], key=f"{work.key}.first", expected=BLOCK_ROWS
    )
    rest = work._replace(blocks=groups[1], expected=work.expected - BLOCK_ROWS)
    one = _learn_group(model, context, first, probabilities)
    other = _learn_group(model, context, rest, probabilities)
    y = np.concatenate([one.y, other.y])
    labels = np.concatenate([one.labels, other.labels])
    a, b = one.result, other.result
    result = BatchResult(
        work.batch,
        a.rows + b.rows,
        a.mistakes + b.mistakes,
        kappa(y, labels, model.classes_.shape[0]),
        a.updates + b.updates,
        a.seconds + b.seconds,
        a.bytes_out + b.bytes_out,
        a.bytes_back + b.bytes_back,
    )
    P = None
    if one.probabilities is not None and other.probabilities is not None:
        P = np.concatenate([one.probabilities, other.probabilities])
    return Predicted(result, y, labels, P)


def _learn_group(
    model: Any, context: Any, work: _BatchWork, probabilities: bool
) -> Predicted:
    """Learn blocks together: on the executors, or on the driver if there is one."""
    start = time.perf_counter()
    updates = int(model.n_updates_)
    out = back = 0
    if work.layout.batch_rows <= BLOCK_ROWS:
        parts = work.fetched.blocks(work.batch, work.blocks)
        check_rows([part.numbers for part in parts], work.expected)
        back = sum(part.nbytes for part in parts)
        rows = row_blocks_of(parts, work.blocks.start, work.counts)
        statistics = learn_rows(model, rows, probabilities=probabilities)
    else:
        content = model_to_bytes(model)
        out = len(content)
        broadcast = context.broadcast(content)
        version = f"{work.key}.{work.batch}"
        observe = observer(
            work.key, version, broadcast, work.blocks, work.counts, probabilities
        )
        where = work.segment.partitions(work.batch)
        observed = sorted(
            context.runJob(work.segment.rdd, observe, where),
            key=lambda each: each.block,
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
        check_rows([each.y for each in statistics], work.expected)
        learn_statistics(model, statistics)
    y = np.concatenate([each.y for each in statistics])
    labels = np.concatenate([each.labels for each in statistics])
    result = BatchResult(
        work.batch,
        y.shape[0],
        int(np.count_nonzero(y != labels)),
        kappa(y, labels, model.classes_.shape[0]),
        int(model.n_updates_) - updates,
        time.perf_counter() - start,
        out,
        back,
    )
    P = None
    if probabilities:
        P = np.concatenate([np.asarray(each.probabilities) for each in statistics])
    return Predicted(result, y, labels, P)


def kappa(y: IntArray, labels: IntArray, M: int) -> float:
    """Return Cohen's κ of predictions; −1 means no prediction."""
    truth = np.bincount(y, minlength=M)
    predicted = np.bincount(labels[labels >= 0], minlength=M)
    return cohen(np.count_nonzero(y == labels) / y.shape[0], truth, predicted)
