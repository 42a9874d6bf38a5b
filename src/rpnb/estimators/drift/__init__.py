"""Drift detection: the wrapper `DriftAware`, its state and its detectors."""
