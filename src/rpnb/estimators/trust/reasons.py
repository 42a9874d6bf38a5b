"""Explanations of predictions: Shapley values of one class's score minus another's."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.shapley import quadratic_scores, recovered_mean, shapley_values
from rpnb.estimators.checks.labels import LabelArray, as_labels, encode
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.trust.contributions import (
    NumberedNames,
    Waterfall,
    score_text,
    waterfall,
)
from rpnb.estimators.trust.plots import draw_importance, draw_waterfall

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Number of rows explained at once.
_ROWS = 256
# Number of lines of a table in notebooks, and of features named per line.
_LINES, _NAMED = 15, 3
# Number of characters shown of a value.
_LONGEST = 20


class QuadraticScores(NamedTuple):
    """Scores of M classes as sums of squares of projected rows."""

    R: FloatArray
    """(p, F) projection of rows; (0, F) if it is not kept"""
    mean: FloatArray
    """(M, F)"""
    precision: FloatArray
    """(M, F)"""
    constant: FloatArray
    """(M,) with the class prior"""
    active: BoolArray
    """(M,)"""
    weight: FloatArray
    """(M,) weight seen of each class, for the mean over classes"""


class Explanation(NamedTuple):
    """Why each sample was assigned one class rather than another.

    Attributes
    ----------
    values : array of shape (n_samples, n_features)
        Contribution of each feature to the score; sparse if the samples were.
    base : array of shape (n_samples,)
        Score of the background.
    score : array of shape (n_samples,)
        Score that is explained: base plus the sum of the values.
    labels : array of shape (n_samples,)
        Class that is explained.
    against : array of shape (n_samples,)
        Class whose score is subtracted.
    names : sequence of str
        Names of the features; x1, x2, … if they have none.
    errors : array of shape (n_samples, n_features) or None
        Standard errors of the values, in the same form; None if all are exact.
    members : array of shape (n_samples, n_members) or None
        Contribution of each member of a `PooledClassifier` to the score.
    member_names : tuple of str
        Names of the members; the last is "constants".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rpnb import PooledClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> found = PooledClassifier(random_state=0).fit(X, y).explain(X[:2])
    >>> found.values.shape, found.labels.tolist()
    ((2, 4), [0, 0])
    """

    values: Any
    base: FloatArray
    score: FloatArray
    labels: LabelArray
    against: LabelArray
    names: NDArray[Any] | Sequence[str]
    errors: Any = None
    members: FloatArray | None = None
    member_names: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """Return a table for notebooks: the features of a row, or a line for each."""
        return explanation_table(self)

    def waterfall(self, row: int = 0, *, top: int = 9, X: Any = None) -> Waterfall:
        """Return the steps from the background's score to the score of a sample.

        Parameters
        ----------
        row : int, default=0
            Index of the explained sample.
        top : int, default=9
            Number of features, the most important ones, with their own step; the others
            share one step.
        X : array-like of shape (n_samples, n_features), optional
            The explained samples, to show their values beside the names.

        Returns
        -------
        Waterfall
            Names of the steps, what each adds to the score, and the score before it.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> steps = model.explain(X[:1]).waterfall()
        >>> bool(abs(steps.base + steps.values.sum() - steps.score) < 1e-9)
        True
        """
        n = self.base.shape[0]
        if not -n <= row < n:
            raise IndexError(f"row must be from 0 to {n - 1}, got {row}")
        places, own = row_values(self.values, row)
        names = [str(self.names[i]) for i in places]
        if X is not None:
            given = _cells(X, row, places)
            pairs = zip(names, given, strict=True)
            names = [f"{name} = {cell}" for name, cell in pairs]
        return waterfall(own, names, float(self.base[row]), top)

    def importance(self) -> FloatArray:
        """Return the mean absolute contribution of each feature, as shares of the sum.

        Returns
        -------
        ndarray of shape (n_features,)
            Shares; all zero if no feature contributes anything.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> model.explain(X).importance().shape
        (4,)
        """
        return shares(np.asarray(abs(self.values).sum(axis=0)).ravel())

    def plot(
        self,
        row: int = 0,
        *,
        top: int = 9,
        X: Any = None,
        ax: "Axes | None" = None,
    ) -> "Axes":
        """Draw the steps of a sample as a waterfall chart with matplotlib.

        Bars to the right are evidence for the class, bars to the left for the class it
        is compared with.

        Parameters
        ----------
        row : int, default=0
            Index of the explained sample.
        top : int, default=9
            Number of features, the most important ones, with their own step; the others
            share one step.
        X : array-like of shape (n_samples, n_features), optional
            The explained samples, to show their values beside the names.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> axes = model.explain(X[:1]).plot()
        >>> len(axes.patches) >= 4
        True
        """
        title = f"{self.labels[row]} rather than {self.against[row]}"
        return draw_waterfall(self.waterfall(row, top=top, X=X), title, ax)

    def plot_importance(self, *, top: int = 15, ax: "Axes | None" = None) -> "Axes":
        """Draw `importance` as a bar chart with matplotlib.

        Parameters
        ----------
        top : int, default=15
            Number of features with their own bar; the others share one.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes drawn on.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> axes = model.explain(X).plot_importance()
        >>> len(axes.patches)
        4
        """
        return draw_importance(self.importance(), self.names, top, ax)


def feature_names(model: Any) -> NDArray[Any] | Sequence[str]:
    """Return the names of a fitted model's features; x1, x2, … if it has none."""
    if hasattr(model, "feature_names_in_"):
        names: NDArray[Any] = model.feature_names_in_
        return names
    return NumberedNames(model.n_features_in_)


