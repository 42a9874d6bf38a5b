"""Naive Bayes on projected rows: moments, densities, scores, and the model's state."""
