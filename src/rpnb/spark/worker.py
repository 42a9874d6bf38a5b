"""What runs on the executors: observing blocks of rows, and predicting rows.

Nothing here needs a Spark session.
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
from rpnb.estimators.stream.learner import BlockStatistics
from rpnb.spark.arrow_rows import (
    RowRules,
    Rows,
    as_lists,
    as_table,
    good_features,
    label_type,
)
from rpnb.spark.blocks import Fragment, join_fragments, row_blocks_of

#: What a model is kept under in a Python worker, which serves many tasks.
_models: dict[str, tuple[str, Any]] = {}

Pairs = Iterable[tuple[int, Fragment]]


def copy_of_model(key: str, version: str, content: Callable[[], bytes]) -> Any:
    """Return this process's copy of a model, made from its bytes if it is outdated.

    A Python worker serves many tasks: what follows from a model's parameters, such as
    its projections, is computed once. Models of other keys are forgotten.
    """
    known = _models.get(key)
    if known is None or known[0] != version:
        earlier = None if known is None else known[1]
        _models.clear()
        _models[key] = version, model_from_bytes(content(), earlier)
    return _models[key][1]


class ObservedBlock(NamedTuple):
    """What an executor sends back of a block."""

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
        Of the model: see `copy_of_model`.
    model
        The broadcast bytes.
    blocks
        The numbers of the mini-batch's blocks; a partition may hold others.
    counts
        See `row_blocks_of`.
    probabilities
        Whether those of the predictions are wanted.
    """

    def observe(pairs: Pairs) -> list[ObservedBlock]:
        # By number, so that a shorter one, the last of the mini-batch, comes last.
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
            # Numbers of classes are shorter to send so.
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

    It takes the features and returns a record with those of the fields prediction,
    probability and scores that are in `names`.

    Parameters
    ----------
    key
        Of the model.
    model
        The broadcast bytes.
    names
        Of the fields.
    rules
        What the features must be like.
    refusal
        The message if they are not; None if such rows get nulls.
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
    """Return predictions of rows; without `scores`, the labels only."""
    if not isinstance(table, np.ndarray) and not getattr(
        model, "_accepts_sparse", False
    ):
        table = table.toarray()
    with warnings.catch_warnings():
        # Columns were matched by name when the frame was read.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        if scores:
            return score_rows(model, table)
        return RowScores(model.predict(table), np.zeros((0, 0)), np.zeros((0, 0)))
