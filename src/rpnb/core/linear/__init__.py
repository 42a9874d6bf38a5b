"""Linear learners: their names, parameters and states; see ``cpp/linear``."""
