"""Mini-batches whose blocks of rows are observed apart, by whoever has the rows.

A mini-batch is cut into blocks of 2,048 rows. Each block is observed with the model as
it stands, which changes nothing; the statistics of all blocks, in order, are then
learnt at once. Blocks may be observed in any order and on any machine: the model has
the same bits. `learn_mini_batches` does it in one process and is the definition; for
`RPNBClassifier` it is what `partial_fit` with `batch_size` does.
"""

from collections.abc import Sequence
from io import BytesIO
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.rows import row_blocks
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
from rpnb.estimators.classifier import RPNBClassifier
from rpnb.estimators.frozen.model import FrozenRPNB
from rpnb.estimators.registry import find_learner
from rpnb.estimators.saving.files import read_metadata, read_model
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.stream.learner import BlockStatistics
from rpnb.estimators.stream.prediction_sets import ENTRY
from rpnb.labels import LabelIndex

#: Rows of a block.
BLOCK_ROWS = BATCH_BLOCK

_ONE = np.ones(1)


def check_batch_size(model: Any, batch_size: int | None) -> int | None:
    """Return the rows of a mini-batch: as given, or the model's own `batch_size`.

    None stands for all rows of a call. Models that cannot learn blocks of rows apart
    are refused.
    """
    if not isinstance(model, StreamClassifier):
        raise TypeError(f"model must be a classifier of this package, got {model!r}")
    model._check_learns_blocks()
    if model._class_weight is not None:
        raise ValueError(
            "class_weight must be None where mini-batches are learnt in blocks: all "
            f"rows of a block weigh the same, got {model._class_weight!r}"
        )
    own = getattr(model, "batch_size", None)
    if batch_size is None or batch_size == own:
        return None if own is None else check_integer("batch_size", own, 1)
    if hasattr(model, "batch_size"):
        raise ValueError(
            f"batch_size={batch_size!r} is not that of the model, {own!r}: set it there"
        )
    return check_integer("batch_size", batch_size, 1)


def begin_rows(
    model: StreamClassifier[Any],
    p: int,
    labels: ArrayLike,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Get a model ready to learn rows of p features with these labels.

    Parameters
    ----------
    model
        A new or a fitted one.
    p
        Number of features.
    labels
        All labels of the rows, each once or more often; the new ones become classes.
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


def _check_features(model: Any, p: int, names: Sequence[str] | None) -> None:
    """Refuse rows of other features than those that the model knows."""
    if p != model.n_features_in_:
        raise ValueError(
            f"the rows have {p} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )
    known = getattr(model, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        raise ValueError(
            f"the features are {list(names)}, but the model has learnt {list(known)}"
        )


def observe_rows(
    model: StreamClassifier[Any], X: NDArray[Any], numbers: IntArray
) -> list[BlockStatistics]:
    """Return what each block of checked rows, of classes with these numbers, teaches.

    The rows are blocks of one mini-batch, one after the other, neighbours or not; all
    are of `BLOCK_ROWS` rows but for the last. They are predicted together, since many
    rows are predicted faster than few.
    """
    labels = model._classify(model._state, X)
    return [
        model._observe_block(model._state, X[rows], numbers[rows], labels[rows])
        for rows in row_blocks(numbers.shape[0], BLOCK_ROWS)
    ]


def learn_statistics(
    model: StreamClassifier[Any], blocks: Sequence[BlockStatistics]
) -> None:
    """Learn a mini-batch from what its blocks, in order, teach."""
    model._state = model._learn_blocks(model._state, blocks)


def learn_rows(
    model: StreamClassifier[Any], X: NDArray[Any], numbers: IntArray
) -> IntArray:
    """Learn a mini-batch of checked rows in this process; return the predictions."""
    if not model._blocks_add_up(model._state):
        labels = model._classify(model._state, X)
        model._learn(model._state, X, numbers, _ONE, None)
        return labels
    blocks = observe_rows(model, X, numbers)
    learn_statistics(model, blocks)
    return np.concatenate([block.labels for block in blocks])


def learn_mini_batches(
    model: StreamClassifier[Any],
    X: Any,
    y: ArrayLike,
    batch_size: int | None = None,
    classes: ArrayLike | None = None,
) -> LabelArray:
    """Predict and learn rows by mini-batches, in blocks, in this process.

    Parameters
    ----------
    model
        `RPNBClassifier` with a `batch_size`, or `GaussianNB`.
    X : array-like of shape (n, p)
        Observations.
    y : array-like of shape (n,)
        Their labels.
    batch_size
        Rows of a mini-batch, for models without a parameter of this name; None is all.
    classes
        Classes that may be predicted from the first row on.

    Returns
    -------
    array of shape (n,)
        The predicted labels, each by the model before the row's mini-batch.
    """
    size = check_batch_size(model, batch_size)
    rows = check_rows(model, X, sparse=model._accepts_sparse)
    labels = as_labels(y)
    begin_rows(model, rows.shape[1], labels, classes)
    accept_rows(model, X, first=False)
    numbers = encode(labels, model.classes_, model._index)
    predicted = np.empty_like(numbers)
    for batch in row_blocks(numbers.shape[0], size or numbers.shape[0]):
        predicted[batch] = learn_rows(model, rows[batch], numbers[batch])
    return decode(predicted, model.classes_)


# Copies of a model for other processes


def model_to_bytes(model: Any) -> bytes:
    """Return the content of the model's file."""
    file = BytesIO()
    model.save(file)
    return file.getvalue()


def model_from_bytes(content: bytes, earlier: Any = None) -> Any:
    """Return the model that `model_to_bytes` made bytes of.

    If `earlier` is a model with the same parameters, what follows from them is taken
    from it rather than computed again.
    """
    with NamedTemporaryFile(suffix=".rpnb") as file:
        file.write(content)
        file.flush()
        return _model_from_file(file.name, earlier)


def _model_from_file(path: str, earlier: Any) -> Any:
    name = str(read_metadata(path)["estimator"])
    if name == FrozenRPNB.__name__:
        return FrozenRPNB.load(path)
    found = find_learner(name)
    assert found is not None  # noqa: S101 - the file was written by this package
    learner = found.estimator
    metadata, arrays = read_model(path)
    if (
        type(earlier) is not learner
        or earlier._parameters_to_json() != metadata["parameters"]
        or earlier.n_features_in_ != metadata["n_features_in"]
    ):
        return learner.load(path)
    classes = np.array(metadata["classes"], np.dtype(metadata["classes_dtype"]))
    earlier._set_classes(classes)
    M = classes.shape[0]
    earlier._state = earlier._reload_state(earlier._state, metadata["state"], arrays, M)
    earlier._set_thresholds = arrays.get(ENTRY)
    return earlier


class RowScores(NamedTuple):
    """Predictions of rows."""

    labels: LabelArray
    """(n,) the predicted labels"""
    scores: FloatArray
    """(n, M) of each class, the largest wins; the logarithms of the probabilities for
    learners that have no others"""
    probabilities: FloatArray
    """(n, M)"""


def score_rows(model: Any, X: Any) -> RowScores:
    """Return labels, scores and probabilities of rows, as the model's own methods do.

    The scores are computed once, where methods called one by one would do it twice.
    """
    labels = model.predict(X)
    if isinstance(model, FrozenRPNB):
        return RowScores(labels, model._scores(X), model.predict_proba(X))
    if isinstance(model, RPNBClassifier):
        scores = model._scores(model._rows_to_predict(X))
        return RowScores(labels, scores, np.exp(model._log_probabilities(scores)))
    logarithms: FloatArray = model.predict_log_proba(X)
    return RowScores(labels, logarithms, np.exp(logarithms))
