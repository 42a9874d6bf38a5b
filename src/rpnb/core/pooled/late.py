"""Labels that come late: rows that members behind have not learned yet. See late.h."""

from rpnb._core.pooled import Pending

__all__ = ["Pending", "block_rows"]


def block_rows(delay: int) -> int:
    """Return g, the rows that the members behind learn at once."""
    return Pending.block_rows(delay)
