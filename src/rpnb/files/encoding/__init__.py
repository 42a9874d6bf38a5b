"""From columns to feature rows and labels, in chunks."""
