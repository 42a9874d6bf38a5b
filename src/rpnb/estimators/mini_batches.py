"""Mini-batches whose blocks of rows are observed separately, wherever the rows are.

A mini-batch is split into blocks of 2,048 rows. Each block is observed with the current
model, which changes nothing; the statistics of all blocks, in order, are then learned
at once. Blocks may be observed in any order and on any machine: the model is the same
to the bit. `learn_mini_batches` does it in one process and is the definition; for
`RPNBClassifier` it is what `partial_fit` with `batch_size` does. A learner that needs
rows to initialise itself, `PooledClassifier`, learns the first block of its first
mini-batch before it observes the others.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rpnb.core.asking import Asking
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.row_blocks import row_blocks, weights_of
from rpnb.core.passes.engine import BATCH_BLOCK
from rpnb.estimators.checks.labels import (
    LabelArray,
    as_labels,
    decode,
    encode,
    number_labels,
)
from rpnb.estimators.checks.parameters import check_integer
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.checks.weights import check_weight
from rpnb.estimators.frozen.frozen_rpnb import FrozenRPNB
from rpnb.estimators.registry import find_learner
from rpnb.estimators.rpnb import RPNBClassifier
from rpnb.estimators.saving.files import ModelFileError, read_metadata, read_model
from rpnb.estimators.stream.asking import ASKING
from rpnb.estimators.stream.class_weights import (
    COUNTS,
    check_class_weight,
    is_balanced,
    weigh_rows,
)
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.learner import BlockStatistics, LearnsBlocks
from rpnb.estimators.stream.prediction_sets import ENTRY
from rpnb.labels import LabelIndex

#: Number of rows per block.
BLOCK_ROWS = BATCH_BLOCK

_ONE = np.ones(1)


def check_batch_size(model: Any, batch_size: int | None) -> int | None:
    """Return the number of rows per mini-batch: as given, or the model's `batch_size`.

    None stands for all rows of a call. Models that cannot learn blocks of rows
    separately are refused.
    """
    if not isinstance(model, StreamClassifier):
        raise TypeError(f"model must be a classifier of this package, got {model!r}")
    model._learner().check_learns_blocks()
    own = getattr(model, "batch_size", None)
    if batch_size is None or batch_size == own:
        return None if own is None else check_integer("batch_size", own, 1)
    if hasattr(model, "batch_size"):
        raise ValueError(
            f"batch_size must be that of the model, {own!r}, got {batch_size!r}: set "
            "the model's parameter"
        )
    return check_integer("batch_size", batch_size, 1)


def begin_rows(
    model: StreamClassifier,
    p: int,
    labels: ArrayLike,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Prepare a model to learn rows of p features with these labels.

    Parameters
    ----------
    model
        Model, new or fitted.
    p
        Number of features.
    labels
        All labels of the rows, possibly repeated; the new ones become classes.
    classes
        Classes that may be predicted from now on, seen or not.
    names
        Names of the features, if they have any.
    """
    first = not model.__sklearn_is_fitted__()
    if not first:
        model._check_unchanged()
    found = as_labels(labels)
    declared = None if classes is None else as_labels(classes, "classes")
    known = np.zeros(0, np.int64) if first else model.classes_
    index = LabelIndex() if first else model._index
    joined, _ = number_labels(found, known, index, declared)
    if joined is not known:
        check_class_weight(model._class_weight, joined, whole=False)
    if not first:
        _check_features(model, p, names)
    state = model._state_for(p, joined, declared, first=first)
    if first:
        accept_rows(model, np.zeros((1, p)), first=True)
        if names is not None:
            model.feature_names_in_ = np.array(list(names), dtype=object)
        model._record_parameters()
    if first or joined is not model.classes_:
        model._set_classes(joined)
    model._state = state
    _learner_of(model).begin_blocks(state)


