"""Learners that notice drift: see `DriftAware`. Needs River: `rpnb[river]`."""

from rpnb.estimators.drift.drift_aware import DriftAware

__all__ = ["DriftAware"]
