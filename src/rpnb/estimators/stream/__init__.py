"""The common part of all stream classifiers: input checks, labels, state."""
