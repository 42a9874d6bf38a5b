"""One file format per module: bytes to batches of columns."""
