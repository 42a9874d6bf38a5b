"""Bars of wins, ties and losses, of means, and dots of deviations."""

import pytest

from rpnb.report.charts.bars import MeanBar, Outcomes, mean_bars, outcome_bars
from rpnb.report.charts.deviations import Deviation, deviation_chart
from rpnb.report.charts.drawing import Area, Dot, Drawing, Label, Line
from rpnb.report.charts.ranks import critical_difference_diagram, groups


def _areas(drawing: Drawing, role: str) -> list[Area]:
    return [
        m for m in drawing.marks if isinstance(m, Area) and m.role == role and m.tip
    ]


def _width(area: Area) -> float:
    xs = [x for x, _ in area.points]
    return max(xs) - min(xs)


def _texts(drawing: Drawing) -> list[str]:
    return [m.text for m in drawing.marks if isinstance(m, Label)]


def test_bars_are_as_long_as_their_counts() -> None:
    drawing = outcome_bars(
        "wins",
        "RPNB",
        [
            ("AROW", [Outcomes("ours", 24, 6, 3), Outcomes("paper", 20, 10, 3)]),
            ("PA", [Outcomes("ours", 33, 0, 0)]),
        ],
    )
    wins = [_width(area) for area in _areas(drawing, "win")]
    assert wins[0] / wins[2] == pytest.approx(24 / 33)
    assert wins[1] / wins[2] == pytest.approx(20 / 33)
    ties = [_width(area) for area in _areas(drawing, "tie")]
    losses = [_width(area) for area in _areas(drawing, "loss")]
    assert ties == pytest.approx([wins[2] * 6 / 33, wins[2] * 10 / 33])
    assert losses == pytest.approx([wins[2] * 3 / 33] * 2)
    assert {"24", "6", "3", "20", "10", "33"} <= set(_texts(drawing))
    assert {"RPNB wins", "RPNB loses"} <= set(_texts(drawing))


def test_the_parts_of_a_bar_follow_each_other() -> None:
    drawing = outcome_bars("wins", "RPNB", [("AROW", [Outcomes("ours", 2, 1, 1)])])
    parts = [_areas(drawing, role)[0] for role in ("win", "tie", "loss")]
    edges = [(part.points[0][0], part.points[1][0]) for part in parts]
    assert edges[0][1] == pytest.approx(edges[1][0])
    assert edges[1][1] == pytest.approx(edges[2][0])


def test_losses_are_hatched() -> None:
    def hatches(losses: int) -> int:
        bars = [Outcomes("ours", 20, 0, losses)]
        drawing = outcome_bars("wins", "RPNB", [("AROW", bars)])
        return sum(isinstance(m, Line) and m.role == "loss-line" for m in drawing.marks)

    assert hatches(10) > hatches(0)


def test_bars_of_updates_show_the_mean_the_spread_and_the_printed_value() -> None:
    amounts = [MeanBar("RPNB", 30.0, 2.0, 29.6), MeanBar("OGD", 240.0, 0.0, None)]
    drawing = mean_bars("updates", amounts, "updates", ["RPNB", "OGD"])
    rpnb, ogd = (
        next(a for a in drawing.marks if isinstance(a, Area) and a.role == role)
        for role in ("s0", "s1")
    )
    assert _width(rpnb) / _width(ogd) == pytest.approx(30 / 240)
    unit = _width(ogd) / 240
    whiskers = [m for m in drawing.marks if isinstance(m, Line) and m.width == 1.2]
    assert len(whiskers) == 3  # of the one with a spread: a line and its two ends
    (x0, _), (x1, _) = whiskers[0].points
    assert x1 - x0 == pytest.approx(4.0 * unit)
    texts = _texts(drawing)
    assert {"30.0", "240.0", "paper: 29.6"} <= set(texts)
    mark = next(m for m in drawing.marks if isinstance(m, Dot) and m.tip)
    start = rpnb.points[0][0]
    assert mark.x - start == pytest.approx(29.6 * unit)


def test_the_spread_of_the_longest_bar_is_not_cut_off() -> None:
    for deviation, printed in ((90.0, None), (1.0, 170.0)):
        amounts = [MeanBar("RPNB", 100.0, deviation, printed)]
        drawing = mean_bars("updates", amounts, "updates", ["RPNB"])
        lines = [m for m in drawing.marks if isinstance(m, Line)]
        axis = max(x for m in lines if m.role != "ink" for x, _ in m.points)
        assert max(x for m in lines if m.role == "ink" for x, _ in m.points) <= axis