def _check_features(model: Any, p: int, names: Sequence[str] | None) -> None:
    """Refuse rows whose features differ from those of the model."""
    if p != model.n_features_in_:
        raise ValueError(
            f"the rows have {p} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )
    known = getattr(model, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        raise ValueError(
            f"the features are {list(names)}, but the model has learned {list(known)}"
        )


class RowBlocks(NamedTuple):
    """Rows of one mini-batch in blocks of `BLOCK_ROWS`; the last may be shorter.

    The blocks are stored one after the other, whether they are adjacent or not.
    """

    X: Any
    """(n, p) the rows, which are checked"""
    numbers: IntArray
    """(n,) the numbers of their classes"""
    weight: FloatArray = _ONE
    """(n,) or (1,) their weights, without class weights"""
    starts: Sequence[int] | None = None
    """number of rows of the mini-batch before each block; None for adjacent blocks"""
    counts: Sequence[IntArray] | None = None
    """(M,) rows of each class before each block, for balanced classes; None for
    adjacent blocks, the first of which comes right after the rows learned"""


def observe_rows(
    model: StreamClassifier, rows: RowBlocks, *, probabilities: bool = False
) -> list[BlockStatistics]:
    """Return the statistics of each block of rows, and probabilities on request.

    All rows are predicted in one call, which is faster. Changes nothing.
    """
    X, numbers = rows.X, rows.numbers
    learner = _learner_of(model)
    if learner.predicts_blocks:
        labels = np.full(numbers.shape[0], -1)
    else:
        labels = learner.classify(model._state, X)
    found = []
    counts = counts_of_classes(model)
    for place, part in enumerate(row_blocks(numbers.shape[0], BLOCK_ROWS)):
        if rows.counts is not None:
            counts = rows.counts[place].copy()
        given = weights_of(rows.weight, part)
        weight = weigh_rows(
            model._class_weight, model.classes_, numbers[part], given, counts
        )
        start = part.start if rows.starts is None else rows.starts[place]
        block = learner.observe_block(
            model._state, X[part], numbers[part], labels[part], weight, start
        )
        if probabilities:
            P = learner.block_probabilities(model._state, X[part])
            block = block._replace(probabilities=P)
        found.append(block)
    return found


def _learner_of(model: StreamClassifier) -> LearnsBlocks[Any]:
    """Return the learner of a model that `check_batch_size` accepts."""
    learner = model._learner()
    assert isinstance(learner, LearnsBlocks)  # noqa: S101 - others have been refused
    return learner


def counts_of_classes(model: StreamClassifier) -> IntArray:
    """Return how many rows of each class a model with balanced classes has learned."""
    if model._class_counts is None:
        return np.zeros(model.classes_.shape[0], np.int64)
    return model._class_counts.copy()


def learn_statistics(
    model: StreamClassifier, blocks: Sequence[BlockStatistics]
) -> None:
    """Learn a group of blocks of a mini-batch from their statistics, in order.

    The groups are those of `learned_together`.
    """
    if len(blocks) > 1 and _learner_of(model).first_block_alone(model._state):
        raise ValueError(
            f"{type(model).__name__} must learn the first block of its first "
            "mini-batch before the others are observed"
        )
    if is_balanced(model._class_weight):
        counts = counts_of_classes(model)
        for block in blocks:
            counts += np.bincount(block.y, minlength=counts.shape[0])
        model._class_counts = counts
    model._state = _learner_of(model).learn_blocks(model._state, blocks)


def learn_rows(
    model: StreamClassifier, rows: RowBlocks, *, probabilities: bool = False
) -> list[BlockStatistics]:
    """Learn a mini-batch of adjacent blocks in this process; return its blocks."""
    n = rows.numbers.shape[0]
    found = []
    for blocks in learned_together(model, range(-(-n // BLOCK_ROWS))):
        some = _choose(rows, blocks)
        observed = observe_rows(model, some, probabilities=probabilities)
        learn_statistics(model, observed)
        found += observed
    return found


def learned_together(model: StreamClassifier, blocks: range) -> list[range]:
    """Return the groups of a mini-batch's blocks that are learned one after the other.

    There is one group of all blocks, unless the first has to be learned alone. A group
    is observed with the model that has learned the previous group.
    """
    if len(blocks) > 1 and _learner_of(model).first_block_alone(model._state):
        return [blocks[:1], blocks[1:]]
    return [blocks]


def _choose(rows: RowBlocks, blocks: range) -> RowBlocks:
    """Return adjacent blocks of a mini-batch."""
    part = slice(BLOCK_ROWS * blocks.start, BLOCK_ROWS * blocks.stop)
    starts: Sequence[int] = range(0, rows.numbers.shape[0], BLOCK_ROWS)
    if rows.starts is not None:
        starts = rows.starts
    where = slice(blocks.start, blocks.stop)
    return RowBlocks(
        rows.X[part],
        rows.numbers[part],
        weights_of(rows.weight, part),
        starts[where],
        None if rows.counts is None else rows.counts[where],
    )


def learn_mini_batches(
    model: StreamClassifier,
    X: Any,
    y: ArrayLike,
    batch_size: int | None = None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> LabelArray:
    """Predict and learn rows by mini-batches, in blocks, in this process.

    Parameters
    ----------
    model
        `RPNBClassifier` with a `batch_size`, `GaussianNB`, `MajorityClass`, or
        `PooledClassifier` with members="mergeable".
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Class labels.
    batch_size
        Number of rows per mini-batch, for models without this parameter; None stands
        for all.
    classes
        Classes that may be predicted from the first row on.
    sample_weight
        Weights of the rows, above 0.

    Returns
    -------
    ndarray of shape (n_samples,)
        Predicted labels, each by the model before the row's mini-batch, or by the model
        after the first block if that was learned alone.
    """
    size = check_batch_size(model, batch_size)
    rows = check_rows(model, X, sparse=model._learner().accepts_sparse)
    labels = as_labels(y)
    weight = _ONE
    if sample_weight is not None:
        weight = check_weight(
            sample_weight, labels.shape[0], model._learner().weight_limits
        )
        if not weight.all():
            raise ValueError(
                "sample_weight must be above 0: leave out rows of weight 0"
            )
    begin_rows(model, rows.shape[1], labels, classes)
    accept_rows(model, X, first=False)
    numbers = encode(labels, model.classes_, model._index)
    predicted = np.empty_like(numbers)
    for batch in row_blocks(numbers.shape[0], size or numbers.shape[0]):
        some = RowBlocks(rows[batch], numbers[batch], weights_of(weight, batch))
        predicted[batch] = np.concatenate(
            [block.labels for block in learn_rows(model, some)]
        )
    return decode(predicted, model.classes_)


# Copies of a model for other processes


def model_to_bytes(model: Any) -> bytes:
    """Return the content of the model's file."""
    file = BytesIO()
    model.save(file)
    return file.getvalue()


def model_from_bytes(content: bytes, earlier: Any = None) -> Any:
    """Return the model from the bytes of `model_to_bytes`.

    If `earlier` is a model with the same parameters, what they determine, such as the
    projections, is taken from it instead of being computed again.

    Raises
    ------
    ModelFileError
        If the bytes do not hold a model of this version of rpnb.
    """
    file = BytesIO(content)
    name = read_metadata(file).get("estimator")
    if name == FrozenRPNB.__name__:
        return FrozenRPNB.load(file)
    found = find_learner(name) if isinstance(name, str) else None
    if found is None or found.estimator.__name__ != name:
        raise ModelFileError(
            f"the bytes hold a {name!r}, which this version of rpnb cannot load"
        )
    learner = found.estimator
    metadata, arrays = read_model(file)
    if (
        type(earlier) is not learner
        or earlier._parameters_to_json() != metadata["parameters"]
        or earlier.n_features_in_ != metadata["n_features_in"]
    ):
        return learner.load(file)
    classes = np.array(metadata["classes"], np.dtype(metadata["classes_dtype"]))
    earlier._class_counts = None
    earlier._set_classes(classes)
    earlier._class_counts = arrays.pop(COUNTS, None)
    saved = metadata["state"], arrays, classes, earlier.n_features_in_
    if isinstance(earlier, RPNBClassifier):
        earlier._state = earlier._learner().reload(earlier._state, *saved)
    else:
        earlier._state = earlier._learner().restore(*saved)
    earlier._set_thresholds = arrays.get(ENTRY)
    asking = arrays.get(ASKING)
    earlier._asking = None if asking is None else Asking.from_array(asking)
    return earlier


class RowScores(NamedTuple):
    """Predictions of rows."""

    labels: LabelArray
    """(n,) the predicted labels"""
    scores: FloatArray
    """(n, M) score of each class, the largest wins; logarithms of the probabilities for
    learners that have no other scores"""
    probabilities: FloatArray
    """(n, M)"""


def score_rows(model: Any, X: Any) -> RowScores:
    """Return labels, scores and probabilities of rows, as the model's methods would.

    The scores are computed once; separate calls would compute them twice.
    """
    labels = model.predict(X)
    if isinstance(model, FrozenRPNB):
        return RowScores(labels, model._scores(X), model.predict_proba(X))
    if isinstance(model, RPNBClassifier):
        learner, state = model._learner(), model._state
        scores = learner.scores(state, model._rows_to_predict(X))
        return RowScores(labels, scores, exp(learner.of_scores(state, scores)))
    logarithms: FloatArray = model.predict_log_proba(X)
    return RowScores(labels, logarithms, exp(logarithms))
