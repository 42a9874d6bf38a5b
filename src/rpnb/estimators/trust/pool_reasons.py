"""Explanations of a pooled classifier's predictions, by members and by features."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from rpnb.core.columns.coding import WIDTHS
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.pooled.engine import member_scores
from rpnb.core.pooled.model import PooledModel
from rpnb.core.pooled.reasons import (
    Game,
    given_out,
    log_odds,
    member_terms,
    shapley_values,
)
from rpnb.estimators.checks.parameters import check_integer
from rpnb.estimators.stream.classifier import StreamClassifier
from rpnb.estimators.trust.reasons import (
    Explanation,
    best_and_rival,
    feature_names,
    shares,
)

#: Name of the constant terms of the classes, listed with the members.
CONSTANTS = "constants"
# Number of feature sets evaluated at once, and largest number of features in which a
# row may differ from the background: time and memory grow with its square.
_AT_ONCE, _MOST_DIFFERENT = 256, 4096
# Number of rows that the scale keeps after the first 256.
_LAST_ROWS = 64
# Fewest and most background rows for columns that are not numbers.
_LEAST_BACKGROUND, _MOST_BACKGROUND = 4, 16
#: Default number of evaluations per row.
EVALUATIONS = 512


def explain_pool(
    model: StreamClassifier,
    X: Any,
    label: Any,
    against: Any,
    background: Any,
    evaluations: Any,
) -> Explanation:
    """Explain rows; the parameters are those of `PooledClassifier.explain`."""
    check_integer("n_evaluations", evaluations, 1)
    rows = model._rows_to_predict(X)
    given = _background(model, background, evaluations, sparse=issparse(rows))
    return _explain(model, rows, label, against, given, evaluations)


def _explain(
    model: StreamClassifier,
    rows: Any,
    label: Any,
    against: Any,
    given: FloatArray | None,
    evaluations: int,
) -> Explanation:
    """Explain rows, given as features of the learner, against background rows."""
    state = model._state
    if np.count_nonzero(state.pool.active) < 2:
        raise ValueError("explain needs at least two classes that have been seen")
    terms = member_terms(state.pool, member_scores(state, rows))
    P = given_out(state.pool, log_odds(terms))
    best, rival = best_and_rival(model, P, state.pool.active, label, against)
    owners = _owners(model)
    n, each = rows.shape[0], np.arange(rows.shape[0])
    members = terms[each, :, best] - terms[each, :, rival]
    base, score = np.empty(n), np.empty(n)
    parts = []
    for i in range(n):
        row = _row(rows, i, given, owners)
        players = row.players.shape[0]
        if players > _MOST_DIFFERENT:
            raise ValueError(
                f"explain needs rows that differ from the background in at most "
                f"{_MOST_DIFFERENT} features, but row {i} differs in {players}: give "
                "sparse rows, or a background closer to them"
            )
        games: list[Game] = [
            partial(_odds, state, best[i], rival[i], row, k)
            for k in range(1 if given is None else given.shape[0])
        ]
        found = shapley_values(games, players, evaluations)
        base[i], score[i] = found.base, found.score
        parts.append((row.players, found.values, found.error))
    values, errors = _tables(parts, rows, model.n_features_in_)
    return Explanation(
        values,
        base,
        score,
        model.classes_[best],
        model.classes_[rival],
        feature_names(model),
        errors,
        members,
        (*state.outputs, CONSTANTS),
    )


def pool_importance(model: StreamClassifier, X: Any) -> FloatArray:
    """Return the shares of the features in the contributions to some rows.

    By default these are the rows that the scale keeps: the last 64.
    """
    if X is None:
        model._require_fitted()
        if model._state.places.shape[0] > 0:
            raise ValueError(
                "X must be given for hashed features: the model keeps no samples"
            )
        rows = _kept_rows(model._state)
    else:
        rows = model._rows_to_predict(X)
    given = _background(model, None, EVALUATIONS, sparse=issparse(rows))
    found = _explain(model, rows, None, None, given, EVALUATIONS)
    return shares(np.asarray(abs(found.values).sum(axis=0)).ravel())


def _kept_rows(state: PooledModel) -> FloatArray:
    """Return the rows that the scale keeps, as features of the learner."""
    seen, rows = int(state.scale.seen[0]), state.scale.rows
    return rows[: seen if seen <= rows.shape[0] else _LAST_ROWS]


def _background(
    model: StreamClassifier, given: Any, evaluations: int, *, sparse: bool
) -> FloatArray | None:
    """Return the background rows (k, p); None where it is zero."""
    if given is None:
        if sparse or model._state.places.shape[0] > 0:
            return None
        return _usual_background(model, evaluations)
    if sparse:
        raise ValueError(
            "background must be None for sparse rows: absent features are zero there"
        )
    rows = model._rows_to_predict(given)
    if issparse(rows):
        raise ValueError("background must be dense for dense rows, got sparse rows")
    return np.asarray(rows, dtype=np.float64)


def _usual_background(model: StreamClassifier, evaluations: int) -> FloatArray:
    """Return rows of the means of numbers, and of recent values of other columns.

    The mean of the features of a category, text or date is not a possible value: a row
    with a third of each of three categories has none of them, and its score differs
    from that of every row, whatever the category tells about the class.
    """
    mean: FloatArray = model._state.scale.mean[None, :].copy()
    frame, owners = model._frame, _owners(model)
    rows = _kept_rows(model._state)
    if frame is None or owners is None or rows.shape[0] == 0:
        return mean
    numbers = np.array([kind == "number" for kind in frame.columns.kinds])
    if numbers.all():
        return mean
    k = evaluations // (2 * numbers.shape[0])
    k = min(max(k, _LEAST_BACKGROUND), _MOST_BACKGROUND, rows.shape[0])
    chosen = rows[np.linspace(0, rows.shape[0] - 1, k).round().astype(np.int64)]
    return np.where(numbers[owners], mean, chosen)


def _owners(model: StreamClassifier) -> IntArray | None:
    """Return the column from which each of the learner's features is derived.

    Returns None if all columns are numbers and used as features directly.
    """
    if model._frame is None:
        return None
    columns, categories = model._frame.columns, model._frame.categories
    widths = [WIDTHS[kind] for kind in columns.kinds]
    owners = np.repeat(np.arange(len(widths)), widths)
    if categories is None:
        return owners
    own = np.ones(owners.shape[0], np.int64)
    for j, place in enumerate(categories.places):
        own[place] = categories.layout.width(j)
    return np.repeat(owners, own)


class _Row(NamedTuple):
    """A row and the background, with the features in which they differ."""

    players: IntArray
    """(m,) the columns whose features differ"""
    places: IntArray
    """(f,) these features"""
    player: IntArray
    """(f,) the column that each is derived from, 0 … m − 1"""
    values: FloatArray
    """(f,) the row's values of these features"""
    background: FloatArray | None
    """(k, p) background rows; None for zeros, where rows are sparse"""
    p: int

    def with_some(self, k: int, masks: BoolArray) -> Any:
        """Return rows with some values of the row (E, m), others of background k."""
        masks = masks[:, self.player]
        if self.background is None:
            at, which = np.nonzero(masks)
            place = self.places[which]
            shape = (masks.shape[0], self.p)
            return csr_array((self.values[which], (at, place)), shape=shape)
        base = self.background[k]
        rows = np.tile(base, (masks.shape[0], 1))
        rows[:, self.places] = np.where(masks, self.values, base[self.places])
        return rows


