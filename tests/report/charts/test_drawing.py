"""Places of labels, ticks and numbers of axes."""

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rpnb.report.charts.drawing import (
    CORNERS,
    Area,
    Dot,
    Drawing,
    Label,
    Line,
    Scale,
    beside,
    box,
    ceiling,
    hatch,
    number,
    simplify,
    spread,
    ticks,
)
from rpnb.report.charts.palette import COLOURS, style
from rpnb.report.charts.svg import inline, standalone

places = st.lists(st.floats(0, 200), max_size=9)


@given(places, st.floats(1, 20))
def test_spread_places_keep_their_gap_and_order(there: list[float], gap: float) -> None:
    moved = spread(there, gap, 0.0, 200.0)
    order = sorted(range(len(there)), key=lambda index: there[index])
    steps = [moved[b] - moved[a] for a, b in pairwise(order)]
    assert all(step >= gap - 1e-6 for step in steps)


def test_places_far_enough_apart_stay() -> None:
    assert spread([50.0, 10.0, 30.0], 14.0, 0.0, 100.0) == [50.0, 10.0, 30.0]


def test_spread_places_stay_within_their_bounds() -> None:
    assert spread([99.0, 99.5, 100.0], 10.0, 0.0, 100.0) == [80.0, 90.0, 100.0]
    assert spread([0.0, 0.5, 1.0], 10.0, 0.0, 100.0) == [0.0, 10.0, 20.0]


@given(st.floats(1e-6, 1e6))
def test_ticks_are_round_and_reach_the_ceiling(value: float) -> None:
    high = ceiling(value)
    marks = ticks(0.0, high)
    assert high >= value * (1 - 1e-9)
    assert 2 <= len(marks) <= 12
    step = marks[1] - marks[0]
    lead = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(lead - m) for m in (1, 2, 2.5, 5, 10)) < 1e-3


@pytest.mark.parametrize(
    ("value", "end"), [(0.87, 1.0), (0.23, 0.25), (647.0, 800.0), (1000.0, 1000.0)]
)
def test_an_axis_ends_at_a_round_number(value: float, end: float) -> None:
    assert ceiling(value) == end
    assert ticks(0.0, end)[-1] == end


def test_an_empty_range_has_one_tick() -> None:
    assert ticks(3.0, 3.0) == (3.0,)
    assert ceiling(0.0) == 1.0


def test_numbers_on_axes_are_short() -> None:
    assert number(245057.0) == "245,057"
    assert number(0.25) == "0.25"
    assert number(0.0) == "0"


def test_a_scale_and_its_inverse() -> None:
    scale = Scale(0.0, 33.0, 152.0, 428.0)
    assert scale(33.0) == 428.0
    assert scale.inverse(scale(7.0)) == pytest.approx(7.0)


points = st.lists(
    st.tuples(st.integers(0, 400), st.integers(0, 200)), min_size=2, unique=True
)


@given(points)
def test_a_simplified_line_stays_near_every_point(
    line: list[tuple[float, float]],
) -> None:
    tolerance = 2.0
    kept = simplify(line, tolerance)
    assert (kept[0], kept[-1]) == (line[0], line[-1])
    for start, end in pairwise(_indices(kept, line)):
        (x0, y0), (x1, y1) = line[start], line[end]
        length = math.hypot(x1 - x0, y1 - y0)
        for x, y in line[start:end]:
            area = abs((x1 - x0) * (y - y0) - (y1 - y0) * (x - x0))
            off = area / length if length else math.hypot(x - x0, y - y0)
            assert off <= tolerance + 1e-9


def _indices(
    kept: list[tuple[float, float]], line: list[tuple[float, float]]
) -> list[int]:
    """Return where kept points stand in a line whose points are all different."""
    return [line.index(point) for point in kept]


def test_a_straight_line_needs_two_points_and_a_corner_three() -> None:
    straight = [(float(x), 2.0 * x) for x in range(50)]
    assert simplify(straight) == [straight[0], straight[-1]]
    bent = [(float(x), abs(x - 20.0)) for x in range(50)]
    assert simplify(bent) == [bent[0], bent[20], bent[-1]]


