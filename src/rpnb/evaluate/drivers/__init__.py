"""How each kind of learner is called along a stream."""
