"""The state of the window forest and its sizes."""
