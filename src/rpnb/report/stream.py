"""The report of one pass over a stream: curves, classes, mistakes, on one page."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rpnb._version import __version__
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.evaluate.confusion import ErrorCounts
from rpnb.evaluate.metrics import class_scores
from rpnb.evaluate.player import Participant
from rpnb.evaluate.side_by_side import FileEvaluation, RunFacts
from rpnb.report.charts.balance import MAX_BANDS, balance_panel
from rpnb.report.charts.curves import Curve, Measure, curve_panel
from rpnb.report.charts.svg import inline
from rpnb.report.html import Html, figure, join, row, section, table, tag
from rpnb.report.page import frame

#: Parts of the stream in the charts of errors and classes, and classes of a table.
_PARTS, _CLASSES = 40, 25

_CONTENTS = {
    "summary": "Summary",
    "curves": "Learning curves",
    "balance": "Class balance",
    "scores": "Scores by class",
    "confusion": "Confusion",
    "making": "How it was made",
}


def stream_page(contest: FileEvaluation, facts: RunFacts, command: str) -> str:
    """Return the report as one HTML text that needs nothing else."""
    learners = [player for player in contest.players if not player.reference]
    order = contest.sorted_labels()
    stopped = " The run was stopped; the figures are of the rows so far."
    lead = tag(
        "p",
        f"{contest.rows:,} rows of {facts.p} features and "
        f"{len(contest.occurring())} classes, each predicted before it was learnt."
        + (stopped if facts.interrupted else ""),
    )
    sections = (
        _summary(contest, facts),
        _curves(contest),
        _balance(contest),
        section("scores", "Scores by class", *(_scores(contest, e) for e in learners)),
        section(
            "confusion",
            "Confusion",
            tag("p", "Rows of each class by the answer they got; shaded by the share."),
            *(_confusion(contest, player, order) for player in learners),
        ),
        _making(contest, facts, command),
    )
    return frame(f"rpnb: {facts.source}", lead, _CONTENTS, sections)


def _summary(contest: FileEvaluation, facts: RunFacts) -> Html:
    lines = []
    for player in contest.players:
        tally = player.record
        cells = (
            f"{tally.error:.4f}",
            f"{tally.window_error:.4f}",
            f"{player.record.macro_f1:.4f}",
            f"{player.model.n_updates_:,}",
            f"{player.seconds:.2f}",
        )
        lines.append(row(player.name, (tag("td", cell) for cell in cells)))
    head = (
        *("Learner", "Error", f"Error of the last {facts.window:,} rows"),
        *("Macro F1", "Updates", "Seconds"),
    )
    caption = (
        "Error: share of wrong predictions. Macro F1: mean over the classes. Updates: "
        "rows that changed the model. The references predict the class most frequent "
        "so far, and the class of the row before."
    )
    body = tag("tbody", *lines)
    return section("summary", "Summary", table(caption, head, [body], label="Summary"))


def _curves(contest: FileEvaluation) -> Html:
    names = [player.name for player in contest.players]
    panels = []
    measures: tuple[tuple[Measure, str], ...] = (
        ("error", "Share of mistakes among all rows so far, a line a learner"),
        ("window", f"Share of mistakes in each of up to {_PARTS} parts of the stream"),
    )
    for measure, title in measures:
        curves = [_curve(player, measure) for player in contest.players]
        drawing = curve_panel(title, curves, measure, names)
        panels.append(figure(Html(inline(drawing)), title + "."))
    return section("curves", "Learning curves", tag("div", *panels, class_="pair"))


def _curve(player: Participant[ErrorCounts], measure: Measure) -> Curve:
    places, counts = player.record.track.course()
    mistakes = counts[:, 1]
    if measure == "window":
        edges, at = _parts(places)
        totals = np.concatenate(([0], mistakes[at]))
        values = np.diff(totals) / np.diff(edges)
        rows = edges[1:]
    else:
        values = mistakes / places
        rows = places.astype(np.float64)
    return Curve(player.name, rows, values, np.zeros_like(rows), 1)


def _parts(places: IntArray) -> tuple[FloatArray, IntArray]:
    """Return where parts of the stream begin and end, and the places of the ends."""
    step = -(-places.shape[0] // _PARTS)
    at = np.arange(step - 1, places.shape[0], step)
    if not at.size or at[-1] != places.shape[0] - 1:
        at = np.append(at, places.shape[0] - 1)
    return np.concatenate(([0], places[at])).astype(np.float64), at


def _balance(contest: FileEvaluation) -> Html:
    places, counts = contest.balance.course()
    edges, at = _parts(places)
    zeros = np.zeros((1, counts.shape[1]), np.int64)
    parts = np.diff(np.concatenate([zeros, counts[at]]), axis=0)
    frequent = contest.occurring()
    shown, rest = frequent[:MAX_BANDS], frequent[MAX_BANDS:]
    columns = [parts[:, k] for k in shown]
    names = [str(contest.labels[k]) for k in shown]
    if rest:
        columns.append(parts[:, rest].sum(axis=1))
        names.append(f"{len(rest)} others")
    shares = np.stack(columns, axis=1) / parts.sum(axis=1, keepdims=True)
    title = "Share of each class in parts of the stream, a band a class"
    drawing = balance_panel(title, names, edges, shares)
    shown_at_half = tag(
        "div", figure(Html(inline(drawing)), title + "."), class_="pair"
    )
    return section("balance", "Class balance", shown_at_half)


def _scores(contest: FileEvaluation, player: Participant[ErrorCounts]) -> Html:
    counts = player.record.counts
    scores = class_scores(counts)
    lines = []
    for k in contest.occurring()[:_CLASSES]:
        cells = [f"{int(counts[k].sum()):,}", f"{int(counts[:, k].sum()):,}"]
        cells += [f"{values[k]:.4f}" for values in scores]
        lines.append(row(str(contest.labels[k]), (tag("td", cell) for cell in cells)))
    more = len(contest.occurring()) - _CLASSES
    caption = f"{player.name}, by class, the most frequent first." + (
        f" {more} more classes are left out." if more > 0 else ""
    )
    head = ("Class", "Rows", "Predicted", "Precision", "Recall", "F1")
    body = tag("tbody", *lines)
    return table(caption, head, [body], label=f"Scores of {player.name}")


def _confusion(
    contest: FileEvaluation, player: Participant[ErrorCounts], order: Sequence[int]
) -> Html:
    counts = player.record.counts
    frequent = set(contest.occurring()[:_CLASSES])
    shown = [k for k in order if k in frequent]
    left = [k for k in order if k not in frequent]
    columns = [counts[:, k] for k in shown]
    names = [str(contest.labels[k]) for k in shown]
    if left:
        columns.append(counts[:, left].sum(axis=1))
        names.append("others")
    if counts[:, -1].any():
        columns.append(counts[:, -1])
        names.append("no answer")
    lines = [
        row(str(contest.labels[k]), _heat([int(column[k]) for column in columns]))
        for k in shown
    ]
    caption = f"{player.name}: a row a true class, a column an answer."
    head = ("Class", *names)
    body = tag("tbody", *lines)
    return table(caption, head, [body], label=f"Confusion of {player.name}")


def _heat(cells: Sequence[int]) -> Iterator[Html]:
    total = max(sum(cells), 1)
    for cell in cells:
        strength = 0.55 * cell / total
        style = f"background:rgba(0,114,178,{strength:.2f})" if cell else None
        yield tag("td", f"{cell:,}", style=style)


def _making(contest: FileEvaluation, facts: RunFacts, command: str) -> Html:
    order = "that of the file" if facts.order == "file" else f"random, {facts.order}"
    found = {
        "Version": f"rpnb {__version__}",
        "Command": tag("code", command),
        "Order of the rows": order,
        "Time": f"{facts.seconds:.1f} s",
    }
    if facts.loaded is not None:
        found["Went on with"] = facts.loaded
    for player in contest.players:
        model: Any = player.model
        given = model.get_params(deep=False).items()
        text = ", ".join(f"{name}={value!r}" for name, value in given)
        found[player.name] = tag("code", text or "no parameters")
    terms = (join((tag("dt", name), tag("dd", text))) for name, text in found.items())
    return section("making", "How it was made", tag("dl", *terms))