def test_a_bar_of_nothing_is_drawn() -> None:
    drawing = mean_bars("updates", [MeanBar("PA", 0.0, 0.0, None)], "updates", ["PA"])
    assert "0.0" in _texts(drawing)


def _dots(drawing: Drawing) -> dict[str, Dot]:
    return {m.tip: m for m in drawing.marks if isinstance(m, Dot) and m.tip}


def test_a_dot_is_drawn_at_its_deviation() -> None:
    deviations = [Deviation("PA", "Iris", 1.5), Deviation("PA", "Zoo", -3.0)]
    dots = _dots(deviation_chart("z", deviations, ["PA"]))
    iris, zoo = dots["PA, Iris: +1.5"], dots["PA, Zoo: -3.0"]
    band = next(
        m
        for m in deviation_chart("z", deviations, ["PA"]).marks
        if isinstance(m, Area) and m.role == "band"
    )
    unit = _width(band) / 4.0  # from -2 to 2
    assert iris.x - zoo.x == pytest.approx(4.5 * unit)


def test_dots_do_not_cover_each_other() -> None:
    deviations = [Deviation("PA", f"set {i}", 0.01 * i) for i in range(6)]
    dots = list(_dots(deviation_chart("z", deviations, ["PA"])).values())
    for index, a in enumerate(dots):
        for b in dots[:index]:
            assert (a.x - b.x) ** 2 + (a.y - b.y) ** 2 > (1.9 * a.size) ** 2


def test_values_beyond_the_axis_are_drawn_at_its_end_and_named() -> None:
    drawing = deviation_chart("z", [Deviation("PA", "Iris", -40.0)], ["PA"])
    assert any("Iris" in text and "40" in text for text in _texts(drawing))
    (dot,) = _dots(drawing).values()
    assert 0.0 <= dot.x <= drawing.width


RANKS = {"AROW": 3.0, "RPNB": 1.5, "PA": 4.5, "OGD": 3.2}


def test_ranks_stand_on_their_line_and_groups_are_joined() -> None:
    drawing = critical_difference_diagram("ranks", RANKS, 1.0, list(RANKS))
    dots = {tip.split(":")[0]: dot.x for tip, dot in _dots(drawing).items()}
    unit = (dots["PA"] - dots["RPNB"]) / 3.0
    assert dots["AROW"] - dots["RPNB"] == pytest.approx(1.5 * unit)
    bars = [m for m in drawing.marks if isinstance(m, Line) and m.width == 4.0]
    assert len(bars) == 1
    (low, _), (high, _) = bars[0].points
    assert low <= dots["AROW"] < dots["OGD"] <= high
    assert high - low == pytest.approx(0.2 * unit + 8.0)
    assert any("critical difference 1.00" in text for text in _texts(drawing))
    assert {"1.50", "3.00", "3.20", "4.50"} <= set(_texts(drawing))


def test_groups_overlap_but_none_lies_in_another() -> None:
    ranks = [1.0, 1.5, 2.2, 2.6, 4.0]
    assert groups(ranks, 1.25) == [(1.0, 2.2), (1.5, 2.6)]
    assert groups(ranks, 0.1) == []
    assert groups(ranks, 9.0) == [(1.0, 4.0)]
    assert groups([1.0, 2.0], 1.0) == []  # a difference as large as the critical one


def test_the_critical_difference_is_drawn_to_scale() -> None:
    drawing = critical_difference_diagram("ranks", RANKS, 1.25, list(RANKS))
    dots = {tip.split(":")[0]: dot.x for tip, dot in _dots(drawing).items()}
    unit = (dots["PA"] - dots["RPNB"]) / 3.0
    level = [
        m.points
        for m in drawing.marks
        if isinstance(m, Line) and m.points[0][1] == m.points[-1][1] == 14.0
    ]
    ((low, _), (high, _)) = level[0]
    assert high - low == pytest.approx(1.25 * unit)


def test_two_methods_have_a_diagram() -> None:
    ranks = {"RPNB": 1.0, "PA": 2.0}
    drawing = critical_difference_diagram("ranks", ranks, 0.5, list(ranks))
    assert {"RPNB", "PA"} <= set(_texts(drawing))


def test_methods_of_equal_rank_are_in_the_order_of_their_names() -> None:
    ranks = {"PA": 1.5, "AROW": 1.5, "RPNB": 3.0}
    diagram = critical_difference_diagram("ranks", ranks, 0.5, [*ranks])
    names = [text for text in _texts(diagram) if text in ranks]
    assert names == ["AROW", "PA", "RPNB"]
