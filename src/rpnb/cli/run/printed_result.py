"""Results of a run as a table or as JSON."""

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rpnb._version import __version__
from rpnb.cli.progress_line import duration
from rpnb.cli.run.advice import advice, column_lines, warning
from rpnb.cli.run.stream_progress import memory
from rpnb.estimators.registry import stream_parameters
from rpnb.evaluate.differences import significance_sentence
from rpnb.evaluate.evaluation import Evaluation, Participant
from rpnb.evaluate.metrics import (
    Metric,
    class_scores,
    figure_text,
    title_of,
    true_class_macro_f1,
)
from rpnb.evaluate.result import RunFacts
from rpnb.report.table_text import TextTable, to_text

# Largest number of drift alarms that are listed.
_ALARMS = 8
# Notes on how a learner combines densities, as in the tables of the study.
_DENSITIES = {
    "log": 'logarithms of densities are added (density="log"), which is numerically '
    "stable; MOA and the paper multiply densities",
    "product": "densities are multiplied as in MOA and underflow in high dimensions "
    '(density="product")',
}


def as_table(evaluation: Evaluation, facts: RunFacts) -> str:
    """Return the results as a table of text."""
    table = TextTable(
        "\n".join([_title(evaluation, facts), *column_lines(facts)]),
        (
            *("learner", "error", f"last {facts.window:,}", "macro F1"),
            *(title_of(name) for name in facts.metrics),
            *("updates", "rows/s"),
        ),
        tuple(_line(each, facts.metrics) for each in evaluation.participants),
        tuple(_notes(evaluation, facts)),
    )
    first = warning(evaluation, facts)
    return to_text(table) if first is None else f"{first}\n\n{to_text(table)}"


def _title(evaluation: Evaluation, facts: RunFacts) -> str:
    """Return the size of the data and the order of the rows."""
    classes = len(evaluation.frequent_labels())
    order = (
        "in the order of the file"
        if facts.order == "file"
        else f"shuffled with {facts.order}"
    )
    return (
        f"{facts.source}: {_rows(evaluation.rows)}, {facts.p} "
        f"{'feature' if facts.p == 1 else 'features'}, "
        f"{classes} {'class' if classes == 1 else 'classes'}, {order}"
    )


def _line(participant: Participant, metrics: Sequence[Metric]) -> tuple[str, ...]:
    """Return the figures of a learner, a line of the table."""
    confusion = participant.confusion
    figures = confusion.measure(metrics)["cumulative"]
    return (
        participant.name,
        f"{confusion.error:.4f}",
        f"{confusion.window_error:.4f}",
        f"{true_class_macro_f1(confusion.counts):.4f}",
        *(figure_text(figures[name]) for name in metrics),
        f"{participant.model.n_updates_:,}",
        f"{confusion.rows / max(participant.seconds, 1e-9):,.0f}",
    )


def _notes(evaluation: Evaluation, facts: RunFacts) -> Iterator[str]:
    """Yield the notes below the table."""
    yield _cost(evaluation, facts)
    yield from _comparison(evaluation)
    yield from _notes_on_learners(evaluation, facts)
    yield from (f"Note: {note}." for note in facts.notes)
    yield from advice(evaluation, facts)
    yield from _notes_on_training(facts)
    yield from (f"Wrote {path}." for path in facts.written)
    if evaluation.unlabelled:
        were = "was" if evaluation.unlabelled == 1 else "were"
        yield (
            f"{_rows(evaluation.unlabelled)} without a label {were} predicted, but "
            "neither learned nor scored."
        )


def _cost(evaluation: Evaluation, facts: RunFacts) -> str:
    """Return the time and memory that the run took."""
    megabytes = memory(peak=True)
    speed = f"{evaluation.rows / max(facts.seconds, 1e-9):,.0f} rows/s overall"
    peak = "" if megabytes is None else f", peak memory {megabytes:.0f} MB"
    return f"{_seconds(facts)}, {speed}{peak}"


def _comparison(evaluation: Evaluation) -> Iterator[str]:
    """Yield which of several learners is the best, and whether by chance."""
    learners = [each for each in evaluation.participants if not each.reference]
    if len(learners) > 1:
        best = min(learners, key=lambda each: each.confusion.mistakes)
        errors = {each.name: each.confusion.error for each in learners}
        sentence = significance_sentence(evaluation.compare_with_best(errors))
        yield " ".join(filter(None, (f"Lowest error: {best.name}.", sentence)))


def _notes_on_learners(evaluation: Evaluation, facts: RunFacts) -> Iterator[str]:
    """Yield how learners scale, when they noticed drift, how they add densities."""
    if facts.scaled:
        yield (
            "Scaled online (running mean and standard deviation): "
            f"{', '.join(facts.scaled)}."
        )
    for each in evaluation.participants:
        if hasattr(each.model, "drifts_"):
            yield f"{each.name}: {_alarms(each.model.drifts_)}"
    yield from facts.advice
    for each in evaluation.participants:
        if hasattr(_inner(each.model), "density"):
            yield f"{each.name}: {_DENSITIES[_inner(each.model).density]}"


def _notes_on_training(facts: RunFacts) -> Iterator[str]:
    """Yield which rows the models have learned, and how to use them."""
    if facts.loaded is not None:
        yield (
            f"Resumed from {facts.loaded}: updates count all rows, errors only those "
            "of this file; the references started from scratch."
        )
    if facts.table:
        yield (
            "Rows were shuffled, and each was predicted before it was learned: expect "
            "about the error of the last rows, or less, on new rows."
        )
        words = ["--load", str(facts.saved)]
        command = " ".join(filter(None, (shlex.join(words), facts.reading)))
        yield f"Predict new rows: rpnb predict NEW_FILE {command}"
    if facts.interrupted:
        yield "Stopped by Ctrl-C: results are for the rows read so far."


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def _seconds(facts: RunFacts) -> str:
    """Return the time of a run, with decimals if it is short."""
    return f"{facts.seconds:.2f} s" if facts.seconds < 10.0 else duration(facts.seconds)


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
    """Return the differences in error between the best learner and all others."""
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
    """Return the learner inside a drift detector or a pipeline, or the learner."""
    model = getattr(model, "model", model)  # behind a drift detector
    return getattr(model, "learner", model)


def _alarms(rows: list[int]) -> str:
    """Return a text with the number and the rows of drift alarms."""
    if not rows:
        return "no drift alarm"
    some = ", ".join(f"{row:,}" for row in rows[:_ALARMS])
    more = f" and {len(rows) - _ALARMS} more" if len(rows) > _ALARMS else ""
    word = "alarm" if len(rows) == 1 else "alarms"
    where = "row" if len(rows) == 1 else "rows"
    return f"{len(rows)} drift {word}, at {where} {some}{more}"


def _learner(
    participant: Participant, order: list[int], metrics: Sequence[Metric]
) -> dict[str, Any]:
    """Return the results of a learner as JSON values."""
    confusion = participant.confusion
    figures = confusion.measure(metrics)["cumulative"]
    scores = class_scores(confusion.counts)
    parameters = _inner(participant.model)
    return {
        "name": participant.name,
        "reference": participant.reference,
        "parameters": {
            name: value
            for name, value in stream_parameters(parameters).items()
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
