"""Confusion matrices, one per learner, of which one is visible at a time."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rpnb.core.kernels.arrays import IntArray
from rpnb.evaluate.evaluation import Evaluation, Participant
from rpnb.report.charts.drawing import (
    Area,
    Drawing,
    Label,
    Line,
    Mark,
    box,
    text_width,
)
from rpnb.report.charts.svg import inline
from rpnb.report.html import Html, choice, join, row, section, table, tag

#: Largest number of classes in a matrix: the most frequent ones.
MOST_CLASSES = 30
_WIDTH = 330.0
# Length of the longest name; with this many columns, cells have no room for numbers.
_LETTERS, _NO_ROOM = 11, 13
_SIZE, _SMALL = 12.0, 11.0
# Rows without a prediction get a column if their share is larger than this.
_FEW = 0.005
# Opacity of a cell with all rows of its class: text on it stays readable.
_DARKEST = 0.6


class Matrix(NamedTuple):
    """Numbers of rows by true and predicted class, for the classes that are shown."""

    classes: tuple[str, ...]
    """the true classes, one line each"""
    predicted: tuple[str, ...]
    """the columns: the same classes, then "others" and "no prediction", if any"""
    counts: IntArray
    """(lines, columns)"""


def confusion_section(
    evaluation: Evaluation, participants: Sequence[Participant]
) -> Html:
    """Return the matrices, one at a time in the given order, with their counts."""
    panels = {}
    for each in participants:
        matrix = matrix_of(evaluation, each)
        drawn = tag("figure", inline(matrix_panel(each.name, matrix)), class_="matrix")
        counts = tag(
            "details", tag("summary", "Numbers of rows"), _counts(each.name, matrix)
        )
        panels[each.name] = join((drawn, counts))
    hidden = len(evaluation.frequent_labels()) - MOST_CLASSES
    note = (
        "One line per true class, one column per predicted class, in % of the true "
        "class. Correct predictions are on the diagonal, in blue."
        f"{not_shown(hidden)}"
    )
    inner = tag("p", note, class_="note"), choice("Learner", panels)
    return section("confusion", "Confusion matrix", *inner, half=True)


def not_shown(classes: int) -> str:
    """Return a sentence on the number of classes that are not shown, if any."""
    if classes <= 0:
        return ""
    verb = "class is" if classes == 1 else "classes are"
    return f" {classes} more {verb} not shown."


def matrix_of(evaluation: Evaluation, participant: Participant) -> Matrix:
    """Return the counts of a learner in the order of the labels."""
    labels, counts = evaluation.labels.labels, participant.confusion.counts
    order = evaluation.sorted_labels()
    frequent = set(evaluation.frequent_labels()[:MOST_CLASSES])
    shown = [k for k in order if k in frequent]
    left = [k for k in order if k not in frequent]
    columns = [counts[shown, k] for k in shown]
    names = [str(labels[k]) for k in shown]
    if left and counts[shown][:, left].any():
        columns.append(counts[shown][:, left].sum(axis=1))
        names.append("others")
    if counts[:, -1].sum() > _FEW * counts.sum():
        columns.append(counts[shown, -1])
        names.append("no prediction")
    lines = tuple(names[: len(shown)])
    return Matrix(lines, tuple(names), np.stack(columns, axis=1))


def _counts(name: str, matrix: Matrix) -> Html:
    lines = [
        row(line, (f"{int(cell):,}" for cell in cells))
        for line, cells in zip(matrix.classes, matrix.counts, strict=True)
    ]
    caption = f"{name}: one line per true class, one column per predicted class."
    head = ("Class", *matrix.predicted)
    return table(caption, head, [tag("tbody", *lines)], label=f"Confusion of {name}")


def matrix_panel(name: str, matrix: Matrix) -> Drawing:
    """Draw a matrix whose cells are the darker, the larger their share of the line."""
    lines, columns = matrix.counts.shape
    names = [_short(each) for each in matrix.predicted]
    longest = max(text_width(each, _SIZE) for each in names)
    widest = max(text_width(_short(each), _SIZE) for each in matrix.classes)
    left = 1.15 * widest + 12.0
    side = min((_WIDTH - left - 2.0) / columns, 52.0)
    text_fits = all(text_width(each, _SIZE) < side + 2.0 for each in names)
    top = 46.0 if text_fits else 30.0 + 1.15 * longest
    small = _SIZE if side > 15.0 else side * 0.8
    end = left + side * columns
    room = end - text_width("predicted", _SIZE) - 12.0
    title = _short(name, max(int(room / text_width("n", 13.0)), _LETTERS))
    marks: list[Mark] = [Label(0.0, 12.0, title, bold=True, size=13.0)]
    marks.append(Label(end, 12.0, "predicted", "muted", "end", _SIZE))
    for j, text in enumerate(names):
        x = left + side * (j + 0.5)
        if text_fits:
            marks.append(Label(x, top - 8.0, text, "muted", "middle", small))
        else:
            marks.append(
                Label(
                    x + 0.35 * small,
                    top - 6.0,
                    text,
                    "muted",
                    "start",
                    small,
                    turn=-90.0,
                )
            )
    for i in range(lines):
        y = top + side * i
        baseline = y + side / 2 + 0.36 * small
        text = _short(matrix.classes[i])
        marks.append(Label(left - 7.0, baseline, text, "muted", "end", small))
        marks.extend(_cells(matrix, i, left, y, side))
    marks.extend(_frame(left, top, side, lines, columns))
    return Drawing(
        _WIDTH, top + side * lines + 4.0, f"Confusion of {name}", tuple(marks)
    )


def _cells(
    matrix: Matrix, i: int, left: float, y: float, side: float
) -> Iterator[Mark]:
    """Yield the cells of row i, darker for larger shares of the class."""
    cells = matrix.counts[i].tolist()
    total = max(sum(cells), 1)
    for j, cell in enumerate(cells):
        if not cell:
            continue
        share, x = cell / total, left + side * j
        tip = (
            f"{matrix.classes[i]}, predicted {matrix.predicted[j]}: {cell:,} of "
            f"{total:,} rows, {share:.1%}"
        )
        right = j < len(matrix.classes) and j == i
        role = "win" if right else "loss"
        # Mistakes are rarer: they are drawn darker, so that they stand out.
        opacity = _DARKEST * (share if right else share**0.5)
        yield Area(box(x, y, side, side), role, opacity, tip)
        if len(matrix.predicted) < _NO_ROOM:
            text = f"{100 * share:.0f}" if share >= 0.005 else "<1"
            place = y + side / 2 + 0.36 * _SMALL
            yield Label(x + side / 2, place, text, "ink", "middle", _SMALL)


def _frame(
    left: float, top: float, side: float, lines: int, columns: int
) -> Iterator[Mark]:
    right, bottom = left + side * columns, top + side * lines
    corners = (*box(left, top, right - left, bottom - top), (left, top))
    yield Line(corners, "muted", 0.8)


def _short(text: str, letters: int = _LETTERS) -> str:
    """Return a name without its middle: names of classes often begin alike."""
    if len(text) <= letters:
        return text
    end = letters // 2 - 1
    return f"{text[: letters - 1 - end]}…{text[-end:]}"
