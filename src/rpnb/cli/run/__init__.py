"""`rpnb run` and `rpnb compare`: one pass over a file of labelled rows."""
