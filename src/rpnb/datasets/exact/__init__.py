"""Datasets that a rule generates exactly as published."""
