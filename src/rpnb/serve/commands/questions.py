"""Choosing waiting rows whose labels are worth the most.

Rows are drawn as by the learners' method `ask` (`rpnb.core.asking`), in the order in
which they are written. The state of the draws is a row of the table `asking`, written
in the transaction of the rows; the table `rows` has the weights of chosen rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from rpnb.core.asking import Asking, draw_rows
from rpnb.serve.commands.command import Command, digest_of
from rpnb.serve.commands.group import Group
from rpnb.serve.served_model import ServedModel

# Seed of the draws of all models: which rows are drawn is no secret.
_SEED = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """Parameters of `ask`: shares of rows to ask for, and to draw at random."""

    share: float
    random_share: float


def ask_for_rows(
    group: Group,
    model: ServedModel,
    ids: Sequence[str],
    confidence: Sequence[float | None],
    new: Sequence[bool],
    budget: Budget,
) -> dict[str, Any]:
    """Draw which new rows to ask for; return the choice and the weights as JSON.

    For rows that were in the log already, the earlier draw is returned.
    """
    places = np.flatnonzero(new)
    known = [confidence[i] for i in places.tolist()]
    doubt = np.array([1.0 if each is None else 1.0 - each for each in known])
    random = 1.0 if all(each is None for each in known) else budget.random_share
    state = group.asking.get(model.id) or replace(model.asking)
    asked, p = draw_rows(state, np.clip(doubt, 0.0, 1.0), budget.share, random, _SEED)
    group.asking[model.id] = state
    weights: list[float | None] = [
        None if there else _weight_of(group, model.id, each)
        for each, there in zip(ids, new, strict=True)
    ]
    for i, drawn, chance in zip(places.tolist(), asked, p, strict=True):
        if drawn:
            weights[i] = float(1.0 / chance)
            group.weights[model.id, ids[i]] = float(1.0 / chance)
    return {"asked": [each is not None for each in weights], "weights": weights}


def _weight_of(group: Group, model: int, name: str) -> float | None:
    """Return the weight of a row that is in the log; None if it was not chosen."""
    if (model, name) in group.weights:
        return group.weights[model, name]
    found = group.connection.execute(
        "SELECT weight FROM rows WHERE model=? AND id=?", (model, name)
    ).fetchone()
    weight: float | None = None if found is None else found[0]
    return weight


@final
@dataclass(slots=True, kw_only=True)
class OpenQuestions(Command):
    """List rows that were asked for and wait for their labels, oldest first."""

    limit: int

    @property
    def digest(self) -> bytes:
        """Digest of the limit."""
        return digest_of("ask", self.limit)

    def write(self, group: Group) -> dict[str, Any]:
        """Read the rows; nothing is written."""
        model = group.model(self.name, self.number, changing=False)
        group.flush()
        found = group.connection.execute(
            "SELECT id, time, weight, predicted FROM rows WHERE model=? AND "
            "event IS NULL AND weight IS NOT NULL ORDER BY seq LIMIT ?",
            (model.id, self.limit),
        ).fetchall()
        state: Asking = group.asking.get(model.id) or model.asking
        return {
            "ids": [each[0] for each in found],
            "times": [each[1] for each in found],
            "weights": [each[2] for each in found],
            "offered": int(state.rows),
            "drawn": int(state.asked),
        }
