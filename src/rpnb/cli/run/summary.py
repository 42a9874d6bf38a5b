"""The results of a run: as a table, or as JSON."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from rpnb._version import __version__
from rpnb.cli.progress import duration
from rpnb.cli.run.advice import advice, column_lines, warning
from rpnb.cli.run.stream_progress import memory
from rpnb.evaluate.differences import told_apart
from rpnb.evaluate.evaluation import Evaluation, Participant
from rpnb.evaluate.metrics import (
    Metric,
    class_scores,
    figure_text,
    title_of,
    true_class_macro_f1,
)
from rpnb.evaluate.result import RunFacts
from rpnb.report.tables import TextTable, to_text

# Alarms of a drift detector that are listed.
_ALARMS = 8
# Notes on how a learner's densities were combined, as in the study's tables.
_DENSITIES = {
    "log": 'logarithms of densities are added (density="log"), which is sound; MOA and '
    "the paper's figures multiply densities",
    "product": "densities are multiplied as in MOA and underflow in high dimension "
    '(density="product")',
}


def as_table(evaluation: Evaluation, facts: RunFacts) -> str:
    """Return the results as a table of text."""
    order = (
        "in the order of the file"
        if facts.order == "file"
        else (f"shuffled with {facts.order}")
    )
    lines = []
    for participant in evaluation.participants:
        confusion = participant.confusion
        figures = confusion.measure(facts.metrics)["cumulative"]
        lines.append(
            (
                participant.name,
                f"{confusion.error:.4f}",
                f"{confusion.window_error:.4f}",
                f"{true_class_macro_f1(confusion.counts):.4f}",
                *(figure_text(figures[name]) for name in facts.metrics),
                f"{participant.model.n_updates_:,}",
                f"{confusion.rows / max(participant.seconds, 1e-9):,.0f}",
            )
        )
    classes = len(evaluation.frequent_labels())
    learners = [each for each in evaluation.participants if not each.reference]
    megabytes = memory(peak=True)
    notes = [
        f"{duration(facts.seconds)}, {evaluation.rows / max(facts.seconds, 1e-9):,.0f} "
        "rows/s in all" + ("" if megabytes is None else f", at most {megabytes:.0f} MB")
    ]
    if len(learners) > 1:
        best = min(learners, key=lambda each: each.confusion.mistakes)
        errors = {each.name: each.confusion.error for each in learners}
        sentence = told_apart(evaluation.compare_with_best(errors))
        notes.append(" ".join(filter(None, (f"Lowest error: {best.name}.", sentence))))
    if facts.scaled:
        notes.append(
            f"Each row scaled by the rows before it: {', '.join(facts.scaled)}."
        )
    notes += [
        f"{each.name}: {_alarms(each.model.drifts_)}"
        for each in evaluation.participants
        if hasattr(each.model, "drifts_")
    ]
    notes += facts.advice
    notes += [
        f"{each.name}: {_DENSITIES[_inner(each.model).density]}"
        for each in evaluation.participants
        if hasattr(_inner(each.model), "density")
    ]
    notes += [f"Note: {note}." for note in facts.notes]
    notes += advice(evaluation, facts)
    if facts.loaded is not None:
        notes.append(
            f"Resumed {facts.loaded}; errors are of this file's rows, updates of all, "
            "and the references started anew."
        )
    if facts.table:
        notes.append(
            "Each row was predicted before it was learned, in random order: expect "
            "about the error of the last rows, or less, for new rows."
        )
        notes.append(f"Use it: rpnb predict NEW_FILE --load {facts.saved}")
    if facts.interrupted:
        notes.append("Stopped by Ctrl-C: the figures are of the rows so far.")
    notes += [f"written: {path}" for path in facts.written]
    if evaluation.unlabelled:
        notes.append(
            f"{evaluation.unlabelled:,} rows without a label were predicted, and are "
            "neither learned nor among the figures."
        )
    title = (
        f"{facts.source}: {evaluation.rows:,} rows, {facts.p} features, "
        f"{classes} {'class' if classes == 1 else 'classes'}, {order}"
    )
    table = TextTable(
        "\n".join([title, *column_lines(facts)]),
        (
            *("learner", "error", f"last {facts.window:,}", "macro F1"),
            *(title_of(name) for name in facts.metrics),
            *("updates", "rows/s"),
        ),
        tuple(lines),
        tuple(notes),
    )
    said = warning(evaluation, facts)
    return to_text(table) if said is None else f"{said}\n\n{to_text(table)}"


def as_json(evaluation: Evaluation, facts: RunFacts) -> str:
    """Return the results as one JSON object on a line."""
    order = evaluation.sorted_labels()
    megabytes = memory(peak=True)
    return (
        json.dumps(
            {
                "rpnb_version": __version__,
                "source": facts.source,
                "rows": evaluation.rows,
                "unlabelled": evaluation.unlabelled,
                "features": facts.p,
                "columns": {
                    "numbers": list(facts.numbers),
                    "categories": dict(facts.categories),
                    "texts": list(facts.texts),
                    "dates": list(facts.dates),
                    "dropped": dict(facts.dropped),
                },
                "notes": [*facts.notes, *advice(evaluation, facts)],
                "classes": [evaluation.labels.labels[i] for i in order],
                "order": facts.order,
                "window": facts.window,
                "seconds": round(facts.seconds, 3),
                "peak_megabytes": None if megabytes is None else round(megabytes, 1),
                "interrupted": facts.interrupted,
                "warning": warning(evaluation, facts),
                "loaded": facts.loaded,
                "written": list(facts.written),
                "scaled": list(facts.scaled),
                "advice": list(facts.advice),
                "differences": _differences(evaluation),
                "learners": [
                    _learner(participant, order, facts.metrics)
                    for participant in evaluation.participants
                ],
            },
            ensure_ascii=False,
            allow_nan=False,
        )
        + "\n"
    )


def _differences(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return the differences of the best learner's error from those of the others."""
    learners = [each for each in evaluation.participants if not each.reference]
    errors = {each.name: each.confusion.error for each in learners}
    return [
        {
            "best": each.first,
            "other": each.second,
            "error": float(each.mean[-1]),
            "low": float(each.low[-1]),
            "high": float(each.high[-1]),
        }
        for each in evaluation.compare_with_best(errors)
    ]


