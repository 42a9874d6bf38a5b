"""The trees of the window forest: their state, their leaves, and how they grow."""
