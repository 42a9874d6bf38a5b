"""What a row costs by each kind of pass: the fitted numbers, and what they decide.

No label depends on them, so nothing but speed shows that one has slipped.
"""

import pytest

from rpnb.core.passes.costs import (
    column_cost,
    exact_score_cost,
    plain_cost,
    quadratic_cost,
    rebuild_cost,
    undecided_cost,
    update_cost,
)


def test_costs_are_as_fitted() -> None:
    p, F, M = 3, 1000, 2  # nine coefficients of a form
    found = {
        "columns": column_cost(p, F, M),
        "plain": plain_cost(p, F, M),
        "quadratic": quadratic_cost(p, M),
        "rebuild": rebuild_cost(p, F),
        "update": update_cost(p),
        "undecided": undecided_cost(p, F),
        "exact score": exact_score_cost(F),
    }
    assert found == pytest.approx(
        {
            "columns": 200 + 20 + 69 + 120,
            "plain": 500 + 600 + 2400,
            "quadratic": 8 + 16 + 4.5 + 1.08,
            "rebuild": 1000 + 234 + 45,
            "update": 1500 + 54,
            "undecided": 200 + 165 + 700,
            "exact score": 350,
        },
        rel=1e-12,
    )


def test_forms_pay_where_the_decision_says() -> None:
    """Ten times as fast with 3 features and few mistakes; not with 18 and many."""
    F = 1600
    assert column_cost(3, F, 2) > 10.0 * quadratic_cost(3, 2)
    mistake = 0.5 * rebuild_cost(18, F) + update_cost(18)
    assert quadratic_cost(18, 7) < column_cost(18, F, 7)
    assert quadratic_cost(18, 7) + 0.25 * mistake > column_cost(18, F, 7)
