"""Types of numeric options; errors name the rule."""

import argparse


def positive(text: str) -> int:
    """Return a whole number of at least 1."""
    value = natural(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return value


def natural(text: str) -> int:
    """Return a whole number of at least 0."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}")
    return value
