"""How each kind of learner is called for the rows of a stream."""
