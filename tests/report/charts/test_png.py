import struct
from io import BytesIO

import pytest

from rpnb.report.charts import png as painting
from rpnb.report.charts.drawing import Area, Dot, Drawing, Label, Line, box
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


def test_without_matplotlib_it_says_what_is_missing(
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


def test_a_drawing_stands_inside_a_margin_of_equal_width() -> None:
    images = pytest.importorskip("matplotlib.image")
    whole = Drawing(40.0, 30.0, "a box", (Area(box(0.0, 0.0, 40.0, 30.0), "win"),))
    pixels = images.imread(BytesIO(painting.png(whole)))
    drawn = (pixels != pixels[0, 0]).any(axis=2)
    margin = 2 * int(MARGIN)
    for axis, length in ((1, 60), (0, 80)):
        (places,) = drawn.any(axis=axis).nonzero()
        assert (places[0], places[-1] + 1) == (margin, margin + length)
