"""Probabilities learned online: a mixture of temperatures."""
