"""The state of an RPNB model as one record; adding classes, copying and merging."""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from rpnb.core.bayes.combining import COMBINERS, Combiner
from rpnb.core.bayes.densities import Gaussians, Prior, empty_gaussians, refresh
from rpnb.core.bayes.moments import Moments, empty_moments, fade, merge, unmerge
from rpnb.core.bayes.state import ClassState, KernelState, set_bias_from_counts
from rpnb.core.calibration.cells import no_cells
from rpnb.core.calibration.mixture import (
    Calibration,
    copy_calibration,
    merge_calibrations,
)
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.running_scale import (
    RunningScale,
    copy_scale,
    fade_scale,
    merge_scales,
)
from rpnb.core.projection.record import Projection


@dataclass(slots=True)
class Model:
    """Everything that prediction and learning need. Classes are numbered 0 … M−1."""

    projection: Projection
    rule: Combiner
    prior: Prior
    moments: Moments
    gaussians: Gaussians
    classes: ClassState
    keep: float = 1.0
    """γ: how much of the past is left after a row of weight one; 1 forgets nothing"""
    n_seen: int = 0
    """rows seen"""
    n_updates: int = 0
    """rows that changed the moments"""
    memo: FloatArray | None = None
    """the last single row with its projection and prediction; see `passes.exact`"""
    calibration: Calibration | None = None
    """what turns scores into probabilities; None where it is not learnt"""
    scale: RunningScale | None = None
    """what rows are scaled by before they come here; None if they are not"""

    @property
    def M(self) -> int:
        """Number of classes."""
        return self.moments.weight.shape[0]

    @property
    def F(self) -> int:
        """Number of columns."""
        return self.projection.R.shape[1]

    @property
    def rule_number(self) -> int:
        """The combining rule's number in `COMBINERS`, as kernels take it."""
        return COMBINERS.index(self.rule)

    def kernel_state(self, *, projected: bool = False) -> KernelState:
        """Return the record that kernels read and write; it shares the model's arrays.

        With `projected`, it is for rows that are projected already.
        """
        R = self.projection.R
        return KernelState(
            R[:0] if projected else R,
            1.0 / sqrt(self.projection.q),
            self.prior,
            self.moments,
            self.gaussians,
            self.classes,
            self.keep,
            no_cells(self.M),
        )


def new_model(
    projection: Projection,
    rule: Combiner,
    prior: Prior,
    prior_from_counts: bool,
    keep: float = 1.0,
) -> Model:
    """Return a model that knows no class yet."""
    F = projection.R.shape[1]
    count_factor = float(projection.K) if prior_from_counts else 0.0
    return Model(
        projection,
        rule,
        prior,
        empty_moments(0, F),
        empty_gaussians(0, F),
        ClassState(np.zeros(0, np.bool_), np.zeros(0), np.zeros(0), count_factor),
        keep,
    )


def arrange_classes(model: Model, source: IntArray) -> Model:
    """Return the model with classes in a new order, some added, some left out.

    Class m of the result is class source[m] of `model`, or new where that is −1: with
    the prior's density, and not yet eligible. `model` itself is not changed.
    """
    M = source.shape[0]
    old = source >= 0
    came_from = source[old]
    moments = empty_moments(M, model.F)
    gaussians = empty_gaussians(M, model.F)
    classes = ClassState(
        np.zeros(M, np.bool_), np.zeros(M), np.zeros(M), model.classes.count_factor
    )
    for fresh, present in (
        *zip(moments, model.moments, strict=True),
        *zip(gaussians, model.gaussians, strict=True),
        *zip(classes[:3], model.classes[:3], strict=True),
    ):
        fresh[old] = present[came_from]
    # New classes are alike.
    new = np.flatnonzero(~old)
    if new.shape[0] > 0:
        refresh(gaussians, int(new[0]), moments, model.prior)
        for field in gaussians:
            field[new[1:]] = field[new[0]]
    calibration = model.calibration
    if calibration is not None:
        calibration = copy_calibration(calibration)
    return replace(
        model,
        moments=moments,
        gaussians=gaussians,
        classes=classes,
        memo=None,
        calibration=calibration,
        scale=None if model.scale is None else copy_scale(model.scale),
    )


def copy_model(model: Model) -> Model:
    """Return an independent copy; the projection, which never changes, is shared."""
    return arrange_classes(model, np.arange(model.M))


def refresh_all(model: Model) -> None:
    """Derive the densities of all classes, and the prior where it follows counts."""
    for m in range(model.M):
        refresh(model.gaussians, m, model.moments, model.prior)
    if model.classes.count_factor > 0.0:
        set_bias_from_counts(model.classes)


def fade_all(model: Model, factor: float) -> None:
    """Multiply the weight of all that has been learnt and counted by `factor`."""
    for m in range(model.M):
        fade(model.moments, m, factor, 1.0)
    model.classes.seen[:] *= factor
    model.memo = None
    if model.scale is not None:
        fade_scale(model.scale, factor)
    refresh_all(model)


def may_continue(model: Model, base: Model) -> bool:
    """Whether `model` may result from `base` by learning: no count is smaller."""
    return (
        model.n_seen >= base.n_seen
        and model.n_updates >= base.n_updates
        and bool((model.moments.weight >= base.moments.weight).all())
        and bool((model.classes.seen >= base.classes.seen).all())
    )


def merge_statistics(model: Model, other: Model, base: Model | None) -> None:
    """Add to `model` what `other` has learnt since `base`, class by class.

    The three have the same classes in the same order. Without a base, all that `other`
    has learnt is added.
    """
    for m in range(model.M):
        if base is None:
            merge(model.moments, m, other.moments, m)
        else:
            learnt = Moments(*(part[m : m + 1].copy() for part in other.moments))
            unmerge(learnt, 0, base.moments, m)
            merge(model.moments, m, learnt, 0)
    earlier = 0.0 if base is None else base.classes.seen
    model.classes.seen[:] += other.classes.seen - earlier
    model.classes.eligible[:] |= other.classes.eligible
    if model.calibration is not None and other.calibration is not None:
        model.calibration = merge_calibrations(
            model.calibration,
            other.calibration,
            None if base is None else base.calibration,
        )
    model.n_seen += other.n_seen - (0 if base is None else base.n_seen)
    model.n_updates += other.n_updates - (0 if base is None else base.n_updates)
    if model.scale is not None and other.scale is not None:
        earlier_scale = None if base is None else base.scale
        model.scale = merge_scales(model.scale, other.scale, earlier_scale)
    refresh_all(model)
