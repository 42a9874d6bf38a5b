"""What users hold: scikit-learn estimators over the core."""
