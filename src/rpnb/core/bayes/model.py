"""The state of an RPNB model as one object; adding classes, copying and merging."""

from math import sqrt
from typing import Any

import numpy as np

from rpnb._core.bayes import Model as CoreModel
from rpnb.core.bayes.statistics import (
    COMBINERS,
    ClassState,
    Combiner,
    Gaussians,
    Moments,
    Prior,
    empty_gaussians,
    empty_moments,
    fade,
    merge,
    refresh,
    set_bias_from_counts,
    unmerge,
)
from rpnb.core.calibration import (
    Calibration,
    copy_calibration,
    merge_calibrations,
)
from rpnb.core.kernels.arrays import IntArray
from rpnb.core.kernels.running_scale import (
    RunningScale,
    copy_scale,
    fade_scale,
    merge_scales,
)
from rpnb.core.projection.record import Projection


class Model(CoreModel):
    """Everything that prediction and learning need. Classes are numbered 0 … M−1.

    The compiled base class owns the arrays, as records that share their memory with
    NumPy: `moments`, `gaussians`, `classes`, and `calibration`, None where
    probabilities are not learned. It also has the counts `n_seen` of rows seen and
    `n_updates` of rows that changed the moments; `keep`, the share of the past that is
    left after a row of weight 1; and `count_factor`, K where the class prior follows
    the counts of rows and 0 where it is fixed.
    """

    def __init__(
        self,
        projection: Projection,
        rule: Combiner,
        prior: Prior,
        moments: Moments,
        gaussians: Gaussians,
        classes: ClassState,
        *,
        keep: float = 1.0,
        count_factor: float = 0.0,
        n_seen: int = 0,
        n_updates: int = 0,
        calibration: Calibration | None = None,
        scale: RunningScale | None = None,
    ) -> None:
        number = COMBINERS.index(rule)
        super().__init__(
            projection.K, number, prior, keep, count_factor, moments, gaussians, classes
        )
        self.prior = prior
        self.projection = projection
        self.n_seen = n_seen
        self.n_updates = n_updates
        self.calibration = calibration
        self.scale = scale
        """the scale that was applied to the rows; None if they are not scaled"""

    @property
    def projection(self) -> Projection:
        """The K random projections; assign others if the features change."""
        return self._projection

    @projection.setter
    def projection(self, projection: Projection) -> None:
        scale = 1.0 / sqrt(projection.q)
        self._set_projection(projection.R, scale, projection.max_column_norm)
        self._projection = projection

    @property
    def rule(self) -> Combiner:
        """The combining rule."""
        return COMBINERS[self.rule_number]

    @rule.setter
    def rule(self, rule: Combiner) -> None:
        self.rule_number = COMBINERS.index(rule)

    def with_classes(
        self, moments: Moments, gaussians: Gaussians, classes: ClassState
    ) -> "Model":
        """Return a copy that has these records, and shares the projection."""
        calibration, scale = self.calibration, self.scale
        return Model(
            self.projection,
            self.rule,
            self.prior,
            moments,
            gaussians,
            classes,
            keep=self.keep,
            count_factor=self.count_factor,
            n_seen=self.n_seen,
            n_updates=self.n_updates,
            calibration=None if calibration is None else copy_calibration(calibration),
            scale=None if scale is None else copy_scale(scale),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy everything but the cache of the last row."""
        records = self.moments, self.gaussians, self.classes
        names = "keep", "count_factor", "n_seen", "n_updates", "calibration", "scale"
        numbers = {name: getattr(self, name) for name in names}
        return _restore, (self.projection, self.rule, self.prior, records, numbers)


def _restore(
    projection: Projection,
    rule: Combiner,
    prior: Prior,
    records: tuple[Moments, Gaussians, ClassState],
    numbers: dict[str, Any],
) -> Model:
    """Return the model that was pickled."""
    return Model(projection, rule, prior, *records, **numbers)


def new_model(
    projection: Projection,
    rule: Combiner,
    prior: Prior,
    prior_from_counts: bool,
    keep: float = 1.0,
) -> Model:
    """Return a model without classes."""
    F = projection.R.shape[1]
    return Model(
        projection,
        rule,
        prior,
        empty_moments(0, F),
        empty_gaussians(0, F),
        _empty_classes(0),
        keep=keep,
        count_factor=float(projection.K) if prior_from_counts else 0.0,
    )


def _empty_classes(M: int) -> ClassState:
    return ClassState(np.zeros(M, np.bool_), np.zeros(M), np.zeros(M))


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
    classes = _empty_classes(M)
    for fresh, present in (
        *zip(moments, model.moments, strict=True),
        *zip(gaussians, model.gaussians, strict=True),
        *zip(classes, model.classes, strict=True),
    ):
        fresh[old] = present[came_from]
    # All new classes have the same density: derive it once.
    new = np.flatnonzero(~old)
    if new.shape[0] > 0:
        refresh(gaussians, int(new[0]), moments, model.prior)
        for field in gaussians:
            field[new[1:]] = field[new[0]]
    return model.with_classes(moments, gaussians, classes)


def copy_model(model: Model) -> Model:
    """Return an independent copy; the projection, which never changes, is shared."""
    return arrange_classes(model, np.arange(model.M))


def refresh_all(model: Model) -> None:
    """Derive the densities of all classes, and the prior where it follows counts."""
    for m in range(model.M):
        refresh(model.gaussians, m, model.moments, model.prior)
    if model.count_factor > 0.0:
        set_bias_from_counts(model.classes, model.count_factor)


def fade_all(model: Model, factor: float) -> None:
    """Multiply the weight of everything learned and counted so far by `factor`."""
    for m in range(model.M):
        fade(model.moments, m, factor, 1.0)
    model.classes.seen[:] *= factor
    model.forget_row()
    if model.scale is not None:
        fade_scale(model.scale, factor)
    refresh_all(model)


def may_continue(model: Model, base: Model) -> bool:
    """Whether `model` may be `base` after more rows: no count is smaller."""
    return (
        model.n_seen >= base.n_seen
        and model.n_updates >= base.n_updates
        and bool((model.moments.weight >= base.moments.weight).all())
        and bool((model.classes.seen >= base.classes.seen).all())
    )


def merge_statistics(model: Model, other: Model, base: Model | None) -> None:
    """Add what `other` has learned since `base` to `model`, class by class.

    All three have the same classes in the same order. Without a base, everything that
    `other` has learned is added.
    """
    for m in range(model.M):
        if base is None:
            merge(model.moments, m, other.moments, m)
        else:
            learned = Moments(*(part[m : m + 1].copy() for part in other.moments))
            unmerge(learned, 0, base.moments, m)
            merge(model.moments, m, learned, 0)
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
