"""Error on all rows of a model, estimated from the labels of rows that it asked for.

Chosen rows are harder than others, so the error of all labelled rows is too high; with
their weights it is not (`rpnb.evaluate.estimate_error`). The figures are read from the
log when they are requested.
"""

import json
import sqlite3
from contextlib import suppress
from typing import Any, Final

import numpy as np

from rpnb.evaluate.estimates import WeightedMistakes
from rpnb.serve.label_rules import Label

#: Labelled rows of a model that are considered, the latest ones.
MOST: Final = 100_000


def asked_error(
    connection: sqlite3.Connection, model: int, contender: int
) -> dict[str, Any]:
    """Return the estimate for the predictions of one learner; None if unknown."""
    chosen = connection.execute(
        "SELECT seq, event, predicted, weight FROM (SELECT seq, event, predicted, "
        "weight, contender FROM rows WHERE model=? AND event IS NOT NULL "
        "ORDER BY event DESC LIMIT ?) WHERE weight IS NOT NULL AND contender=? "
        "ORDER BY seq",
        (model, MOST, contender),
    ).fetchall()
    labels = _labels_of(connection, sorted({event for _, event, _, _ in chosen}))
    wrong, weights = [], []
    for seq, _, text, weight in chosen:
        with suppress(ValueError, TypeError, KeyError):  # others report the damage
            predicted = json.loads(text)
            if predicted is not None:
                wrong.append(predicted != labels[seq])
                weights.append(float(weight))
    sums = WeightedMistakes()
    sums.add(np.array(wrong, bool), np.array(weights, np.float64))
    found = sums.estimate()
    return {
        "labels": found.labels,
        "error": found.error if found.labels else None,
        "standard_error": found.standard_error if found.labels > 1 else None,
    }


def _labels_of(connection: sqlite3.Connection, events: list[int]) -> dict[int, Label]:
    """Return the labels that events gave to rows, by the numbers of the rows."""
    found: dict[int, Label] = {}
    for event in events:
        line = connection.execute(
            "SELECT body FROM events WHERE id=? AND kind='labels'", (event,)
        ).fetchone()
        with suppress(ValueError, TypeError, KeyError):
            content = json.loads(line[0])
            found |= zip(content["rows"], content["labels"], strict=True)
    return found
