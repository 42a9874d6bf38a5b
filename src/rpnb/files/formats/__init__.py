"""File formats, one per module: from bytes to batches of columns."""
