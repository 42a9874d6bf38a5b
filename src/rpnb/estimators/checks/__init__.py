"""Checking parameters, rows, labels and weights before anything is changed."""
