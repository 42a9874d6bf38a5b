"""Charts as PNG files, drawn by matplotlib."""

import struct
from io import BytesIO
from typing import Any

import pytest

from rpnb.report.charts import png as painting
from rpnb.report.charts.drawing import Area, Dot, Drawing, Label, Line, box
from rpnb.report.charts.palette import COLOURS
from rpnb.report.charts.svg import MARGIN

DRAWING = Drawing(
    40.0,
    30.0,
    "a chart",
    (
        Area(box(0.0, 0.0, 20.0, 30.0), "win"),
        Line(((0.0, 0.0), (40.0, 30.0)), "ink", 2.0, (4.0, 2.0)),
        Dot(30.0, 10.0, "circle", "s0"),
        Dot(30.0, 20.0, "cross", "s5"),
        Label(2.0, 12.0, "costs $3 or $4", turn=-90.0),
    ),
)


def test_without_matplotlib_the_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(painting, "find_spec", lambda name: None)
    assert not painting.is_available()
    with pytest.raises(ImportError, match=r"pip install 'rpnb\[report\]'"):
        painting.png(DRAWING)


def test_a_png_has_two_pixels_a_unit_and_the_same_bytes_again() -> None:
    pytest.importorskip("matplotlib")
    image = painting.png(DRAWING)
    assert image.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", image[16:24])
    assert (width, height) == (2 * (40 + 24), 2 * (30 + 24))
    assert painting.png(DRAWING) == image


def test_a_drawing_has_a_margin_of_equal_width() -> None:
    images = pytest.importorskip("matplotlib.image")
    whole = Drawing(40.0, 30.0, "a box", (Area(box(0.0, 0.0, 40.0, 30.0), "win"),))
    pixels = images.imread(BytesIO(painting.png(whole)))
    drawn = (pixels != pixels[0, 0]).any(axis=2)
    margin = 2 * int(MARGIN)
    for axis, length in ((1, 60), (0, 80)):
        (places,) = drawn.any(axis=axis).nonzero()
        assert (places[0], places[-1] + 1) == (margin, margin + length)


def test_each_mark_becomes_an_artist(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    colours = pytest.importorskip("matplotlib.colors")
    kept: list[Any] = []
    monkeypatch.setattr(
        figures.Figure, "savefig", lambda figure, *_, **__: kept.append(figure)
    )
    area, line, circle, cross, label = DRAWING.marks
    assert isinstance(cross, Dot)
    upright = Label(3.0, 4.0, "plain", "muted", "end", 20.0, bold=True)
    marks = (area, line, circle, cross, label, upright)
    painting.png(Drawing(40.0, 30.0, "", marks), scale=3.0)
    (figure,) = kept
    assert figure.get_size_inches().tolist() == [64 / 72, 54 / 72]
    assert figure.dpi == 216.0
    (axes,) = figure.axes
    assert (axes.get_xlim(), axes.get_ylim()) == ((-12.0, 52.0), (42.0, -12.0))
    assert not axes.axison
    drawn: list[Any] = [*axes.lines, *axes.patches, *axes.texts, *axes.artists]
    drawn.sort(key=lambda artist: artist.zorder)
    assert [artist.zorder for artist in drawn] == [*range(6)]
    filled, stroke, disc, star, turned, plain = drawn
    for artist, mark in ((filled, area), (disc, circle), (star, cross)):
        role = COLOURS[mark.role][0]
        assert colours.to_hex(artist.get_facecolor()) == role
        assert artist.get_edgecolor()[3] == 0.0
    assert filled.get_xy()[:-1].tolist() == [[*xy] for xy in box(0.0, 0.0, 20.0, 30.0)]
    assert (disc.center, disc.radius) == ((30.0, 10.0), 3.5)
    assert star.get_xy()[:-1].tolist() == [[*xy] for xy in cross.corners()]
    assert stroke.get_xydata().tolist() == [[0.0, 0.0], [40.0, 30.0]]
    assert (stroke.get_color(), stroke.get_linewidth()) == (COLOURS["ink"][0], 2.0)
    # In units of the width: 4 and 2 of a line that is 2 wide.
    assert [*stroke._unscaled_dash_pattern[1]] == [2.0, 1.0]
    assert turned.get_text() == r"costs \$3 or \$4"
    assert (turned.get_rotation(), plain.get_rotation()) == (90.0, 0.0)
    assert plain.get_position() == (3.0, 4.0)
    assert colours.to_hex(plain.get_color()) == COLOURS["muted"][0]
    assert [each.get_ha() for each in (turned, plain)] == ["left", "right"]
    assert [each.get_va() for each in (turned, plain)] == ["baseline"] * 2
    assert [each.get_weight() for each in (turned, plain)] == ["normal", "bold"]
    sizes = [each.get_fontsize() for each in (turned, plain)]
    assert sizes == pytest.approx([10.8, 18.0])
