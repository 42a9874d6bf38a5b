"""Explanations: importance of the features, and the last row in detail."""

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from rpnb.core.columns.coding import WIDTHS, ColumnKind
from rpnb.estimators.trust.contributions import (
    Contributions,
    Waterfall,
    largest,
    score_text,
    waterfall,
)
from rpnb.estimators.trust.reasons import Explanation, is_exact, row_values
from rpnb.evaluate.evaluation import Participant
from rpnb.preprocessing import StreamPipeline
from rpnb.report.charts.axes import x_axis
from rpnb.report.charts.drawing import (
    Area,
    Drawing,
    Label,
    Line,
    Mark,
    Scale,
    box,
    ceiling,
    hatch,
    text_width,
    ticks,
)
from rpnb.report.charts.svg import inline
from rpnb.report.html import Html, choice, figure, section, tag

_WIDTH, _LEFT, _RIGHT = 440.0, 190.0, 54.0
_BAR, _GAP = 18.0, 8.0
_LETTERS = 25
# Features with their own bar.
_BARS, _STEPS = 12, 9
# Rows explained where values are sampled.
_SAMPLED_ROWS = 20


class LastRows:
    """Copies of the last labelled rows of a stream.

    Parameters
    ----------
    names
        Names of the features; None if they have none.
    size
        Largest number of rows to keep.
    columns
        Names and kinds of the columns that the features encode, a date or a text as
        several; None if features are columns.
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        size: int = 100,
        columns: Sequence[tuple[str, ColumnKind]] | None = None,
    ) -> None:
        self.names, self.size, self.columns = names, size, columns
        self.label: Any = None
        """the label of the last row"""
        self._X: Any = None

    @property
    def X(self) -> Any:
        """The rows (k, p); None before the first."""
        return self._X

    def add(self, X: Any, y: Any) -> None:
        """Add rows, and drop the oldest ones beyond `size`."""
        if X.shape[0] == 0:
            return
        self.label = y[-1]
        new = X[-self.size :].copy()
        missing = self.size - new.shape[0]
        if self._X is None or missing == 0:
            self._X = new
        elif issparse(new):
            self._X = csr_array(vstack([self._X[-missing:], new]))
        else:
            self._X = np.concatenate([self._X[-missing:], new])


def reasons_section(
    participants: Sequence[Participant],
    rows: LastRows | None,
    number: int,
    coded: Collection[str] = (),
) -> Html | None:
    """Return charts for each learner that can be explained; None if none can.

    `number` is the number of rows of the stream. Columns in `coded` hold categories as
    numbers, so their values are not shown.
    """
    if rows is None or rows.X is None:
        return None
    parts = {}
    for each in participants:
        found = _explain(each, rows)
        if found is not None:
            parts[each.name] = _charts(each.name, found, rows, number, coded)
    if not parts:
        return None
    note = (
        "Shapley values: how much each feature adds to the lead of the predicted class "
        "over the second best, compared with a row of mean values (of zeros for sparse "
        "rows). They are exact unless a standard error is given."
    )
    return section(
        "reasons",
        "Explanations",
        tag("p", note, class_="note"),
        choice("Learner", parts),
        fold=True,
    )


def _explain(learner: Participant, rows: LastRows) -> Explanation | None:
    """Explain the last rows; return None if the learner cannot be explained."""
    model, X = learner.model, learner.seen(rows.X)
    if hasattr(model, "drifts_"):
        model = model.learner_
    if isinstance(model, StreamPipeline):
        X, model = model.scaler_.transform(X), model.learner_
    if not hasattr(model, "explain"):
        return None
    if not is_exact(model):
        X = X[-_SAMPLED_ROWS:]  # sampling takes longer
    try:
        found: Explanation = model.explain(X)
    except ValueError:  # a single class, or scores that are not polynomials
        return None
    if rows.names is not None:
        found = found._replace(names=np.array(rows.names, dtype=object))
    if rows.columns is not None and len(rows.columns) < found.values.shape[1]:
        found = by_column(found, rows.columns)
    return found


def _starts(columns: Sequence[tuple[str, ColumnKind]]) -> list[int]:
    """Return the position of the first feature of each column."""
    widths = [WIDTHS[kind] for _, kind in columns]
    return [0, *accumulate(widths[:-1])]


def by_column(
    found: Explanation, columns: Sequence[tuple[str, ColumnKind]]
) -> Explanation:
    """Return an explanation whose values are sums over the features of each column."""
    starts = _starts(columns)
    errors = found.errors
    if errors is not None:
        errors = np.sqrt(np.add.reduceat(np.square(errors), starts, axis=1))
    return found._replace(
        values=np.add.reduceat(found.values, starts, axis=1),
        names=np.array([name for name, _ in columns], dtype=object),
        errors=errors,
    )


def _charts(
    name: str,
    explanation: Explanation,
    rows: LastRows,
    number: int,
    coded: Collection[str],
) -> Html:
    """Return the importance of features, and the steps of the last row."""
    shares = largest(explanation.importance(), explanation.names, _BARS)
    X, hidden = rows.X, set(coded)
    if X.shape[1] > len(explanation.names) and rows.columns is not None:
        X = X[:, _starts(rows.columns)]
        hidden |= {name for name, kind in rows.columns if WIDTHS[kind] > 1}
    steps = explanation.waterfall(-1, top=_STEPS, X=X)
    bare = {step: step.rpartition(" = ")[0] for step in steps.names}
    shown = [bare[step] if bare[step] in hidden else step for step in steps.names]
    steps = steps._replace(names=tuple(shown))
    label, against = explanation.labels[-1], explanation.against[-1]
    predicted = f"correctly predicted as {label}"
    if label != rows.label:
        predicted = f"predicted as {label} (wrong: it is {rows.label})"
    k = explanation.base.shape[0]
    over = f"the last {k} rows" if k > 1 else "the last row"
    importance = importance_panel(f"Importance of the features for {name}", shares)
    bars = figure(
        inline(importance),
        f"{name}: importance of each feature, its share of the absolute contributions "
        f"over {over}.",
    )
    background = "row of zeros" if issparse(rows.X) else "mean row"
    row = waterfall_panel(f"A row explained by {name}", steps, background)
    falls = figure(
        inline(row),
        f"{name}: row {number:,}, the last one, is {predicted} rather than {against}. "
        f"Blue bars favour {label}, hatched bars {against}."
        f"{_error_text(explanation)}",
    )
    if explanation.members is None:
        return tag("div", bars, falls, class_="pair")
    steps = waterfall(
        explanation.members[-1],
        explanation.member_names,
        0.0,
        len(explanation.members[-1]),
    )
    members = waterfall_panel(f"Score by member of {name}", steps, "no member")
    caption = f"{name}: contribution of each member to the score of the last row."
    return tag("div", bars, falls, figure(inline(members), caption), class_="pair")


def _error_text(explanation: Explanation) -> str:
    """Return a sentence on the standard errors of the last row, if any is above 0."""
    if explanation.errors is None:
        return ""
    errors = row_values(explanation.errors, -1)[1]
    largest_error = float(errors.max(initial=0.0))
    if largest_error == 0.0:
        return ""
    return f" Standard errors of the values are at most {score_text(largest_error)}."


def importance_panel(title: str, shares: Contributions) -> Drawing:
    """Draw one bar per feature, the most important at the top.

    The sum of all others, if there are any, is a number without a bar: the bar would be
    the longest.
    """
    top = 6.0
    percent = 100.0 * shares.values
    others = shares.names[-1:] if shares.rest else ()
    bars = len(shares.names) - len(others)
    longest = ceiling(float(percent[:bars].max(initial=0.0)))
    scale = Scale(0.0, longest, _LEFT, _WIDTH - _RIGHT)
    bottom = top + len(shares.names) * (_BAR + _GAP)
    marks: list[Mark] = list(x_axis(scale, top, bottom, "% of the contributions"))
    for i, (name, value) in enumerate(zip(shares.names, percent, strict=True)):
        y = top + _GAP / 2 + i * (_BAR + _GAP)
        tip = f"{name}: {value:.1f} %"
        marks.append(_name(name, y))
        end = scale(float(value)) if i < bars else _LEFT
        if i < bars:
            marks.append(Area(box(_LEFT, y, end - _LEFT, _BAR), "win", tip=tip))
        text = f"{value:.1f}"
        marks.append(Label(end + 5.0, y + 13.5, text, "muted", size=12.0))
    return Drawing(_WIDTH, bottom + 38.0, title, tuple(marks))


def waterfall_panel(
    title: str, steps: Waterfall, background: str = "mean row"
) -> Drawing:
    """Draw the steps from the background's score, above, to the row's, below."""
    top = 8.0
    ends = steps.before + steps.values
    low = min(steps.base, float(ends.min(initial=steps.base)))
    high = max(steps.base, float(ends.max(initial=steps.base)))
    if not high > low:
        low, high = low - 1.0, high + 1.0
    room = 0.02 * (high - low)
    scale = Scale(low - room, high + room, _LEFT, _WIDTH - _RIGHT)
    line = _BAR + _GAP
    bottom = top + (len(steps.names) + 2) * line
    marks: list[Mark] = list(_score_axis(scale, top, bottom))
    marks.extend(_total(background, steps.base, top + _GAP / 2, scale))
    for i, name in enumerate(steps.names):
        y = top + _GAP / 2 + (i + 1) * line
        before, value = float(steps.before[i]), float(steps.values[i])
        marks.extend(_step(name, before, value, y, scale))
    last = top + _GAP / 2 + (len(steps.names) + 1) * line
    marks.extend(_total("this row", steps.score, last, scale))
    return Drawing(_WIDTH, bottom + 38.0, title, tuple(marks))


def _step(
    name: str, before: float, value: float, y: float, scale: Scale
) -> Iterator[Mark]:
    start, end = scale(before), scale(before + value)
    x, width = min(start, end), max(abs(end - start), 0.8)
    # From the step before, and to the next one.
    yield Line(((start, y - _GAP), (start, y)), "muted", 0.8)
    tip = f"{name}: {score_text(value, signed=True)}"
    yield _name(name, y)
    yield Area(box(x, y, width, _BAR), "win" if value >= 0.0 else "loss", tip=tip)
    if value < 0.0:
        yield from hatch(x, y, width, _BAR, "loss-line")
    yield from _beside(score_text(value, signed=True), x, x + width, y)


def _beside(text: str, left: float, right: float, y: float) -> Iterator[Mark]:
    """Yield a text to the right of a bar or, where there is no room, to the left."""
    if right + 4.0 + text_width(text, 12.0) <= _WIDTH:
        yield Label(right + 4.0, y + 13.5, text, "muted", size=12.0)
    else:
        yield Label(left - 4.0, y + 13.5, text, "muted", "end", size=12.0)


def _total(name: str, value: float, y: float, scale: Scale) -> Iterator[Mark]:
    x = scale(value)
    yield Label(_LEFT - 10.0, y + 13.5, name, "muted", "end", size=12.0)
    yield Line(((x, y - 2.0), (x, y + _BAR + 2.0)), "ink", 2.0)
    yield from _beside(score_text(value), x, x, y)


def _score_axis(scale: Scale, top: float, bottom: float) -> Iterator[Mark]:
    for value in ticks(scale.low, scale.high, 4):
        x = scale(value)
        yield Line(((x, top), (x, bottom)), "grid")
        text = score_text(value)
        yield Label(x, bottom + 15.0, text, "muted", "middle", 12.0)
    yield Line(((scale.start, bottom), (scale.end, bottom)), "muted")
    middle = (scale.start + scale.end) / 2
    yield Label(middle, bottom + 32.0, "score", "muted", "middle", 12.0)


def _name(text: str, y: float) -> Label:
    # A long name is cut, the value after it is not.
    name, sign, value = text.replace("= -", "= \N{MINUS SIGN}").partition(" = ")
    room = _LETTERS - len(sign + value)
    shown = name if len(name) <= room else name[: room - 1] + "…"
    shown += sign + value
    return Label(_LEFT - 10.0, y + 13.5, shown, "ink", "end", size=12.0)
