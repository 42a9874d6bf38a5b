"""Asking for the labels of some rows, for every learner with probabilities."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples

from rpnb.core.asking import Asking, draw_rows
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.estimators.checks.parameters import check_integer, check_real
from rpnb.estimators.saving.estimator import SavedEstimator
from rpnb.estimators.saving.schema import StateSchema, check_arrays, reals
from rpnb.estimators.stream.activity import lock_of
from rpnb.estimators.stream.prediction_sets import has_probabilities

#: What a model file calls the rows asked for, and says that it has counted some.
ASKING = "asking"
#: The share of the odds that every row has alike, by default.
RANDOM_SHARE = 0.2


class Questions(NamedTuple):
    """The rows whose labels `ask` asks for."""

    rows: IntArray
    """(k,) their numbers in X, ascending"""
    weights: FloatArray
    """(k,) their importance weights, 1 over the probability of being asked for"""
    probabilities: FloatArray
    """(n,) with which each row of X was to be asked for"""


class AsksForLabels:
    """Abstract: which rows are worth a label, for learners with `predict_proba`."""

    _asking: Asking | None = None
    """the rows that `ask` was given; None as long as it was given none"""

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def ask(
        self,
        X: Any,
        budget: float = 0.05,
        *,
        random_share: float = RANDOM_SHARE,
        random_state: int = 0,
    ) -> Questions:
        """Return which of the next rows of a stream to ask the labels of.

        Rows are drawn one by one, uncertain ones more often, so that about a share
        `budget` of them is asked for: never more than ``budget * n_rows + 31`` on a
        stream whose budget stays the same. Rows about which the model is sure are drawn
        as well, by `random_share`: they show changes that the model does not expect.
        The first 10 rows of a stream are all asked for, also by a model that has
        learned nothing yet.

        Every row is drawn with a known probability. Its inverse is the row's importance
        weight, with which `rpnb.evaluate.estimate_error` estimates the error on all
        rows from those that were asked for; an average without weights would be too
        high. Learn the labels without weights: on most streams that gives the lower
        error.

        The model remembers how many rows it has looked at and asked for, also in files;
        nothing else changes. The result does not depend on how rows are cut into calls,
        as long as the same rows are learned before each.

        Parameters
        ----------
        X : array-like of shape (n, p)
            The next rows of the stream.
        budget : float, default=0.05
            Share of the rows to ask for; above 0, at most 1.
        random_share : float, default=0.2
            Share of the odds of being asked for that is the same for every row. 1 is
            random choice. Small shares give large weights; at least 0.01.
        random_state : int, default=0
            Seed of the draws.

        Returns
        -------
        Questions
            `rows` to ask for, their `weights`, and the `probabilities` of all rows.

        References
        ----------
        I. Žliobaitė, A. Bifet, B. Pfahringer and G. Holmes, "Active learning with
        drifting streaming data", IEEE Transactions on Neural Networks and Learning
        Systems 25, 2014.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb import PooledClassifier
        >>> from rpnb.datasets import streams
        >>> model = PooledClassifier(random_state=0)
        >>> for X, y in streams.mixture(4000, M=3, chunk=50):
        ...     asked = model.ask(X, budget=0.05)
        ...     if len(asked.rows):
        ...         model = model.partial_fit(X[asked.rows], y[asked.rows])
        >>> bool(190 <= model.n_seen_ <= 231)
        True
        """
        model: Any = self
        budget = check_real("budget", budget, 0.0, above=True, high=1.0)
        share = check_real("random_share", random_share, 0.01, high=1.0)
        seed = check_integer("random_state", random_state, 0, None)
        with lock_of(model):
            doubt = doubts(model, X)
            if self._asking is None:
                self._asking = Asking()
            asked, p = draw_rows(self._asking, doubt, budget, share, seed)
        rows = np.flatnonzero(asked)
        return Questions(rows, 1.0 / p[rows], p)


def doubts(model: Any, X: Any) -> FloatArray:
    """Return 1 less the largest probability of each row; 1 where there is none yet."""
    if not model.__sklearn_is_fitted__():
        return np.ones(_num_samples(X))
    # A declared class without rows may have no probability.
    with np.errstate(invalid="ignore", divide="ignore"):
        P = model.predict_next_proba(X)
        largest = P.max(axis=1)
    known = np.isfinite(largest)
    return np.where(known, np.clip(1.0 - largest, 0.0, 1.0), 1.0)


def with_asking(saved: SavedEstimator, asking: Asking | None) -> SavedEstimator:
    """Return what a model file holds of a model that was given rows to ask for."""
    if asking is None:
        return saved
    arrays = {**saved.arrays, ASKING: asking.to_array()}
    return saved._replace(state={**saved.state, ASKING: True}, arrays=arrays)


def has_asking(saved: SavedEstimator) -> bool:
    """Whether a model file says that rows were asked for."""
    return saved.state.get(ASKING) is True


def check_asking(saved: SavedEstimator) -> Asking | None:
    """Return the rows asked for of a model file, None if it has none."""
    if not has_asking(saved):
        return None
    schema = StateSchema({ASKING: reals(4)})
    values = check_arrays({ASKING: saved.arrays[ASKING]}, schema)[ASKING]
    rows, asked, _, mean = values.tolist()
    if not (0.0 <= asked <= rows <= 2.0**53 and 0.0 <= mean <= 1.0):
        raise ValueError("its rows asked for are not counts and a mean")
    return Asking.from_array(values)


def without_asking(saved: SavedEstimator) -> SavedEstimator:
    """Return what a model file holds besides the rows asked for."""
    if not has_asking(saved):
        return saved
    return saved._replace(
        state={name: value for name, value in saved.state.items() if name != ASKING},
        arrays={name: a for name, a in saved.arrays.items() if name != ASKING},
    )
