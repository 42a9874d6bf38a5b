"""Which rows that wait are asked for: their labels are worth the most.

Rows are drawn as by `ask` of the learners (`rpnb.core.asking`), in the order in which
they are written. What was drawn so far is a line of the table `asking`, written in the
transaction of the rows; a row that is asked for has its weight in the table `rows`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from rpnb.core.asking import Asking, draw_rows
from rpnb.serve.commands.command import Command, digest_of
from rpnb.serve.commands.group import Group
from rpnb.serve.models import ServedModel

# The draws of all models: which rows are drawn is no secret.
_SEED = 0


@dataclass(frozen=True, slots=True)
class Budget:
    """How many rows are asked for, as of `ask`."""

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
    """Draw which new rows are asked for; return that and their weights.

    Of rows that were there already it says what was drawn before.
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
    """Return the weight of a row that was written before."""
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
    """The rows that were asked for and wait for their labels, the oldest first."""

    limit: int

    @property
    def digest(self) -> bytes:
        """A digest of the limit."""
        return digest_of("ask", self.limit)

    def write(self, group: Group) -> dict[str, Any]:
        """Read them; nothing is written."""
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