def test_a_line_that_ends_where_it_began_keeps_its_corners() -> None:
    square = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]
    round_it = [
        (a[0] + (b[0] - a[0]) * t / 8, a[1] + (b[1] - a[1]) * t / 8)
        for a, b in pairwise([*square, square[0]])
        for t in range(8)
    ]
    assert simplify([*round_it, square[0]]) == [*square, square[0]]
    assert simplify([(1.0, 1.0)] * 3) == [(1.0, 1.0)] * 2


def test_hatching_stays_inside_its_box() -> None:
    lines = list(hatch(10.0, 20.0, 30.0, 8.0, "ink"))
    assert len(lines) >= 5
    for line in lines:
        for x, y in line.points:
            assert 10.0 <= x <= 40.0
            assert 20.0 <= y <= 28.0


def _sample(text: str = "Iris") -> Drawing:
    marks = (
        Line(((1.0, 2.0), (3.04, 2.0), (3.0, 1.5)), "ink", 2.0, (4.0, 2.0)),
        Area(box(5.0, 5.0, 10.0, 20.0), "win", 0.5, tip=text),
        Dot(4.0, 4.0, "circle", "s0"),
        Dot(8.0, 4.0, "cross", "s5", tip="a < b"),
        Label(0.0, 9.0, text, "muted", "end", 11.0, bold=True, turn=-90.0),
    )
    return Drawing(40.0, 30.5, f"About {text}", marks)


def test_svg_is_well_formed_and_has_a_description() -> None:
    for text in (inline(_sample()), standalone(_sample())):
        root = ElementTree.fromstring(text)  # noqa: S314 - our own output
        assert root.tag.endswith("svg")
    assert 'role="img" aria-label="About Iris"' in inline(_sample())
    assert "<title>About Iris</title>" in standalone(_sample())


def test_svg_escapes_labels() -> None:
    wild = '<b>&"wild"</b>'
    for text in (inline(_sample(wild)), standalone(_sample(wild))):
        assert "<b>" not in text
        labels = [e.text for e in ElementTree.fromstring(text).iter()]  # noqa: S314
        assert labels.count(wild) >= 2  # the label and the tip


def test_paths_are_written_as_short_steps() -> None:
    text = inline(_sample())
    assert 'd="M1 2l2 0 0-.5"' in text
    assert 'd="M5 5l10 0 0 20-10 0z"' in text


def test_drawings_side_by_side_do_not_overlap() -> None:
    both = beside("two", _sample(), _sample(), gap=10.0)
    assert (both.width, both.height) == (90.0, 30.5)
    assert [m.x for m in both.marks if isinstance(m, Label)] == [0.0, 50.0]
    areas = [m.points[0] for m in both.marks if isinstance(m, Area)]
    assert areas == [(5.0, 5.0), (55.0, 5.0)]


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a: str, b: str) -> float:
    low, high = sorted((_luminance(a), _luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1])
def test_colours_stand_out_on_their_ground(scheme: int) -> None:
    pairs = {role: colours[scheme] for role, colours in COLOURS.items()}
    ground = pairs["ground"]
    for role in ("ink", "muted"):
        assert _contrast(pairs[role], ground) >= 4.5
        assert _contrast(pairs[role], pairs["band"]) >= 4.5
    for role in (f"s{index}" for index in range(8)):
        assert _contrast(pairs[role], ground) >= 3.0
    for role in ("win", "tie", "loss"):
        assert _contrast(pairs[f"on-{role}"], pairs[role]) >= 4.5


def test_no_two_methods_have_the_same_colour_and_marker() -> None:
    names = [f"method {k}" for k in range(40)]
    looks = {style(name, names) for name in names}
    assert len(looks) == 40
    assert len({look.role for look in looks}) == 8


def test_markers_are_mirrored_left_to_right_and_lie_around_their_place() -> None:
    for corners in CORNERS.values():
        assert {(round(-x, 6) + 0.0, y) for x, y in corners} == {
            (round(x, 6) + 0.0, y) for x, y in corners
        }
        assert min(y for _, y in corners) < -0.5 < 0.5 < max(y for _, y in corners)
