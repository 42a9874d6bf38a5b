"""Probabilities learned along the stream: a mixture of temperatures."""
