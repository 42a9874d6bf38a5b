"""Functions for the executors, which observe blocks of rows and predict rows.

They need no Spark session.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.mini_batches import (
    RowScores,
    model_from_bytes,
    observe_rows,
    score_rows,
)
from rpnb.estimators.protocol import BlockStatistics, accepts_sparse
from rpnb.spark.arrow_rows import (
    RowRules,
    Rows,
    as_lists,
    as_table,
    good_features,
    label_type,
)
from rpnb.spark.blocks import Fragment, join_fragments, row_blocks_of

# Version and copy of a model by its key, kept by a Python worker between tasks.
_models: dict[str, tuple[str, Any]] = {}

Pairs = Iterable[tuple[int, Fragment]]


def copy_of_model(key: str, version: str, content: Callable[[], bytes]) -> Any:
    """Return this process's copy of a model, loaded from bytes if it is outdated.

    A Python worker runs many tasks, so values that follow from a model's parameters,
    such as its projections, are computed once. Models with other keys are dropped.
    """
    known = _models.get(key)
    if known is None or known[0] != version:
        earlier = None if known is None else known[1]
        _models.clear()
        _models[key] = version, model_from_bytes(content(), earlier)
    return _models[key][1]


class ObservedBlock(NamedTuple):
    """Statistics of a block, sent back by an executor."""

    block: int
    statistics: BlockStatistics


def observer(
    key: str,
    version: str,
    model: Any,
    blocks: range,
    counts: Mapping[int, IntArray] | None = None,
    probabilities: bool = False,
) -> Callable[[Pairs], list[ObservedBlock]]:
    """Return a function for `runJob` that observes the blocks of one mini-batch.

    Parameters
    ----------
    key, version
        Key and version of the model: see `copy_of_model`.
    model
        Broadcast bytes of the model.
    blocks
        Numbers of the mini-batch's blocks; a partition may hold others.
    counts
        Rows of each class before each block: see `row_blocks_of`.
    probabilities
        Whether to return the probabilities of the predictions.
    """

    def observe(pairs: Pairs) -> list[ObservedBlock]:
        # Sorted by number, so that the last block, which may be shorter, comes last.
        parts = join_fragments(pairs, blocks)
        if not parts:
            return []
        copy = copy_of_model(key, version, lambda: bytes(model.value))
        statistics = observe_rows(
            copy,
            row_blocks_of(parts, blocks.start, counts),
            probabilities=probabilities,
        )
        return [
            # int32 halves the size of the class numbers to send.
            ObservedBlock(
                part.block,
                each._replace(
                    y=each.y.astype(np.int32), labels=each.labels.astype(np.int32)
                ),
            )
            for part, each in zip(parts, statistics, strict=True)
        ]

    return observe


def fetch(pairs: Pairs) -> list[tuple[int, Fragment]]:
    """Return all rows of a partition, for `runJob`."""
    return list(pairs)


def predictor(
    key: str, model: Any, names: tuple[str, ...], rules: RowRules, refusal: str | None
) -> Callable[[pa.Array], pa.Array]:
    """Return a function for `arrow_udf` that predicts rows.

    It takes the features and returns a record with the fields in `names`.

    Parameters
    ----------
    key
        Key of the model.
    model
        Broadcast bytes of the model.
    names
        Some of "prediction", "probability" and "scores".
    rules
        Rules for the features.
    refusal
        Message of the error for bad rows; None if they get nulls.
    """

    def predict(features: pa.Array) -> pa.Array:
        copy = copy_of_model(key, key, lambda: bytes(model.value))
        M = copy.classes_.shape[0]
        fine = good_features(features, rules)
        if refusal is not None and not fine.all():
            raise ValueError(refusal)
        chosen = features.filter(pa.array(fine))
        scored = RowScores(copy.classes_[:0], np.zeros((0, M)), np.zeros((0, M)))
        if len(chosen) > 0:
            scored = _score(copy, as_table(chosen, rules.p), names != ("prediction",))
        place = np.full(fine.shape[0], -1)
        place[fine] = np.arange(len(chosen))
        taken = pa.array(place, mask=~fine)
        values = {
            "prediction": lambda: pa.array(
                scored.labels.tolist(), label_type(copy.classes_)
            ),
            "probability": lambda: as_lists(scored.probabilities),
            "scores": lambda: as_lists(scored.scores),
        }
        fields = [values[name]().take(taken) for name in names]
        return pa.StructArray.from_arrays(fields, list(names))

    return predict


def _score(model: Any, table: Rows, scores: bool) -> RowScores:
    """Return predictions of rows; without `scores`, only their labels."""
    if not isinstance(table, np.ndarray) and not accepts_sparse(model):
        table = table.toarray()
    with warnings.catch_warnings():
        # Columns were matched by name when the frame was read.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if scores:
            return score_rows(model, table)
        return RowScores(model.predict(table), np.zeros((0, 0)), np.zeros((0, 0)))
