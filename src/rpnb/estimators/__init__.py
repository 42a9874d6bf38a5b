"""Scikit-learn estimators over the core."""
