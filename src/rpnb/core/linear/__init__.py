"""Linear learners: the algorithms' steps and the pass over a block of rows."""
