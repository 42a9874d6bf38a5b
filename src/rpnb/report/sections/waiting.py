"""What was known before labels came: expected errors, drift of inputs, what changed."""

from collections.abc import Sequence

import numpy as np

from rpnb.evaluate.waiting.changes import Change
from rpnb.evaluate.waiting.shifts import Alarm
from rpnb.evaluate.waiting.stream import StreamWatch, WaitingResult
from rpnb.report.charts.curves import MOST_EMPHASISED, Curve, make_plot
from rpnb.report.charts.live import plot_figure
from rpnb.report.charts.palette import label
from rpnb.report.charts.svg import inline
from rpnb.report.charts.waiting import waiting_panel
from rpnb.report.html import Html, choice, row, section, table, tag

# Columns with a curve of their own, changes of an alarm, and alarms, at most.
_COLUMNS, _CHANGES, _ALARMS = 8, 4, 20
_WHAT = {"inputs": "Inputs", "predictions": "Predicted classes", "errors": "Errors"}


def waiting_section(watch: StreamWatch) -> Html | None:
    """Return the expected errors of rows that wait; None if none ever did."""
    panels = {}
    for name, found in watch.results().items():
        if not (found.waiting > 1).any():
            continue  # a label comes with its row, before the next one
        drawn = inline(waiting_panel(label(name), found))
        said = tag("p", f"At the end: {found.last}.", class_="note")
        panels[label(name)] = tag("div", tag("figure", drawn), said)
    if not panels:
        return None
    text = (
        "The error of predictions whose labels had not come, expected from their "
        "probabilities and from how far off such forecasts were on the labels that "
        "had; the band should hold the true error in 95 % of the cases. Without a "
        "band nothing was known: too few labels, or inputs unlike those with labels. "
        "The true error came out later. Marks at the bottom are alarms: triangles of "
        "inputs, squares of predicted classes, circles of errors."
    )
    note = tag("p", text, class_="note")
    return section("waiting", "Before labels came", note, choice("Learner", panels))


def changes_section(watch: StreamWatch) -> Html | None:
    """Return how far inputs moved, and what changed at each alarm."""
    results = watch.results()
    if not results:
        return None
    first = next(iter(results.values()))
    if len(first.distance_rows) == 0:
        return None
    parts: list[Html] = [_distances(first)]
    alarms = {
        label(name): _alarm_table(found.alarms)
        for name, found in results.items()
        if found.alarms
    }
    if alarms:
        parts.append(choice("Learner", alarms))
    else:
        parts.append(tag("p", "There was no alarm."))
    if watch.inputs.skipped is not None:
        skipped = f"Inputs were not watched: {watch.inputs.skipped}."
        parts.append(tag("p", skipped, class_="note"))
    return section("changes", "What changed", *parts, fold=True)


def _distances(found: WaitingResult) -> Html:
    most = sorted(found.distances, key=lambda n: -float(found.distances[n].max()))
    shown = most[:_COLUMNS]
    rows = found.distance_rows.astype(np.float64)
    none = np.zeros(len(rows))
    curves = [Curve(name, rows, found.distances[name], none, 1) for name in shown]
    title = "Share of each column's distribution that moved, in windows of 500 rows"
    plot = make_plot(title, curves, "share", emphasised=shown[:MOST_EMPHASISED])
    caption = f"{title}, against the reference; more than by chance."
    if len(most) > len(shown):
        caption += f" The {len(shown)} that moved most, of {len(most)}."
    return plot_figure(plot, caption)


def _alarm_table(alarms: Sequence[Alarm]) -> Html:
    lines = []
    for alarm in alarms[-_ALARMS:]:
        changes = alarm.changes[:_CHANGES] or (None,)
        for k, change in enumerate(changes):
            name = f"{alarm.row:,}" if k == 0 else ""
            what = _WHAT[alarm.what] if k == 0 else ""
            lines.append(row(name, (what, *_cells(change))))
    caption = (
        "Alarms and what changed, the largest change first; p-values are adjusted for "
        "the number of columns."
    )
    if len(alarms) > _ALARMS:
        caption += f" The last {_ALARMS} of {len(alarms)}."
    head = ("Row", "Alarm of", "Column", "Moved by", "p", "Cells, before and after")
    body = [tag("tbody", *lines)]
    return table(caption, head, body, label="Alarms", align="lllrrl")


def _cells(change: Change | None) -> tuple[str, str, str, Html | str]:
    if change is None:
        return "no column stands out", "", "", ""
    name = f"error by {change.name}" if change.kind == "error" else change.name
    cells = ", ".join(
        f"{cell.cell}: {cell.before:.1%} → {cell.after:.1%}"
        for cell in change.cells[:3]
    )
    p = "< 0.0001" if change.p_value < 0.0001 else f"{change.p_value:.4f}"
    return name, f"{change.distance:.3f}", p, cells
