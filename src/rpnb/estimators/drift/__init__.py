"""Learners that notice drift: the wrapper, its state, its detectors."""
