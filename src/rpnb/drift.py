"""Drift detection: see `DriftAware`."""

from rpnb.estimators.drift.drift_aware import DriftAware

__all__ = ["DriftAware"]
