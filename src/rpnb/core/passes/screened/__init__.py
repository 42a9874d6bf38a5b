"""The screened pass: single-precision scores with error bounds decide most labels.

Only where the bounds of two classes overlap are double-precision scores computed, so
the labels are those of `core.passes.exact`.
"""
