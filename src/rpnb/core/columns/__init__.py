"""Columns that are not numeric: features from categories, text and dates."""
