"""Datasets that are generated exactly as published."""
