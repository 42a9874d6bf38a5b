"""Rules that combine the K members' posteriors: Kittler, Hatef, Duin & Matas (1998).

The formulas are in ``cpp/rpnb/combining.h``.
"""

from typing import Final, Literal, TypeAlias, get_args

from rpnb._core.bayes import best_combined, combine, member_log_posteriors

__all__ = [
    "COMBINERS",
    "Combiner",
    "best_combined",
    "combine",
    "member_log_posteriors",
]

Combiner: TypeAlias = Literal[
    "log_sum", "sum", "product", "vote", "max", "min", "median"
]
COMBINERS: Final[tuple[Combiner, ...]] = get_args(Combiner)
