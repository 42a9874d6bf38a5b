"""Rows a part at a time, so that no call turns all of them to double precision."""

_BLOCK = 4096


def blocks(n: int) -> list[slice]:
    """Return n rows cut into blocks."""
    return [slice(start, start + _BLOCK) for start in range(0, n, _BLOCK)]
