"""Calibration of probabilities: reliability diagrams and metrics."""

import math
from collections.abc import Iterator, Sequence

from rpnb.evaluate.evaluation import Participant
from rpnb.evaluate.metrics import (
    LOSSES,
    OF_PROBABILITIES,
    CalibrationCurve,
    Metric,
    calibration_curve,
    figure_text,
    title_of,
)
from rpnb.report.charts.drawing import (
    Area,
    Dot,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    box,
    number,
    ticks,
)
from rpnb.report.charts.palette import Style, style
from rpnb.report.charts.svg import inline
from rpnb.report.html import (
    Html,
    best_bold,
    capital,
    choice,
    join,
    listed,
    row,
    section,
    table,
    tag,
)

_WIDTH, _LEFT, _RIGHT = 330.0, 44.0, 14.0
# The name is above the diagram, a histogram of the probabilities below it.
_TOP, _SIDE, _BARS, _BOTTOM = 40.0, 236.0, 34.0, 46.0
# Size of a point that all rows belong to, and of the smallest one.
_LARGEST, _SMALLEST = 11.0, 2.6
_METRICS: tuple[Metric, ...] = (
    "log_loss",
    "brier",
    "calibration_error",
    "auc",
    "average_precision",
    "best_f1",
    "coverage",
)


def calibration_section(
    participants: Sequence[Participant], methods: Sequence[str]
) -> Html | None:
    """Return diagrams, one at a time, and a table, or None without probabilities."""
    curves = {
        each.name: calibration_curve(each.confusion.totals()["cumulative"])
        for each in participants
    }
    given = {name: curve for name, curve in curves.items() if curve is not None}
    if not given:
        return None
    errors = {
        each.name: figures_of(each)["calibration_error"]
        for each in participants
        if each.name in given
    }
    panels = {}
    for name, curve in given.items():
        drawn = inline(reliability_panel(name, curve, errors[name], methods))
        panels[name] = tag("figure", drawn, class_="matrix")
    silent = [name for name, curve in curves.items() if curve is None]
    note = (
        "Of the predictions with probability 0.8, 80 % should be correct: then the "
        "points lie on the diagonal. Points below it mean overconfidence, points above "
        "it underconfidence. Large points and bars have many rows."
    )
    if silent:
        verb = "gives" if len(silent) == 1 else "give"
        note += f" {listed(silent)} {verb} no probabilities."
    diagrams = section(
        "calibration",
        "Calibration",
        tag("p", note, class_="note"),
        choice("Learner", panels),
        fold=True,
        half=True,
    )
    metrics = _table([each for each in participants if each.name in given])
    title = "Probability metrics"
    return join((diagrams, section("probabilities", title, metrics, fold=True)))


def figures_of(participant: Participant) -> dict[Metric, float]:
    """Return the metrics of a learner's probabilities, over all rows."""
    measured = participant.confusion.measure(sorted(OF_PROBABILITIES))
    return dict(measured["cumulative"])


def _table(participants: Sequence[Participant]) -> Html:
    """Return the metrics of probabilities as a table, the best ones bold."""
    figures = [figures_of(each) for each in participants]
    names, columns = [], []
    for name in _METRICS:
        values = [found[name] for found in figures]
        if all(map(math.isnan, values)):
            continue
        texts = [figure_text(value) for value in values]
        # Coverage has a target, and no best value.
        if name != "coverage":
            texts = best_bold(values, texts, lowest=name in LOSSES)
        names.append(name)
        columns.append(texts)
    lines = [
        row(each.name, cells)
        for each, cells in zip(participants, zip(*columns, strict=True), strict=True)
    ]
    head = ("Learner", *(capital(title_of(name)) for name in names))
    caption = (
        "From the probabilities predicted before each row was learned. Log-loss, Brier "
        "score and calibration error: lower is better. AUC: mean over the classes, "
        "each against all others; 0.5 is chance."
    )
    if "coverage" in names:
        caption += (
            " Coverage: share of rows whose class was in the 90 % prediction set, for "
            "learners that have such sets."
        )
    if len(participants) > 1:
        caption += " Bold: the best value of a column."
    body = tag("tbody", *lines)
    return table(caption, head, [body], label="Probability metrics")