def row_values(found: Any, row: int) -> tuple[IntArray, FloatArray]:
    """Return the indices of a row's features, all or the stored ones, and their values.

    `found` (n, p) holds contributions or their errors; sparse if the rows were.
    """
    if issparse(found):
        n = found.shape[0]
        part = slice(*found.indptr[[row % n, row % n + 1]])
        return found.indices[part], found.data[part]
    return np.arange(found.shape[1]), found[row]


def explanation_table(explanation: Explanation) -> str:
    """Return an explanation as an HTML table."""
    n = explanation.base.shape[0]
    table = _table_of_features if n == 1 else _table_of_rows
    return table(explanation)


def _table_of_features(explanation: Explanation) -> str:
    """Return the most important features of the only row, and the members."""
    places, values = row_values(explanation.values, 0)
    names = [str(explanation.names[i]) for i in places]
    order = np.argsort(-np.abs(values), kind="stable")
    heads = ["feature", "adds"]
    cells = [[names[i], score_text(values[i], signed=True)] for i in order[:_LINES]]
    if explanation.errors is not None:
        heads.append("±")
        errors = row_values(explanation.errors, 0)[1]
        for line, i in zip(cells, order, strict=False):
            line.append(score_text(errors[i]))
    rest = order[_LINES:]
    if len(rest) > 0:
        total = score_text(float(values[rest].sum()), signed=True)
        cells.append([f"{len(rest):,} others", total])
    if explanation.members is not None:
        added = explanation.members[0]
        pairs = sorted(
            zip(explanation.member_names, added, strict=True), key=lambda p: -abs(p[1])
        )
        cells += [[f"member {name}", score_text(a, signed=True)] for name, a in pairs]
    base, score = (
        score_text(float(x[0])) for x in (explanation.base, explanation.score)
    )
    caption = (
        f"{explanation.labels[0]} rather than {explanation.against[0]}: score {score}, "
        f"background {base}"
    )
    return html_table(caption, heads, cells)


def _table_of_rows(explanation: Explanation) -> str:
    """Return a line for each of the first rows."""
    heads = ["row", "class", "rather than", "score", "what adds most"]
    n = explanation.base.shape[0]
    cells = []
    for row in range(min(n, _LINES)):
        steps = explanation.waterfall(row, top=_NAMED)
        adds = [
            f"{name} {score_text(value, signed=True)}"
            for name, value in zip(steps.names[:_NAMED], steps.values, strict=False)
        ]
        label, against = explanation.labels[row], explanation.against[row]
        score = score_text(float(explanation.score[row]))
        cells.append([str(row), str(label), str(against), score, ", ".join(adds)])
    caption = f"{n:,} rows explained"
    return html_table(
        caption + ("" if n <= _LINES else ", the first shown"), heads, cells
    )


