"""Random and hostile input for everything that users and strangers can give to rpnb.

A target makes cases and runs them. A case is data (JSON), made from a seed, so that a
failing one can be written to a file and run again for ever after. Cases run in child
processes, which may not die, hang, take too much memory, let any exception but a
refusal out, leave a half-written file, or change a model that has refused.
"""
