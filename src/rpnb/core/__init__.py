"""Arithmetic on arrays: NumPy, SciPy and the compiled core only."""