def _inner(model: Any) -> Any:
    """Return the learner itself, of one whose rows are scaled the learner inside."""
    model = getattr(model, "model", model)  # behind a drift detector
    return getattr(model, "learner", model)


def _alarms(rows: list[int]) -> str:
    """Return when a drift detector gave alarms, in words."""
    if not rows:
        return "no alarm of the drift detector"
    some = ", ".join(f"{row:,}" for row in rows[:_ALARMS])
    more = f" and {len(rows) - _ALARMS} more" if len(rows) > _ALARMS else ""
    word = "alarm" if len(rows) == 1 else "alarms"
    return f"{len(rows)} {word} of the drift detector, at row {some}{more}"


def _learner(
    participant: Participant, order: list[int], metrics: Sequence[Metric]
) -> dict[str, Any]:
    confusion = participant.confusion
    figures = confusion.measure(metrics)["cumulative"]
    scores = class_scores(confusion.counts)
    parameters = _inner(participant.model)
    return {
        "name": participant.name,
        "reference": participant.reference,
        "parameters": {
            name: value
            for name, value in parameters.get_params(deep=False).items()
            if isinstance(value, int | float | str | None)
        },
        "error": confusion.error,
        "window_error": confusion.window_error,
        "macro_f1": true_class_macro_f1(confusion.counts),
        "metrics": {
            name: value if value == value else None for name, value in figures.items()
        },
        "mistakes": confusion.mistakes,
        "updates": int(participant.model.n_updates_),
        "seconds": round(participant.seconds, 6),
        "confusion": confusion.counts[np.ix_(order, [*order, len(order)])].tolist(),
        "precision": scores.precision[order].tolist(),
        "recall": scores.recall[order].tolist(),
        "f1": scores.f1[order].tolist(),
        **(
            {"drifts": participant.model.drifts_}
            if hasattr(participant.model, "drifts_")
            else {}
        ),
    }
