"""Negative numbers in pictures have a minus sign; names keep their hyphens."""

from rpnb.report.charts.axes import stream_axes
from rpnb.report.charts.deviations import Deviation, deviation_chart
from rpnb.report.charts.drawing import Label, Mark, Scale

MINUS = "\N{MINUS SIGN}"


def texts(marks: tuple[Mark, ...]) -> set[str]:
    return {mark.text for mark in marks if isinstance(mark, Label)}


def test_the_only_far_dataset_is_named_with_its_hyphen() -> None:
    far = Deviation("PA", "Chess-krvk", -4.2)
    marks = deviation_chart("", [far, Deviation("PA", "Iris", 1.0)], ["PA"]).marks
    assert f"Chess-krvk {MINUS}4.2" in texts(marks)


def test_several_far_datasets_are_counted() -> None:
    names = ["Monk-2", "Chess-krvk"]
    far = [
        Deviation("PA", name, z) for name, z in zip(names, (-4.0, -5.0), strict=True)
    ]
    assert f"2 datasets to {MINUS}5" in texts(deviation_chart("", far, ["PA"]).marks)


def test_axes_of_streams_have_minus_signs() -> None:
    x, y = Scale(0.0, 1000.0, 0.0, 300.0), Scale(-0.4, 0.4, 100.0, 0.0)
    shown = texts(tuple(stream_axes(x, y, "kappa")))
    assert f"{MINUS}0.2" in shown
    assert not any(text.startswith("-") for text in shown)
