"""Panels of the members of a pool."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rpnb.estimators.pooled import MemberHistory
from rpnb.report.charts.drawing import Area, Line
from rpnb.report.charts.members import PARTS, member_panel, member_panels

NAMES = [f"member_{i}" for i in range(8)]


@pytest.mark.parametrize("n", [1, 7, 100])
def test_each_member_has_a_panel_the_heaviest_first(n: int) -> None:
    rng = np.random.default_rng(0)
    rows = np.cumsum(rng.integers(1, 50, n))
    weights = {name: rng.random(n) for name in NAMES}
    errors = {name: rng.random(n) for name in [*NAMES, "pool"]}
    panels = member_panels(MemberHistory(rows, weights, errors))
    assert sorted(panel.name for panel in panels) == NAMES
    last = [panel.weight[-1] for panel in panels]
    assert last == sorted(last, reverse=True)
    assert len({(panel.low, panel.high, panel.heaviest) for panel in panels}) == 1
    for panel in panels:
        assert panel.rows[-1] == rows[-1]
        assert panel.rows.shape[0] <= PARTS
        assert panel.weight[-1] == weights[panel.name][-1]
        marks = member_panel(panel).marks
        assert sum(isinstance(mark, Area) for mark in marks) == 1
        if n > 1:
            assert {"s1", "other"} <= {m.role for m in marks if isinstance(m, Line)}


def test_errors_of_parts_count_all_rows() -> None:
    rows = np.arange(10, 1010, 10)
    wrong = np.zeros(100)
    wrong[-3:] = 1.0  # of the last three entries all rows are wrong
    errors = {"a": wrong, "pool": 1.0 - wrong}
    (panel,) = member_panels(MemberHistory(rows, {"a": wrong}, errors))
    parts = np.diff(panel.rows, prepend=0.0)
    assert_allclose((panel.error * parts).sum(), 30.0)
    assert_allclose((panel.pool * parts).sum(), 970.0)
    assert panel.error[-1] == 1.0
