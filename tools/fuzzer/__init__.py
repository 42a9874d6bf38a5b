"""A fuzzer: random and hostile input for everything that rpnb reads.

A target generates cases and runs them. A case is JSON, generated from a seed, so that a
failing one can be saved and run again as a test. Cases run in child processes, which
must not die, hang, take too much memory, raise any exception but a refusal, leave a
half-written file, or change a model that refuses its input.
"""
