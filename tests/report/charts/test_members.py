"""Panels of the members of a pool."""

import numpy as np
import pytest

from rpnb.core.pooled.model import MEMBERS
from rpnb.estimators.pooled_parts import MemberHistory
from rpnb.report.charts.drawing import Dot, Label, Line
from rpnb.report.charts.members import member_panels

NAMES = [f"member_{i}" for i in range(8)]


@pytest.mark.parametrize("n", [1, 7, 100])
def test_each_member_has_a_line_in_both_panels_of_the_same_style(n: int) -> None:
    rng = np.random.default_rng(0)
    rows = np.cumsum(rng.integers(1, 50, n))
    weights = {name: rng.random(n) for name in NAMES}
    errors = {name: rng.random(n) for name in [*NAMES, "pool"]}
    panels = member_panels(MemberHistory(rows, weights, errors))
    styles = []
    for panel, lines in zip(panels, (weights, errors), strict=True):
        names = [mark.text for mark in panel.marks if isinstance(mark, Label)]
        assert set(lines) <= set(names)
        tips = {
            mark.tip.split(":")[0]: (mark.shape, mark.role)
            for mark in panel.marks
            if isinstance(mark, Dot) and mark.tip
        }
        assert set(tips) == set(lines)
        assert len({role for _, role in tips.values()}) == len(lines)
        styles.append(tips)
        assert sum(isinstance(mark, Line) and mark.width > 1.1 for mark in panel.marks)
    assert styles[0].items() <= styles[1].items()


def test_errors_of_parts_count_all_rows() -> None:
    rows = np.arange(10, 1010, 10)
    wrong = np.zeros(100)
    wrong[-3:] = 1.0  # of the last three entries all rows are wrong
    errors = {"a": wrong, "pool": 1.0 - wrong}
    history = MemberHistory(rows, {"a": wrong}, errors)
    shown = member_panels(history)[1]
    tips = [mark.tip for mark in shown.marks if isinstance(mark, Dot) and mark.tip]
    assert tips == ["pool: 0 at the end of the stream", "a: 1 at the end of the stream"]


def test_the_pool_and_all_of_its_members_look_different() -> None:
    names = [output for module in MEMBERS.values() for output in module.OUTPUTS]
    rows, values = np.array([100, 200]), np.array([0.2, 0.3])
    errors = dict.fromkeys([*names, "pool"], values)
    panel = member_panels(MemberHistory(rows, dict.fromkeys(names, values), errors))[1]
    lines = {(mark.role, mark.dash) for mark in panel.marks if isinstance(mark, Line)}
    assert len(lines - {("grid", ()), ("muted", ()), ("axis", ())}) == len(names) + 1