def _row(
    rows: Any, i: int, background: FloatArray | None, owners: IntArray | None
) -> _Row:
    """Return row i, and where it differs from the background."""
    p = rows.shape[1]
    if issparse(rows):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        places, values = rows.indices[part].astype(np.int64), rows.data[part]
        return _Row(places, places, np.arange(places.shape[0]), values, None, p)
    x: FloatArray = rows[i]
    differs = x != 0.0 if background is None else (x != background).any(axis=0)
    places = np.flatnonzero(differs)
    made_of = places if owners is None else owners[places]
    players, player = np.unique(made_of, return_inverse=True)
    return _Row(players, places, player, x[places], background, p)


def _odds(
    state: PooledModel, best: int, rival: int, row: _Row, k: int, masks: BoolArray
) -> FloatArray:
    """Return the log odds of a row with some of its values: masks (E, m) to (E,)."""
    found = np.empty(masks.shape[0])
    for start in range(0, masks.shape[0], _AT_ONCE):
        rows = row.with_some(k, masks[start : start + _AT_ONCE])
        total = log_odds(member_terms(state.pool, member_scores(state, rows)))
        found[start : start + _AT_ONCE] = total[:, best] - total[:, rival]
    return found


def _tables(
    parts: list[tuple[IntArray, FloatArray, FloatArray]], X: Any, p: int
) -> Any:
    """Return values and errors of all rows (n, p), sparse where the rows are."""
    tables = []
    for which in (1, 2):
        if issparse(X):
            data = np.concatenate([part[which] for part in parts] or [np.zeros(0)])
            tables.append(csr_array((data, X.indices, X.indptr), shape=X.shape))
            continue
        table = np.zeros((X.shape[0], p))
        for line, part in zip(table, parts, strict=True):
            line[part[0]] = part[which]
        tables.append(table)
    return tables
