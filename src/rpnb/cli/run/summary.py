"""What a pass over a stream found: a table for people, JSON for machines."""

import json
from typing import Any

import numpy as np

from rpnb._version import __version__
from rpnb.cli.progress import duration
from rpnb.cli.run.stream_progress import memory
from rpnb.evaluate.confusion import ErrorCounts
from rpnb.evaluate.metrics import class_scores
from rpnb.evaluate.player import Participant
from rpnb.evaluate.side_by_side import FileEvaluation, RunFacts
from rpnb.report.tables import TextTable, to_text

# Which of its forms a learner was run in, as the study's tables say it.
_DENSITIES = {
    "log": 'logarithms of densities are added (density="log"), which is sound; MOA and '
    "the paper's figures multiply densities",
    "product": "densities are multiplied as in MOA and underflow in high dimension "
    '(density="product")',
}


def as_table(contest: FileEvaluation, facts: RunFacts) -> str:
    """Return the results for people."""
    order = (
        "in the order of the file"
        if facts.order == "file"
        else (f"shuffled with {facts.order}")
    )
    lines = []
    for player in contest.players:
        tally = player.record
        lines.append(
            (
                player.name,
                f"{tally.error:.4f}",
                f"{tally.window_error:.4f}",
                f"{player.record.macro_f1:.4f}",
                f"{player.model.n_updates_:,}",
                f"{tally.rows / max(player.seconds, 1e-9):,.0f}",
            )
        )
    classes = len(contest.occurring())
    megabytes = memory(peak=True)
    notes = [
        f"{duration(facts.seconds)}, {contest.rows / max(facts.seconds, 1e-9):,.0f} "
        "rows/s in all" + ("" if megabytes is None else f", at most {megabytes:.0f} MB")
    ]
    notes += [
        f"{player.name}: {_DENSITIES[player.model.density]}"
        for player in contest.players
        if hasattr(player.model, "density")
    ]
    if facts.loaded is not None:
        notes.append(
            f"Went on with {facts.loaded}; errors are of this file's rows, updates of "
            "all, and the references began anew."
        )
    if facts.interrupted:
        notes.append("Stopped by Ctrl-C: the figures are of the rows so far.")
    notes += [f"written: {path}" for path in facts.written]
    table = TextTable(
        f"{facts.source}: {contest.rows:,} rows, {facts.p} features, "
        f"{classes} classes, {order}",
        ("learner", "error", f"last {facts.window:,}", "macro F1", "updates", "rows/s"),
        tuple(lines),
        tuple(notes),
    )
    return to_text(table)


def as_json(contest: FileEvaluation, facts: RunFacts) -> str:
    """Return the results as one JSON object on a line."""
    order = contest.sorted_labels()
    megabytes = memory(peak=True)
    return (
        json.dumps(
            {
                "rpnb_version": __version__,
                "source": facts.source,
                "rows": contest.rows,
                "features": facts.p,
                "classes": [contest.labels[i] for i in order],
                "order": facts.order,
                "window": facts.window,
                "seconds": round(facts.seconds, 3),
                "peak_megabytes": None if megabytes is None else round(megabytes, 1),
                "interrupted": facts.interrupted,
                "loaded": facts.loaded,
                "written": list(facts.written),
                "learners": [_learner(player, order) for player in contest.players],
            },
            ensure_ascii=False,
            allow_nan=False,
        )
        + "\n"
    )


def _learner(player: Participant[ErrorCounts], order: list[int]) -> dict[str, Any]:
    tally = player.record
    scores = class_scores(tally.counts)
    parameters: Any = player.model
    return {
        "name": player.name,
        "reference": player.reference,
        "parameters": {
            name: value
            for name, value in parameters.get_params(deep=False).items()
            if isinstance(value, int | float | str | None)
        },
        "error": tally.error,
        "window_error": tally.window_error,
        "macro_f1": player.record.macro_f1,
        "mistakes": tally.mistakes,
        "updates": int(player.model.n_updates_),
        "seconds": round(player.seconds, 6),
        "confusion": tally.counts[np.ix_(order, [*order, len(order)])].tolist(),
        "precision": scores.precision[order].tolist(),
        "recall": scores.recall[order].tolist(),
        "f1": scores.f1[order].tolist(),
    }
