"""Named features: each name has a 64-bit number that depends on the name alone.

The number is 64 bits of BLAKE2b over a text that spells the name out. Two names have
the same text exactly if Python calls them equal, as keys of a dictionary: 1, 1.0 and
True are one name, 1 and "1" are two.
"""

from collections.abc import Hashable
from hashlib import blake2b
from numbers import Integral

import numpy as np


def feature_number(name: Hashable) -> int:
    """Return the number of a feature, 64 bits: a function of its name alone.

    Parameters
    ----------
    name : str, bytes, number, None, or tuple of these
        Name of the feature. Other hashable values have no fixed spelling and are
        refused.

    Examples
    --------
    >>> feature_number("age")
    15604021426596613679
    >>> feature_number(1) == feature_number(1.0) != feature_number("1")
    True
    """
    digest = blake2b(_spelled(name), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _spelled(name: Hashable) -> bytes:
    """Return bytes that are the same for two names exactly if the names are equal."""
    if isinstance(name, str):
        return b"s" + str.encode(name, "utf-8", "surrogatepass")
    if isinstance(name, bytes):
        return b"b" + name
    if name is None:
        return b"n"
    if isinstance(name, Integral | np.bool_):
        return b"i%d" % int(name)
    if isinstance(name, float | np.floating):
        number = float(name)
        if number.is_integer():
            return b"i%d" % int(number)
        return b"f" + number.hex().encode()
    if isinstance(name, tuple):
        parts = [_spelled(part) for part in name]
        # With their lengths, so that no two tuples are spelled alike.
        return b"t" + b"".join(b"%d:%b" % (len(part), part) for part in parts)
    raise TypeError(
        "the name of a feature must be text, a number, or a tuple of these, got "
        f"{name!r} of type {type(name).__name__}"
    )
