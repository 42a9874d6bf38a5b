"""Probabilities learnt along the stream: a mixture of temperatures."""