def html_table(
    caption: str, heads: Sequence[str], cells: Sequence[Sequence[str]]
) -> str:
    """Return an HTML table; texts are escaped."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
        for line in cells
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{lines}</tbody></table>"
    )


def is_exact(model: Any) -> bool:
    """Return whether the explanations of a model are exact, not sampled."""
    return hasattr(model._learner(), "quadratic_scores")


@final
class QuadraticReasons:
    """Explanations of a fitted model whose scores are quadratic polynomials."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._learner = model._learner()

    def explain(self, X: Any, label: Any, against: Any, background: Any) -> Explanation:
        """Return the contributions of features to one class's score minus another's."""
        rows = self._scaled(self._model._rows_to_predict(X))
        return self._explain(rows, label, against, background)

    def _scaled(self, rows: Any) -> Any:
        return self._learner.scaled(self._model._state, rows)

    def _explain(
        self, rows: Any, label: Any = None, against: Any = None, background: Any = None
    ) -> Explanation:
        """Explain rows that are checked, and scaled if the model scales."""
        scores = self._quadratic_scores()
        if np.count_nonzero(scores.active) < 2:
            raise ValueError("explain needs at least two classes that have been seen")
        best, rival = self._two_classes(rows, scores, label, against)
        if issparse(rows) or scores.R.shape[0] == 0:
            if background is not None:
                raise ValueError(
                    "background must be None for sparse rows, and for projections that "
                    "are not kept as a matrix: absent features are zero there"
                )
            values, base, score = self._explain_sparse(rows, scores, best, rival)
        else:
            given = self._background(background, scores)
            values, base, score = _explain_dense(rows, scores, best, rival, given)
        classes = self._model.classes_
        return Explanation(
            values,
            base,
            score,
            classes[best],
            classes[rival],
            feature_names(self._model),
        )

    def importance(self, X: Any) -> FloatArray:
        """Return the current importance of each feature (p,); adds up to 1."""
        if X is not None:
            return self.explain(X, None, None, None).importance()
        self._model._require_fitted()
        scores = self._quadratic_scores()
        weight = np.where(scores.active, scores.weight, 0.0)
        there = np.flatnonzero(weight > 0.0)
        means = self._class_means(scores)[there]
        return shares(weight[there] @ np.abs(self._explain(means).values))

    def _quadratic_scores(self) -> QuadraticScores:
        found: QuadraticScores = self._learner.quadratic_scores(self._model._state)
        return found

    def _projected(self, rows: Any) -> FloatArray:
        found: FloatArray = self._learner.projected(self._model._state, rows)
        return found

    def _two_classes(
        self, rows: Any, scores: QuadraticScores, label: Any, against: Any
    ) -> tuple[IntArray, IntArray]:
        """Return the numbers of the explained class and of its rival for each row."""
        S = np.empty((rows.shape[0], scores.active.shape[0]))
        for start in range(0, rows.shape[0], _ROWS):
            part = slice(start, start + _ROWS)
            z = self._projected(rows[part])
            S[part] = quadratic_scores(
                scores.mean, scores.precision, scores.constant, z
            )
        return best_and_rival(self._model, S, scores.active, label, against)

    def _background(self, given: Any, scores: QuadraticScores) -> FloatArray:
        """Return the background rows (k, p)."""
        if given is None:
            weight = np.where(scores.active, scores.weight, 0.0)
            if not weight.sum() > 0.0:
                weight = scores.active.astype(np.float64)
            means = self._class_means(scores)
            return (weight @ means / weight.sum())[None, :]
        rows = check_rows(self._model, given, sparse=False)
        accept_rows(self._model, given, first=False)
        return np.asarray(self._scaled(rows), dtype=np.float64)

    def _class_means(self, scores: QuadraticScores) -> FloatArray:
        """Return the means of the class densities as rows (M, p)."""
        p, F = scores.R.shape
        if p > F or p == 0:
            raise ValueError(
                f"the mean of what was learned is unknown: {F} projected columns are "
                f"too few to recover {self._model.n_features_in_} features; give rows "
                "as background, or as X"
            )
        return recovered_mean(scores.R, scores.mean.T).T

    def _explain_sparse(
        self, rows: Any, scores: QuadraticScores, best: IntArray, rival: IntArray
    ) -> tuple[csr_array, FloatArray, FloatArray]:
        """Explain rows against zero: only features present in a row get a value."""
        X = csr_array(rows)
        data = np.empty(X.data.shape[0])
        base, score = np.empty(X.shape[0]), np.empty(X.shape[0])
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            columns, x = X.indices[part], X.data[part]
            units = csr_array(
                (np.ones(x.shape[0]), (np.arange(x.shape[0]), columns)),
                shape=(x.shape[0], X.shape[1]),
            )
            R = self._projected(units)
            zero = np.zeros((1, x.shape[0]))
            pair = np.array([best[i], rival[i]])
            some = QuadraticScores(
                R,
                scores.mean[pair],
                scores.precision[pair],
                scores.constant[pair],
                np.ones(2, np.bool_),
                np.ones(2),
            )
            of, to = np.zeros(1, np.int64), np.ones(1, np.int64)
            values, base[i : i + 1], score[i : i + 1] = _explain_dense(
                x[None, :], some, of, to, zero
            )
            data[part] = values[0]
        values = csr_array((data, X.indices, X.indptr), shape=X.shape)
        return values, base, score


