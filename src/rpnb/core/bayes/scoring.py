"""The score of a class for a projected observation: equations (5) and (6).

The formulas are in ``cpp/rpnb/scoring.h``.
"""

from rpnb._core.bayes import best_class, score

__all__ = ["best_class", "score"]
