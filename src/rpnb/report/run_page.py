"""The report of `rpnb run` as one HTML page: curves, classes, scores, confusion."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from rpnb._version import __version__
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.registry import stream_parameters
from rpnb.evaluate.differences import Difference, significance_sentence
from rpnb.evaluate.evaluation import Evaluation, Participant
from rpnb.evaluate.metrics import (
    LOSSES,
    class_scores,
    figure_text,
    title_of,
    true_class_macro_f1,
)
from rpnb.evaluate.result import RunFacts
from rpnb.report.charts.curves import (
    MOST_EMPHASISED,
    Curve,
    Measure,
    Plot,
    make_plot,
)
from rpnb.report.charts.live import member_figure, plot_figure
from rpnb.report.charts.members import member_panels
from rpnb.report.frame import frame
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
from rpnb.report.sections.calibration import calibration_section
from rpnb.report.sections.confusion_matrix import (
    MOST_CLASSES,
    confusion_section,
    not_shown,
)
from rpnb.report.sections.late_labels import changes_section, waiting_section
from rpnb.report.sections.row_reasons import LastRows, reasons_section
from rpnb.report.table_text import DASH, percent_text

#: Largest number of parts of the stream in charts.
_PARTS = 40
# Classes with their own curve; all others share one.
_CLASSES = 7
# Largest number of columns that are named.
_COLUMNS = 30
# Members of a pool that are shown without unfolding.
_PANELS = 8

_CONTENTS = {
    "summary": "Summary",
    "curves": "Learning curves",
    "differences": "Differences",
    "members": "Members of the pool",
    "balance": "Class balance",
    "scores": "Scores by class",
    "confusion": "Confusion matrix",
    "calibration": "Calibration",
    "waiting": "Before labels arrived",
    "changes": "What changed",
    "reasons": "Explanations",
    "provenance": "How it was made",
}


def stream_page(
    evaluation: Evaluation,
    facts: RunFacts,
    command: str,
    rows: LastRows | None = None,
    hints: Sequence[str] = (),
) -> str:
    """Return the report as one self-contained HTML page.

    `rows` are the last rows of the stream, which the page explains; None for none.
    `hints` are problems, and what to try.
    """
    learners = [each for each in _ranked(evaluation) if not each.reference]
    names = [each.name for each in learners]
    stopped = " The run was stopped: results are for the rows read so far."
    lead = join(
        (
            tag(
                "p",
                f"{evaluation.rows:,} rows with {_columns(facts)} and "
                f"{len(evaluation.frequent_labels())} classes, each predicted before "
                "it was learned." + (stopped if facts.interrupted else ""),
            ),
            tag("p", tag("strong", _verdict(evaluation)), *_confidence(evaluation)),
            _tiles(evaluation),
            *(tag("p", capital(hint), class_="advice") for hint in hints),
        )
    )
    pools = [each for each in learners if hasattr(each.model, "member_history_")]
    watch = evaluation.watch
    sections = {
        "summary": _summary(evaluation, facts),
        "curves": _curves(evaluation),
        "differences": _differences(evaluation),
        "members": _members(pools) if pools else None,
        "balance": _balance(evaluation),
        "scores": _scores(evaluation, learners),
        "confusion": confusion_section(evaluation, learners),
        "calibration": calibration_section(learners, names),
        "waiting": None if watch is None else waiting_section(watch),
        "changes": None if watch is None else changes_section(watch),
        "reasons": reasons_section(learners, rows, evaluation.rows, facts.categories),
        "provenance": _provenance(evaluation, facts, command),
    }
    there = {name: each for name, each in sections.items() if each is not None}
    contents = {name: _CONTENTS[name] for name in there}
    return frame(f"rpnb: {facts.source}", lead, contents, there.values())


def _columns(facts: RunFacts) -> str:
    """Return how many columns there are, and how many features they became."""
    known = (facts.numbers, facts.categories, facts.texts, facts.dates)
    columns = sum(map(len, known))
    if columns in (0, facts.p):
        return f"{facts.p:,} features"
    named = "column" if columns == 1 else "columns"
    return f"{columns:,} {named} ({facts.p:,} features)"


def _ranked(evaluation: Evaluation) -> list[Participant]:
    """Return learners and references, sorted by their mistakes."""
    return sorted(evaluation.participants, key=lambda each: each.confusion.mistakes)


def _winner(evaluation: Evaluation) -> str:
    """Return the name of the learner with the fewest mistakes."""
    return next(each.name for each in _ranked(evaluation) if not each.reference)


def _verdict(evaluation: Evaluation) -> str:
    """Return a sentence on which learner has the lowest error."""
    ranked = _ranked(evaluation)
    learners = [each for each in ranked if not each.reference]
    references = [each for each in ranked if each.reference]
    best = learners[0]
    sentence = f"{best.name} has an error of {_percent(best)}"
    if len(learners) > 1:
        second = learners[1]
        if second.confusion.mistakes == best.confusion.mistakes:
            sentence += f", as does {second.name}"
        else:
            sentence = (
                f"{best.name} has the lowest error, {_percent(best)}, "
                f"ahead of {second.name} with {_percent(second)}"
            )
    if references:
        simple = references[0]
        beaten = best.confusion.mistakes < simple.confusion.mistakes
        sentence += f"; the better reference, {simple.name}, has {_percent(simple)}" + (
            "." if beaten else ", which no learner beats."
        )
        return sentence
    return sentence + "."


def _confidence(evaluation: Evaluation) -> list[str]:
    """Return a sentence on how sure the ranking is, or none if that is unknown."""
    sentence = significance_sentence(evaluation.compare_with_best(_errors(evaluation)))
    return [] if sentence is None else [f" {sentence}"]


def _percent(participant: Participant) -> str:
    return percent_text(participant.confusion.error)


def _tiles(evaluation: Evaluation) -> Html:
    """Return the errors of the best two learners and of the better reference."""
    ranked = _ranked(evaluation)
    best, *others = [each for each in ranked if not each.reference]
    shown = [("lowest error", best)]
    shown += [("second", each) for each in others[:1]]
    shown += [("reference", each) for each in ranked if each.reference][:1]
    items = (
        tag(
            "li",
            tag("b", _percent(each)),
            tag("span", each.name),
            tag("small", what),
            class_="first" if each is best else None,
        )
        for what, each in shown
    )
    return tag("ul", *items, class_="tiles figures")


def _summary(evaluation: Evaluation, facts: RunFacts) -> Html:
    """Return the table of learners with their figures, best first."""
    ranked, winner = _ranked(evaluation), _winner(evaluation)
    confusions = [each.confusion for each in ranked]
    measured = [each.measure(facts.metrics)["cumulative"] for each in confusions]
    figures = [
        ([each.error for each in confusions], True),
        ([each.window_error for each in confusions], True),
        ([true_class_macro_f1(each.counts) for each in confusions], False),
        *(
            ([found[name] for found in measured], name in LOSSES)
            for name in facts.metrics
        ),
    ]
    columns = [
        best_bold(values, [figure_text(value) for value in values], lowest=lowest)
        for values, lowest in figures
    ]
    columns.append([f"{each.model.n_updates_:,}" for each in ranked])
    columns.append([f"{each.seconds:.2f}" for each in ranked])
    lines = [
        row(each.name, cells, best=each.name == winner)
        for each, cells in zip(ranked, zip(*columns, strict=True), strict=True)
    ]
    head = (
        *("Learner", "Error", f"Last {facts.window:,} rows"),
        *("Macro F1", *(capital(title_of(name)) for name in facts.metrics)),
        *("Updates", "Seconds"),
    )
    caption = (
        "Sorted by error; ★ marks the best learner, bold the best value of a column. "
        "Error: share of wrong predictions. Macro F1: mean over the classes. Updates: "
        "rows that changed the model."
    )
    if any(each.reference for each in evaluation.participants):
        caption += (
            " The references predict the most frequent class so far, and the class of "
            "the previous row."
        )
    body = tag("tbody", *lines)
    return section("summary", "Summary", table(caption, head, [body], label="Summary"))


def _differences(evaluation: Evaluation) -> Html | None:
    """Return a table of differences from the best learner; None for one learner."""
    found = {
        "Error": evaluation.compare_with_best(_errors(evaluation)),
        "Log-loss": evaluation.compare_with_best(
            evaluation.log_losses(), loss="log_loss"
        ),
    }
    lines = [
        row(f"{each.first} − {each.second}", (loss, *_cells_of(each)))
        for loss, differences in found.items()
        for each in differences
    ]
    if not lines:
        return None
    caption = (
        "Loss of the best learner minus that of each other one. The intervals of a "
        "loss hold together, at all rows, with a probability of 95 %. Here a row has a "
        "log-loss of at most log 1,000."
    )
    head = ("Learners", "Loss", "Difference", "Low", "High", "Lower")
    body = tag("tbody", *lines)
    shown = table(caption, head, [body], label="Differences")
    return section("differences", "Differences", shown)


def _cells_of(found: Difference) -> list[str]:
    ends = (found.mean[-1], found.low[-1], found.high[-1])
    return [*(f"{end:+.4f}" for end in ends), found.better or "not significant"]


def _errors(evaluation: Evaluation) -> dict[str, float]:
    """Return the error of each learner, references left out."""
    return {
        each.name: each.confusion.error
        for each in evaluation.participants
        if not each.reference
    }


def _curves(evaluation: Evaluation) -> Html:
    """Return learning curves: over all rows so far, and by parts of the stream."""
    ranked = [each for each in _ranked(evaluation) if not each.reference]
    ranked += [each for each in _ranked(evaluation) if each.reference]
    names = [each.name for each in ranked]
    leading = [each.name for each in ranked if not each.reference][:MOST_EMPHASISED]
    alarms = {
        each.name: [row + 1 for row in each.model.drifts_]
        for each in evaluation.participants
        if getattr(each.model, "drifts_", None)
    }
    measures: dict[str, tuple[Measure, str]] = {
        "all rows so far": ("error", "Share of mistakes among all rows so far"),
        f"parts of the stream, up to {_PARTS}": (
            "window",
            "Share of mistakes in each part of the stream",
        ),
    }
    panels = {}
    for name, (measure, title) in measures.items():
        plot = make_plot(
            title,
            (_curve(each, measure) for each in ranked),
            measure,
            emphasised=leading,
            names=names,
            alarms=alarms,
        )
        panels[name] = plot_figure(plot, _curve_caption(plot, title))
    return section("curves", "Learning curves", choice("Error in", panels))


def _curve_caption(plot: Plot, title: str) -> str:
    caption = f"{title}; in colour: {listed(plot.emphasised)}."
    if plot.low > 0.0:
        caption += " The axis does not start at 0."
    if any(float(curve.mean.max()) > plot.high for curve in plot.curves):
        caption += " Values far above those of the learners are cut off."
    if plot.alarms:
        caption += " Triangles mark alarms of drift detectors."
    return caption


def _members(pools: Sequence[Participant]) -> Html:
    """Return the members of pools: a small panel each, and a table to unfold."""
    parts: list[Html] = []
    cut_off = False
    for participant in pools:
        members = member_panels(participant.model.member_history_)
        cut_off |= any(each.error.max() > each.high for each in members)
        panels = [member_figure(each) for each in members]
        errors = participant.model.member_errors_
        weights = participant.model.weights_
        shown = {name: f"{weight:.3f}" for name, weight in weights.items()}
        lines = [
            row(name, (f"{errors[name]:.4f}", shown.get(name, DASH)))
            for name in sorted(errors, key=lambda name: errors[name])
        ]
        if len(pools) > 1:
            parts.append(tag("h3", participant.name))
        parts.append(tag("div", *panels[:_PANELS], class_="multiples"))
        if panels[_PANELS:]:
            more = tag("div", *panels[_PANELS:], class_="multiples")
            left = len(panels) - _PANELS
            named = f"{left} more {'member' if left == 1 else 'members'}"
            parts.append(tag("details", tag("summary", named), more))
        caption = (
            f"{participant.name}: error of each member alone over all rows, the best "
            "first, and its final weight in the pool."
        )
        numbers = table(
            caption,
            ("Member", "Error", "Weight"),
            [tag("tbody", *lines)],
            label=f"Members of {participant.name}",
        )
        parts.append(tag("details", tag("summary", "The numbers"), numbers))
    note = (
        "One panel per member, the largest final weight first. Blue line: error of the "
        "member alone in parts of the stream; grey line: error of the pool; blue area: "
        "weight of the member. The numbers are those at the end."
    )
    if cut_off:
        note += " Values far above those of the pool are cut off."
    return section(
        "members", _CONTENTS["members"], tag("p", note, class_="note"), *parts
    )


def _curve(participant: Participant, measure: Measure) -> Curve:
    places, counts = participant.confusion.history.places()
    mistakes = counts[:, 1]
    if measure == "window":
        edges, at = _parts(places)
        totals = np.concatenate(([0], mistakes[at]))
        values = np.diff(totals) / np.diff(edges)
        rows = edges[1:]
    else:
        values = mistakes / places
        rows = places.astype(np.float64)
    none = np.zeros_like(rows)
    return Curve(participant.name, rows, values, none, 1, participant.reference)


def _parts(places: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the edges of parts of the stream, and the indices of their ends."""
    step = -(-places.shape[0] // _PARTS)
    at = np.arange(step - 1, places.shape[0], step)
    last = places.shape[0] - 1
    if not at.size or at[-1] != last:
        at = np.append(at, last)
    # A short last part would show a few rows; it belongs to the part before.
    if at.size > 2 and 2 * (places[at[-1]] - places[at[-2]]) < (
        places[at[-2]] - places[at[-3]]
    ):
        at = np.delete(at, -2)
    return np.concatenate(([0], places[at])).astype(np.float64), at


def _balance(evaluation: Evaluation) -> Html:
    """Return the share of each class in each part of the stream."""
    labels = evaluation.labels.labels
    places, counts = evaluation.class_history.places()
    edges, at = _parts(places)
    zeros = np.zeros((1, counts.shape[1]), np.int64)
    parts = np.diff(np.concatenate([zeros, counts[at]]), axis=0)
    frequent = evaluation.frequent_labels()
    shown, rest = frequent[:_CLASSES], frequent[_CLASSES:]
    columns = [parts[:, k] for k in shown]
    names = [str(labels[k]) for k in shown]
    if rest:
        columns.append(parts[:, rest].sum(axis=1))
        names.append(f"{len(rest)} others")
    totals = parts.sum(axis=1)
    # The axis fits single classes: the sum of many others may lie far above it.
    curves = [
        Curve(name, edges[1:], column / totals, np.zeros(len(totals)), 1, k >= _CLASSES)
        for k, (name, column) in enumerate(zip(names, columns, strict=True))
    ]
    title = f"Share of each class in up to {_PARTS} parts of the stream"
    plot = make_plot(title, curves, "share", emphasised=names[:MOST_EMPHASISED])
    caption = f"{title}; the most frequent classes in colour."
    if float(curves[-1].mean.max()) > plot.high:
        caption += f" The sum of {names[-1]} lies above the axis."
    return section("balance", "Class balance", plot_figure(plot, caption), fold=True)


def _scores(evaluation: Evaluation, learners: Sequence[Participant]) -> Html:
    """Return tables of F1, recall and precision: classes down, learners across."""
    labels, frequent = evaluation.labels.labels, evaluation.frequent_labels()
    scores = [class_scores(each.confusion.counts) for each in learners]
    counts = learners[0].confusion.counts
    more = len(frequent) - MOST_CLASSES
    rest = not_shown(more)
    meanings = {
        "f1": ("F1", "the harmonic mean of precision and recall"),
        "recall": ("Recall", "the share of the class's rows predicted correctly"),
        "precision": ("Precision", "the share of its predictions that are correct"),
    }
    tables = {}
    for field, (title, meaning) in meanings.items():
        lines = []
        for k in frequent[:MOST_CLASSES]:
            values = [float(getattr(each, field)[k]) for each in scores]
            lines.append(
                row(
                    str(labels[k]),
                    (
                        f"{int(counts[k].sum()):,}",
                        *best_bold(values, [f"{v:.4f}" for v in values]),
                    ),
                )
            )
        caption = f"{title} by class, {meaning}; the most frequent class first.{rest}"
        head = ("Class", "Rows", *(each.name for each in learners))
        body = [tag("tbody", *lines)]
        tables[title] = table(caption, head, body, label=f"{title} by class")
    return section("scores", "Scores by class", choice("Measure", tables), fold=True)


def _provenance(evaluation: Evaluation, facts: RunFacts, command: str) -> Html:
    """Return how the results were obtained: version, command, columns, alarms."""
    order = "as in the file" if facts.order == "file" else f"random, {facts.order}"
    found = {
        "Version": f"rpnb {__version__}",
        "Command": tag("code", command),
        "Order of the rows": order,
        "Time": f"{facts.seconds:.1f} s",
    }
    if facts.numbers:
        shown, more = facts.numbers[:_COLUMNS], len(facts.numbers) - _COLUMNS
        rest = (f"{more:,} more",) if more > 0 else ()
        found["Numeric columns"] = ", ".join((*shown, *rest))
    if facts.categories:
        found["Categorical columns"] = ", ".join(
            f"{name} ({count:,} {'value' if count == 1 else 'values'})"
            for name, count in facts.categories.items()
        )
    if facts.texts:
        found["Text columns"] = ", ".join(facts.texts)
    if facts.dates:
        found["Date columns"] = ", ".join(facts.dates)
    if facts.dropped:
        found["Columns left out"] = ", ".join(
            f"{name} ({why})" for name, why in facts.dropped.items()
        )
    if facts.scaled:
        found["Scaled online"] = ", ".join(facts.scaled)
    alarms: dict[str, list[str]] = {}
    for participant in evaluation.participants:
        drifts = getattr(participant.model, "drifts_", None)
        if drifts is not None:
            rows = ", ".join(f"{each:,}" for each in drifts) or "none"
            alarms.setdefault(rows, []).append(participant.name)
    if alarms:
        found["Drift alarms, by row"] = "; ".join(
            f"{rows} ({', '.join(names)})" for rows, names in alarms.items()
        )
    for number, note in enumerate(facts.notes, 1):
        found[f"Note {number}"] = note
    if facts.loaded is not None:
        found["Resumed from"] = facts.loaded
    for participant in evaluation.participants:
        model: Any = participant.model
        given = stream_parameters(model).items()
        text = ", ".join(f"{name}={value!r}" for name, value in given)
        found[participant.name] = tag("code", text or "no parameters")
    terms = (join((tag("dt", name), tag("dd", text))) for name, text in found.items())
    return section("provenance", "How it was made", tag("dl", *terms), fold=True)