def reliability_panel(
    name: str,
    curve: CalibrationCurve,
    error: float,
    methods: Sequence[str],
    title: str | None = None,
) -> Drawing:
    """Draw the share of correct predictions against their probability.

    Parameters
    ----------
    name
        Name of the learner.
    curve
        Points of the reliability curve.
    error
        Calibration error of the learner.
    methods
        Names of all learners of the report, whose order decides the colours.
    title
        Heading to show instead of the learner's name.
    """
    look = style(name, methods)
    x = Scale(0.0, 1.0, _LEFT, _WIDTH - _RIGHT)
    y = Scale(0.0, 1.0, _TOP + _SIDE, _TOP)
    shown = name if title is None else title
    marks: list[Mark] = [
        Label(_LEFT, 12.0, shown, bold=True, size=13.0),
        Label(_LEFT, 30.0, "share correct", "muted", size=12.0),
        Label(x.end, 30.0, f"calibration error {error:.3f}", "muted", "end", size=12.0),
    ]
    marks.extend(_axes(x, y))
    marks.append(Line(((x(0.0), y(0.0)), (x(1.0), y(1.0))), "muted", 1.2, (4.0, 3.0)))
    marks.extend(_points(curve, x, y, look))
    marks.extend(_bars(curve, x, look))
    height = _TOP + _SIDE + 8.0 + _BARS + _BOTTOM
    alternative = f"Reliability diagram of {shown}: share of correct predictions"
    return Drawing(_WIDTH, height, alternative, tuple(marks))


def _axes(x: Scale, y: Scale) -> Iterator[Mark]:
    for value in ticks(0.0, 1.0, 5):
        yield Line(((x.start, y(value)), (x.end, y(value))), "grid")
        yield Line(((x(value), y.start), (x(value), y.end)), "grid")
        yield Label(x.start - 7.0, y(value) + 4.0, number(value), "muted", "end", 12.0)
        place = y.start + 8.0 + _BARS + 16.0
        yield Label(x(value), place, number(value), "muted", "middle", 12.0)
    middle = (x.start + x.end) / 2
    text = "probability of the prediction"
    yield Label(middle, y.start + _BARS + 42.0, text, "muted", "middle", 12.0)


def _points(curve: CalibrationCurve, x: Scale, y: Scale, look: Style) -> Iterator[Mark]:
    """Yield the points of a curve, larger ones for more rows, and their lines."""
    places = [
        (x(float(a)), y(float(b)))
        for a, b in zip(curve.confidence, curve.accuracy, strict=True)
    ]
    for place, confidence in zip(places, curve.confidence, strict=True):
        # The distance of a point from the diagonal.
        yield Line((place, (place[0], y(float(confidence)))), look.role, 1.0)
    shares = curve.rows / curve.rows.sum()
    solid = [
        place for place, there in zip(places, curve.frequent(), strict=True) if there
    ]
    if len(solid) > 1:
        yield Line(tuple(solid), look.role, 1.8)
    for place, share, (confidence, accuracy, rows) in zip(
        places, shares, zip(*curve, strict=True), strict=True
    ):
        tip = f"{rows:,.0f} rows: probability {confidence:.3f}, correct {accuracy:.3f}"
        size = _SMALLEST + (_LARGEST - _SMALLEST) * float(share) ** 0.5
        yield Dot(*place, "circle", look.role, size, tip=tip)


def _bars(curve: CalibrationCurve, x: Scale, look: Style) -> Iterator[Mark]:
    """Yield a bar for each tenth of probabilities, as high as its share of the rows."""
    bottom = _TOP + _SIDE + 8.0 + _BARS
    shares = curve.rows / curve.rows.sum()
    highest = float(shares.max())
    width = (x.end - x.start) / 10
    for confidence, share in zip(curve.confidence, shares, strict=True):
        place = x(min(int(confidence * 10 + 1e-9), 9) / 10)
        height = _BARS * float(share) / highest
        corners = box(place + 1.5, bottom - height, width - 3.0, height)
        yield Area(corners, look.role, 0.45, f"{share:.1%} of the rows")
    yield Line(((x.start, bottom), (x.end, bottom)), "muted")
