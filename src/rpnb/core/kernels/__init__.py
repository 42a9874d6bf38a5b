"""Shared by all learners: arrays, rows, elementary functions, scaling, threads."""
