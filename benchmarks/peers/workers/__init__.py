"""Scripts that the interpreters of other libraries run; see `serving`.

They import neither rpnb (but for its own) nor one another by this package's name: an
environment with River alone can run River's.
"""
