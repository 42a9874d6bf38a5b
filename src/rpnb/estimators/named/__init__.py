"""Rows as mappings from feature names to values."""
