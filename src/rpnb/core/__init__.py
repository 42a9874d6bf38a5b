"""Arithmetic on arrays: NumPy, SciPy and Numba only, and no classes but records."""