def best_and_rival(
    model: Any, S: FloatArray, active: BoolArray, label: Any, against: Any
) -> tuple[IntArray, IntArray]:
    """Return the numbers of the class to explain and of its rival for each row.

    By default they are the classes with the highest and the next highest score S
    (n, M), among those that are active.
    """
    S = np.where(active, S, -np.inf)
    rows = np.arange(S.shape[0])
    fixed = None if against is None else _number_of(model, "against", against, active)
    if label is not None:
        best = np.full(rows.shape[0], _number_of(model, "label", label, active))
    else:
        allowed = S.copy()
        if fixed is not None:
            allowed[:, fixed] = -np.inf
        best = allowed.argmax(axis=1)
    if fixed is not None:
        rival = np.full(rows.shape[0], fixed)
    else:
        S[rows, best] = -np.inf
        rival = S.argmax(axis=1)
    if (best == rival).any():
        raise ValueError("against must be a different class than label")
    return best, rival


def _number_of(model: Any, name: str, label: Any, active: BoolArray) -> int:
    """Return the number of a class that has been seen."""
    number = int(encode(as_labels([label], name), model.classes_, model._index)[0])
    if number < 0 or not active[number]:
        raise ValueError(f"{name} must be a class that has been seen, got {label!r}")
    return number


def shares(total: FloatArray) -> FloatArray:
    """Return parts of a whole as shares of their sum."""
    return total / max(float(total.sum()), np.finfo(np.float64).tiny)


def _cells(X: Any, row: int, places: IntArray) -> list[str]:
    """Return the values of some features in a row of X, as texts."""
    if issparse(X):
        X = csr_array(X)[[row]].toarray()
        row = 0
    elif hasattr(X, "to_numpy"):
        X = X.to_numpy()
    return [_cell(value) for value in np.asarray(X)[row][places].tolist()]


def _cell(value: Any) -> str:
    """Return a number with four digits, and anything else as text, shortened."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _explain_dense(
    rows: Any,
    scores: QuadraticScores,
    best: IntArray,
    rival: IntArray,
    background: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values (n, p), base (n,) and score (n,) of one class against another."""
    X = np.asarray(rows, dtype=np.float64)
    n = X.shape[0]
    values = np.zeros(X.shape)
    _, mean, precision, constant, _, _ = scores
    for start in range(0, n, _ROWS):
        part = slice(start, min(start + _ROWS, n))
        for sign, numbers in ((1.0, best[part]), (-1.0, rival[part])):
            for m in np.unique(numbers).tolist():
                chosen = start + np.flatnonzero(numbers == m)
                values[chosen] += sign * shapley_values(
                    scores.R, mean[m], precision[m], X[chosen], background
                )
    z = quadratic_scores(mean, precision, constant, background @ scores.R).mean(axis=0)
    base = z[best] - z[rival]
    return values, base, base + values.sum(axis=1)
