"""Blocks of rows, so that no call converts all of them to double precision at once."""

_BLOCK = 4096


def blocks(n: int) -> list[slice]:
    """Return the slices that cut n rows into blocks."""
    return [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]
