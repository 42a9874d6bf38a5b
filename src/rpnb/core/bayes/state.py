"""What is learned from a row, and the state of the classes."""

from rpnb._core.bayes import ClassState, set_bias_from_counts

__all__ = [
    "LEARN_ALL",
    "LEARN_MISTAKES",
    "LEARN_NOTHING",
    "ClassState",
    "set_bias_from_counts",
]

# What is learned from a row after its prediction.
LEARN_NOTHING = 0
LEARN_MISTAKES = 1
LEARN_ALL = 2
