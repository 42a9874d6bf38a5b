"""Rows whose features have names: numbered in order of first sight."""
