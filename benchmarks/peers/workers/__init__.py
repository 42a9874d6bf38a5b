"""Scripts that the interpreters of other libraries run; see `serving`.

They import neither rpnb (except rpnb's own) nor each other by this package's name: an
environment with only River can run River's.
"""
