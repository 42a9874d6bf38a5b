"""Merging models of parts of a stream, exactly, by Theorem 1 of the paper."""

from typing import Any, NamedTuple

import numpy as np

from rpnb.core.bayes.model import Model, arrange_classes, may_continue, merge_statistics
from rpnb.core.kernels.arrays import IntArray
from rpnb.estimators.checks.labels import LabelArray, join_classes
from rpnb.labels import LabelIndex


class MergeInput(NamedTuple):
    """A model that others are merged with."""

    name: str
    """name of the model in messages"""
    state: Model
    classes: LabelArray
    feature_names: Any
    forgetting: float | None


def merge_models(
    mine: MergeInput, other: MergeInput, base: MergeInput | None = None
) -> tuple[Model, LabelArray]:
    """Return the merged model and its classes, counting rows of the base once.

    The parts are not changed. The caller sets the class prior.
    """
    parts = [mine, other] if base is None else [mine, other, base]
    for part in parts:
        _check_alike(mine, part)
        if base is not None and part.state.keep < 1.0:
            raise ValueError(
                f"{part.name} has forgetting={part.forgetting!r}, so it is unknown how "
                "much of base it still holds: merge without base, or models with "
                "forgetting=None"
            )
    classes = mine.classes
    for part in parts[1:]:
        classes = join_classes(classes, part.classes, "the other model")
    states = [_with_classes(part, classes) for part in parts]
    origin = None if base is None else states[2]
    for part, state in zip(parts[:2], states[:2], strict=True):
        if origin is not None and not may_continue(state, origin):
            raise ValueError(
                f"{part.name} holds less than base in some class: base must be the "
                "common state from which both continued to learn"
            )
    merge_statistics(states[0], states[1], origin)
    return states[0], classes


def merged_counts(models: list[Any], classes: LabelArray) -> IntArray | None:
    """Return the rows of each class seen by two models, counting those of a base once.

    Returns None if no class weights depend on them.
    """
    counts = [_counts_of(model, classes) for model in models]
    known = [each for each in counts if each is not None]
    if len(known) < len(models):
        return None
    mine, other, *base = known
    return mine + other - base[0] if base else mine + other


def _counts_of(model: Any, classes: LabelArray) -> IntArray | None:
    if model._class_counts is None:
        return None
    counts = np.zeros(classes.shape[0], np.int64)
    index = LabelIndex(classes.tolist())
    counts[index.find_all(model.classes_.tolist())] = model._class_counts
    return counts


def _check_alike(mine: MergeInput, part: MergeInput) -> None:
    """Refuse a model with other projections, feature names or prior."""
    if not mine.state.projection.same_as(part.state.projection):
        raise ValueError(
            f"{part.name} has different projections: merging needs equal n_estimators, "
            "n_components, projection, number of features and random_state"
        )
    if not np.array_equal(mine.feature_names, part.feature_names):
        raise ValueError(
            f"{part.name} has different feature names: {part.feature_names}, not "
            f"{mine.feature_names}"
        )
    scaled, its = mine.state.scale, part.state.scale
    if (scaled is None) != (its is None):
        raise ValueError(
            f"{part.name} and this model must both have scale='running', or neither"
        )
    if scaled is not None and its is not None and (scaled.centred[0] != its.centred[0]):
        raise ValueError(
            f"{part.name} scales rows differently: one model has learned sparse rows "
            "first, which are not centred, the other dense ones"
        )
    if mine.state.prior != part.state.prior:
        raise ValueError(
            f"{part.name} has a different prior: {part.state.prior}, not "
            f"{mine.state.prior}"
        )


def _with_classes(part: MergeInput, classes: LabelArray) -> Model:
    """Return a copy of the state with the classes in this order."""
    source = LabelIndex(part.classes.tolist()).find_all(classes.tolist())
    return arrange_classes(part.state, source)
