"""Conversion of columns to features and labels, in chunks."""
