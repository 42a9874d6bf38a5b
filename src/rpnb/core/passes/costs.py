"""What a row costs by each kind of pass, estimated from its dimensions.

Nanoseconds on one core, fitted to measurements (`benchmarks/bench_quadratic.py`). Only
their ratios matter: they decide which pass is faster, never a label ([decision 7](
../../../docs/decisions/0007-choice-of-path.md)).
"""

from rpnb.core.passes.quadratic.record import n_terms


def column_cost(p: int, F: int, M: int) -> float:
    """Return the cost of a row in the screened pass: projection, then scores."""
    return 200.0 + 10.0 * M + 0.023 * p * F + 0.06 * M * F


def plain_cost(p: int, F: int, M: int) -> float:
    """Return the cost of a row in the plain pass, which is not made for speed."""
    return 500.0 + 0.2 * p * F + M * 1.2 * F


def quadratic_cost(p: int, M: int) -> float:
    """Return the cost of a row in the quadratic pass, if all forms are up to date."""
    return 8.0 + 8.0 * M + 1.5 * p + 0.06 * M * n_terms(p)


def rebuild_cost(p: int, F: int) -> float:
    """Return the cost of building one class's form and evaluating it for a step."""
    return (1.0 + 0.0195 * p * (p + 1)) * F + 5.0 * n_terms(p)


def update_cost(p: int) -> float:
    """Return the cost of updating the rest of a step after a class has learnt."""
    return 1500.0 + 6.0 * n_terms(p)


def undecided_cost(p: int, F: int) -> float:
    """Return the extra cost of a row that forms leave undecided between two classes."""
    return 200.0 + 0.055 * p * F + 2.0 * exact_score_cost(F)


def exact_score_cost(F: int) -> float:
    """Return the cost of computing one class's score in double precision."""
    return 0.35 * F
