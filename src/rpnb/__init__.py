"""Online classification of streams by random projections and naive Bayes."""

__version__ = "0.1.0"
