"""Baseline learners that RPNB is compared with, one family per file."""
