"""PooledClassifier: several classifiers of one family, weighed along the stream."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from rpnb.core.columns.categories import LOOKS, Categories
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.kernels.threads import in_threads
from rpnb.core.pooled.engine import run, score
from rpnb.core.pooled.mini_batches import (
    has_scale,
    learn_blocks,
    observe_block,
)
from rpnb.core.pooled.model import (
    PooledModel,
    arrange_classes,
    copy_model,
    merge_models,
    new_model,
)
from rpnb.core.pooled.recorded import learn_recorded, predict_recorded
from rpnb.estimators.checks.columns import (
    CATEGORICAL,
    TEXT,
    Columns,
    named_to_json,
    names_columns,
)
from rpnb.estimators.checks.jobs import check_jobs, threads_for
from rpnb.estimators.checks.labels import (
    LabelArray,
    as_labels,
    decode,
    join_classes,
    number_labels,
)
from rpnb.estimators.checks.parameters import check_choice, draw_seed
from rpnb.estimators.checks.rows import accept_rows, as_table_of_one, check_row
from rpnb.estimators.checks.weights import check_weight, one_weight
from rpnb.estimators.merging import merged_counts
from rpnb.estimators.pooled_parts import (
    MemberHistory,
    arrays_of,
    as_pooled_block,
    check_adds_up,
    check_copies,
    check_pool,
    check_projections,
    member_history,
    projections_checksum,
)
from rpnb.estimators.saving.pooled_schema import (
    dense_in_file,
    pooled_from_arrays,
    pooled_schema,
)
from rpnb.estimators.saving.schema import StateSchema
from rpnb.estimators.stream.activity import lock_of
from rpnb.estimators.stream.class_weights import ClassWeight, check_class_weight
from rpnb.estimators.stream.learner import BlockStatistics, ScoredRows, Shapes
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.estimators.trust.contributions import largest
from rpnb.estimators.trust.plots import draw_importance
from rpnb.estimators.trust.pool_reasons import explain_pool, pool_importance
from rpnb.estimators.trust.reasons import Explanation, feature_names
from rpnb.estimators.waiting_rows import (
    ROWS,
    WaitingRows,
    waiting_from_arrays,
    waiting_schema,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NOTHING = np.zeros((0, 0))
_ONE = np.ones(1)


@final
@dataclass(eq=False, repr=False)
class PooledClassifier(WeightedStreamClassifier[PooledModel]):
    r"""Online classifier: several classifiers of one family, pooled along the stream.

    Every member scores each row and learns it; a pool multiplies their posteriors, each
    to the power of a weight, and learns the weights from the labels as they come. The
    members are

    - ``class_covariance``: a Gaussian for each class, with a conjugate prior whose
      centre is the pooled covariance (quadratic discriminants);
    - ``shared_covariance``: linear discriminants with one shrunken covariance, on 512
      rectified random projections of the row;
    - ``binned_bayes``: naive Bayes on features cut into 16 bins;
    - ``neighbours``: the 10 nearest of the last 500 rows;
    - ``selected_neighbours``, where rows have more than 32 features: the 10 nearest of
      the last 1,000 rows by the features that say most about the class;
    - ``fading_covariance``: linear discriminants that remember about 300 rows;
    - ``window_forest``: 16 trees grown from recent rows, of which the worst is replaced
      again and again; with slow and with fast counts in the leaves;
    - ``boosted_trees``: up to 100 boosted trees on up to 131,072 rows, of which the
      oldest is replaced again and again: what goes on learning on long streams;
    - ``transitions``: which class follows which.

    There is nothing to tune: features are scaled by what the first 256 rows say, and
    members that do not fit a stream get little weight.

    Parameters
    ----------
    members : "all", "mergeable" or sequence of str, default="all"
        The members, by the names that `weights_` has. "mergeable" are those whose
        statistics are sums, so that `merge` is exact for the model as a whole:
        class_covariance, shared_covariance, binned_bayes and transitions.
    n_projections : int, default=512
        Rectified random projections of a row, a multiple of 16. Time and memory of
        shared_covariance grow with its square.
    window : int or None, default=None
        Rows that window_forest keeps at most. None is min(4000, max(256, 2¹⁹/p)) for p
        features.
    delay : int, default=0
        How late labels come, in rows and as in `rpnb.evaluate.prequential`: that of a
        row is learned before the row `delay` rows later is predicted; 0 and 1 are both
        no delay. Predictions then trust members that live on the latest labels as much
        as they deserve. With a delay time and memory are about twice as large.
    delays : {"constant", "varying"}, default="constant"
        Whether all labels are equally late. If they are not, predict rows by
        `predict_later` and learn them by `learn_later`; `delay` is then how late they
        usually come, and costs no time.
    {class_weight}
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Columns whose values are categories, which have no order. "from_dtype" are
        those of frames (pandas, polars, Arrow) whose type is category or text; a list
        has their names, their numbers from 0 on, or True and False for each column.
        None refuses them.
    text_features : "auto", list or None, default="auto"
        Columns of text that are read word by word. "auto" are those of text whose
        first value has five words or more, a list has names or numbers; with None,
        texts are categories.
    n_jobs : int or None, default=None
        Threads. Learning gives each thread members of its own, predicting gives each
        rows of its own. None is 1 unless a `joblib.parallel_config` says otherwise, −1
        is all cores. Nothing depends on it but time, and files do not keep it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the projections and trees, and of the order in which `fit` presents
        rows.

    Attributes
    ----------
    {inputs}
    n_seen_ : int
        Number of rows seen.
    n_updates_ : int
        Number of rows learned, which is all of them.
    weights_ : dict of str to float
        The pool's weight of each member's scores. ``window_forest_fast`` are those of
        the same trees by fast counts.
    member_errors_ : dict of str to float
        The share of rows seen so far whose class each member alone would have predicted
        wrongly before learning them, by name; and "pool" for the model as a whole.
    member_history_ : MemberHistory
        Weights and errors along the stream, at up to 127 places: `rows`, `weights` by
        name at these rows, and `errors` by name among the rows since the place before.

    See Also
    --------
    RPNBClassifier : faster, smaller, exact to merge, and to explain in closed form.

    Notes
    -----
    With s_k(c) the log score of member k for class c, relative to its largest, of which
    what is more than 6 below counts less and less (as 6 more in the end),

    .. math:: P(c) ∝ \exp Σ_k w_k s_k(c)

    and w follows the log-loss of P by an online Newton step. `predict_proba` gives
    (1 − ε) P^τ + ε/M, P^τ normalised, where τ and the share ε of labels that are noise
    are learned likewise. The formulas of the members, and where they come
    from, are in `rpnb.core.pooled`, one file a member.

    A row of weight w counts as w equal rows in all sums and counts, and as one row
    where rows are picked: as a neighbour, and where trees choose splits. Weights are 0
    or from 1e-12 to 1e12.

    `predict` and `predict_proba` take rows in any order, as scikit-learn's do:
    ``transitions`` then gives the frequencies of the classes, and ``window_forest`` its
    slow counts in place of the fast ones. `predict_next`, `predict_one` and
    `predict_then_learn` predict the next row of a stream, and use the most recent
    labels.

    Labels and state do not depend, to the bit, on how rows are cut into calls, nor on
    the number of threads. Memory does not grow with the rows, except for the rows that
    boosted_trees keeps, up to about 100 MB.

    Where labels come late, say so by `delay`: a second set of members then learns each
    row that much later, and the pool learns its weights from their scores, which are
    those that predictions were made of. Without it, members that live on the latest
    labels (transitions, window_forest, neighbours of both kinds) get more weight than
    they deserve. `n_seen_`, `member_errors_` and everything else count labelled rows as
    they come. Where each label has its own delay, say ``delays="varying"``: rows are
    then predicted by `predict_later`, which keeps the members' scores, and learned by
    `learn_later` from these scores.

    A missing value is NaN: the member binned_bayes leaves it out, to the trees it is
    smaller than any number, and to all others it is the mean of the feature. Infinities
    and values beyond ±1e150 are refused. Rows of more than 4,096 features are hashed to
    1,024 columns, sparse or not.

    Columns of frames that are no numbers become features. A column of up to 12
    categories becomes one feature for each; one of more becomes the frequencies of up
    to four classes, or groups of classes, among the rows before with the same category.
    Which of the two is decided after 32, 128 and 512 rows, and the rows before are then
    learned again. A category that comes later is a half in each of two features, and
    beyond 4,096 categories of a column, new ones share 1,024 places by their hash. A
    column of text becomes 128 hashed words and 128 hashed trigrams of their letters,
    one of dates the number of days and the time of the day, week and year as sine and
    cosine. A missing category is one more category. Such models cannot be merged.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from rpnb import PooledClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = PooledClassifier(random_state=0)
    >>> predicted = model.predict_then_learn(X, y, classes=np.unique(y))
    >>> bool(np.mean(predicted != y) < 0.06)
    True
    >>> bool(model.member_errors_["pool"] == np.mean(predicted != y))
    True
    >>> bool(max(model.weights_.values()) < 2)
    True
    """

    _state_version = 1
    _accepts_sparse = True
    # Sums of weights further apart would be rounding errors and nothing else.
    _weight_limits = (1e-12, 1e12)
    _accepts_unlabelled = True
    _predicts_blocks = True
    _changeable_parameters = ("n_jobs",)

    # Not a field: dataclasses take annotated names for parameters.
    _waiting = None

    members: Literal["all", "mergeable"] | Sequence[str] = "all"
    _: KW_ONLY
    n_projections: int = 512
    window: int | None = None
    delay: int = 0
    delays: Literal["constant", "varying"] = "constant"
    class_weight: ClassWeight = None
    categorical_features: Literal["from_dtype"] | Sequence[str | int] | None = (
        "from_dtype"
    )
    text_features: Literal["auto"] | Sequence[str | int] | None = "auto"
    n_jobs: int | None = None
    random_state: Any = None

    # Learning

    def _new_state(
        self, p: int, classes: LabelArray, declared: IntArray
    ) -> PooledModel:
        active = np.zeros(classes.shape[0], np.bool_)
        active[declared] = True
        names, D, window, delay = self._settings()
        seed = draw_seed(self.random_state)
        varying = self._varying
        return new_model(names, p, D, window, active, seed, delay, varying=varying)

    def _settings(self) -> tuple[tuple[str, ...], int, int, int]:
        """Check the parameters; return members, D, the window (0: none), the delay."""
        check_jobs(self.n_jobs)
        check_choice("delays", self.delays, ("constant", "varying"))
        return check_pool(self.members, self.n_projections, self.window, self.delay)

    @property
    def _varying(self) -> bool:
        return self.delays == "varying"

    def _check_changeable_parameters(self) -> None:
        check_jobs(self.n_jobs)

    def _check_numbers(self, wrapper: str) -> None:
        if names_columns(self.categorical_features, self.text_features):
            raise ValueError(
                f"{wrapper} gives its learner numbers only: PooledClassifier must have "
                "categorical_features='from_dtype' and text_features='auto' in it"
            )

    def _active_classes(self, state: PooledModel) -> IntArray:
        return np.flatnonzero(state.pool.active)

    def _restart(self, state: PooledModel, p: int, classes: LabelArray) -> PooledModel:
        names, D, window, delay = self._settings()
        return new_model(
            *(names, p, D, window, state.pool.active, state.seed, delay),
            varying=self._varying,
        )

    def _restarted(self, before: PooledModel, state: PooledModel) -> PooledModel:
        # The errors of predictions that were given; members may be others.
        past = dict(zip([*before.outputs, ""], before.pool.mistakes, strict=True))
        for k, name in enumerate([*state.outputs, ""]):
            if name in past:
                state.pool.mistakes[k] = past[name]
        return state

    def _rearrange_classes(
        self,
        state: PooledModel,
        source: IntArray,
        classes: LabelArray,
        declared: IntArray,
    ) -> PooledModel:
        return arrange_classes(state, source, declared)

    def _learn(
        self,
        state: PooledModel,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        if labels is None:
            labels = np.empty(y.shape[0], np.int64)
        self._run(state, X, y, weight, labels, _NOTHING)

    def _learn_scored(
        self,
        state: PooledModel,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
    ) -> ScoredRows:
        log_posteriors = np.empty((y.shape[0], state.M))
        self._run(state, X, y, weight, labels, log_posteriors)
        # A row before which no class was active has no probabilities.
        log_posteriors[labels < 0] = -np.inf
        return ScoredRows(exp(log_posteriors))

    def _run(
        self,
        state: PooledModel,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
        log_posteriors: FloatArray,
    ) -> None:
        """Predict, then learn, rows; their weights are one for each, or one for all."""
        n = y.shape[0]
        each = _weight_of_each(weight, n)
        jobs = threads_for(self.n_jobs, n)
        run(state, X, y, each, labels, log_posteriors, jobs)

    # Mini-batches in blocks

    def _check_learns_blocks(self) -> None:
        if names_columns(self.categorical_features, self.text_features):
            raise ValueError(
                "PooledClassifier with categorical_features or text_features learns "
                "row by row: features of categories follow all rows before, so parts "
                "of a mini-batch cannot be shared out. Turn the columns into numbers"
            )
        names, _, _, between = self._settings()
        check_adds_up(names, between)

    def _first_block_alone(self, state: PooledModel) -> bool:
        return not has_scale(state)

    def _observe_block(
        self,
        state: PooledModel,
        X: NDArray[Any],
        y: IntArray,
        labels: IntArray,
        weight: FloatArray,
        start: int,
    ) -> BlockStatistics:
        n = y.shape[0]
        jobs = threads_for(self.n_jobs, n)
        each = _weight_of_each(weight, n)
        arrays = observe_block(state, X, y, each, labels, jobs)
        return BlockStatistics(y, labels, arrays, weight)

    def _block_probabilities(self, state: PooledModel, X: NDArray[Any]) -> FloatArray:
        out = np.empty((X.shape[0], state.M))
        self._predict(state, X, out, ordered=True)
        return exp(out)

    def _learn_blocks(
        self, state: PooledModel, blocks: Sequence[BlockStatistics]
    ) -> PooledModel:
        parts = [as_pooled_block(block) for block in blocks]
        jobs = threads_for(self.n_jobs, sum(block.y.shape[0] for block in blocks))
        learn_blocks(state, parts, jobs)
        return state

    def unlearn(self, X: Any, y: Any) -> NoReturn:
        """Refuse: the pool cannot take rows out again.

        Its trees and nearest neighbours keep what they made of a row, not the row, and
        the weights of its members followed every row.
        """
        raise NotImplementedError(
            "PooledClassifier cannot unlearn rows: its trees, its windows and the "
            "weights of its members are no sums over rows. Learn anew without the "
            "rows, or use a learner that can: RPNBClassifier(update='all'), GaussianNB "
            "or OnlineBayes"
        )

    # Predicting

    def _predict(
        self, state: PooledModel, X: NDArray[Any], out: FloatArray, *, ordered: bool
    ) -> IntArray:
        """Return the class of each row; fill `out`, if it has rows, with log P.

        Each row is the next of the stream, or none is if they are not `ordered`.
        """
        n = X.shape[0]
        labels = np.empty(n, np.int64)

        def work(rows: slice) -> None:
            some = out[rows] if out.shape[0] > 0 else out
            score(state, X[rows], labels[rows], some, ordered=ordered)

        in_threads(work, n, threads_for(self.n_jobs, n))
        return labels

    def _classify(self, state: PooledModel, X: NDArray[Any]) -> IntArray:
        return self._predict(state, X, _NOTHING, ordered=True)

    def _classify_unordered(self, state: PooledModel, X: NDArray[Any]) -> IntArray:
        return self._predict(state, X, _NOTHING, ordered=False)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of `predict_proba` (n, M)."""
        return self._log_probabilities(X, ordered=False)

    def _log_probabilities(self, X: Any, *, ordered: bool) -> FloatArray:
        rows = self._rows_to_predict(X)
        out = np.empty((rows.shape[0], self._state.M))
        self._predict(self._state, rows, out, ordered=ordered)
        return out

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row (n, M).

        Calibrated by a temperature and a share of noise that are learned online. Rows
        sum to one. As in `predict`, nothing depends on which rows were learned last.
        """
        return exp(self.predict_log_proba(X))

    def predict_next_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row if it came next (n, M)."""
        return exp(self._log_probabilities(X, ordered=True))

    # One row at a time

    def predict_one(self, x: FloatArray) -> Any:
        """Return the label of the next row x (p,) of a stream: a fast `predict_next`.

        Parameters
        ----------
        x : array of shape (p,), float64
            A plain NumPy array; infinities and values beyond ±1e150 are refused.
        """
        self._require_fitted()
        if self._columns is not None:
            return self.predict_next(as_table_of_one(x))[0]
        row = check_row(self, x)
        label = np.empty(1, np.int64)
        score(self._state, row, label, _NOTHING, ordered=True)
        return self.classes_[label[0]]

    def learn_one(self, x: FloatArray, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row x (p,) of class y: `partial_fit` without its formalities.

        A first row, or a class not seen before, goes the long way.
        """
        number = self._index.find(y) if self.__sklearn_is_fitted__() else None
        if (
            number is None
            or self._columns is not None
            # To a dictionary True is 1; the long way knows better.
            or (isinstance(y, bool | np.bool_) and self.classes_.dtype.kind != "b")
        ):
            given = (
                None
                if sample_weight == 1.0
                else one_weight(sample_weight, self._weight_limits)
            )
            self.partial_fit(as_table_of_one(x), [y], sample_weight=given)
            return
        weight = (
            _ONE
            if sample_weight == 1.0
            else one_weight(sample_weight, self._weight_limits)
        )
        self._check_unchanged()
        row, target = check_row(self, x), np.array([number])
        label = np.empty(1, np.int64)
        with lock_of(self):
            weight = self._row_weights(target, weight)
            run(self._state, row, target, weight, label, _NOTHING)

    # Labels that come later

    @property
    def waiting_(self) -> IntArray:
        """The rows that wait for their labels, by the numbers of `predict_later`."""
        self._fitted_state("waiting_")
        return self._rows_waiting().ids

    def predict_later(self, X: Any) -> tuple[LabelArray, IntArray]:
        """Predict the next rows of a stream, and remember them until their labels come.

        For `delays` that vary. The model keeps the rows, and the scores of its members,
        until `learn_later` brings their labels: at most 100,000 rows, of
        which the oldest are forgotten first. Files keep them too.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations; not sparse.

        Returns
        -------
        array of shape (n,)
            The labels that `predict_next` returns.
        array of int of shape (n,)
            The numbers of the rows, for `learn_later`.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb import PooledClassifier
        >>> from rpnb.datasets import streams
        >>> X, y = next(streams.mixture(300, chunk=300))
        >>> model = PooledClassifier(delays="varying", random_state=0)
        >>> model = model.partial_fit(X[:50], y[:50])
        >>> labels, ids = model.predict_later(X[50:])
        >>> model = model.learn_later(ids[::-2], y[50:][::-2])  # in any order
        >>> len(model.waiting_)
        125
        """
        labels, _, ids = self._predict_later(X)
        return labels, ids

    def _predict_later(self, X: Any) -> tuple[LabelArray, FloatArray, IntArray]:
        """Do what `predict_later` does; return probabilities (n, M) as well."""
        self._require_varying("predict_later")
        self._require_fitted()
        self._check_unchanged()
        if issparse(X):
            raise TypeError(
                "predict_later must be given dense rows, got a sparse matrix"
            )
        rows = self._coded_rows(X)
        accept_rows(self, X, first=False)
        with lock_of(self):
            features = self._features(rows)
            numbers, log_P, scores = predict_recorded(self._state, features)
            ids = self._rows_waiting().add(rows, scores)
        return decode(numbers, self.classes_), exp(log_P), ids

    def learn_later(
        self, ids: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn rows that `predict_later` predicted, now that their labels are known.

        Members learn a row as `partial_fit` would. The weights of the pool are learned
        from the scores by which the row was predicted, however long ago that was.

        Parameters
        ----------
        ids : array-like of int of shape (n,)
            The rows, in the order in which their labels have come.
        y : array-like of shape (n,)
            Their labels. A label never seen before becomes a new class.
        sample_weight : array-like of shape (n,), optional
            A row of weight w is learned as w equal rows in one update; above 0.

        Returns
        -------
        self
        """
        self._require_varying("learn_later")
        self._require_fitted()
        self._check_unchanged()
        found = self._rows_waiting().check(ids)
        labels = as_labels(y)
        if len(found) != labels.shape[0]:
            raise ValueError(
                f"ids has {len(found)} rows and y has {labels.shape[0]} labels: they "
                "must be as many"
            )
        weight = _ONE
        if sample_weight is not None:
            weight = check_weight(sample_weight, len(found), self._weight_limits)
            if not weight.all():
                raise ValueError("sample_weight must be above 0 here")
        if not found:
            return self
        joined, numbers = number_labels(labels, self.classes_, self._index, None)
        with lock_of(self):
            self._add_classes(joined)
            self._learn_waiting(self._rows_waiting(), found, numbers, weight)
        return self

    def _learn_waiting(
        self, past: WaitingRows, ids: list[int], y: IntArray, weight: FloatArray
    ) -> None:
        """Learn rows that were predicted in the past, of known classes y."""
        past.align(self.classes_, self._state.outputs)
        X, _ = past.get(ids)
        each = _weight_of_each(self._row_weights(y, weight), y.shape[0])
        jobs = threads_for(self.n_jobs, y.shape[0])
        parts = [slice(0, y.shape[0])]
        for part in parts if self._categories is None else self._parts_of_layouts(y):
            # A new layout may have other members.
            past.align(self.classes_, self._state.outputs)
            _, scores = past.get(ids[part])
            features, w = X[part], each[part]
            if self._categories is not None:
                features = self._categories.learn(features, y[part], w)
            self._state = learn_recorded(
                self._state, features, y[part], w, scores, jobs
            )
            if self._categories is not None and self._categories.seen in LOOKS:
                self._look_at_categories()
        past.remove(ids)

    def _predict_kept(self, X: Any) -> tuple[LabelArray, FloatArray, list[bytes]]:
        """Predict the next rows; return labels, probabilities, and scores as bytes.

        For callers that keep rows until their labels come, and `_learn_kept` them.
        """
        self._require_varying("predict_later")
        rows = self._rows_to_predict(X)
        numbers, log_P, scores = predict_recorded(self._state, rows)
        past = WaitingRows(self.classes_, tuple(self._state.outputs))
        return decode(numbers, self.classes_), exp(log_P), past.pack(scores)

    def _learn_kept(self, X: Any, y: Any, kept: Sequence[bytes]) -> None:
        """Learn rows with their labels and the scores of `_predict_kept`."""
        self._require_varying("learn_later")
        self._check_unchanged()
        rows, labels = self._coded_rows(X), as_labels(y)
        accept_rows(self, X, first=False)
        joined, numbers = number_labels(labels, self.classes_, self._index, None)
        with lock_of(self):
            self._add_classes(joined)
            past = WaitingRows(self.classes_, tuple(self._state.outputs))
            ids = past.add_packed(rows, kept)
            self._learn_waiting(past, ids, numbers, _ONE)

    def _add_classes(self, joined: LabelArray) -> None:
        """Add the classes that are new among all classes, sorted."""
        if joined is self.classes_:
            return
        check_class_weight(self._class_weight, joined, whole=False)
        state = self._state_with_classes(joined, np.zeros(0, np.int64))
        self._set_classes(joined)
        self._state = state

    def _rows_waiting(self) -> WaitingRows:
        """Return the rows that wait, with scores of the present classes and members."""
        if self._waiting is None:
            self._waiting = WaitingRows(self.classes_, tuple(self._state.outputs))
        self._waiting.align(self.classes_, self._state.outputs)
        return self._waiting

    def _require_varying(self, method: str) -> None:
        if not self._varying:
            raise ValueError(
                f"{method} needs delays='varying', got delays={self.delays!r}"
            )

    def _commit(
        self,
        X: Any,
        classes: LabelArray,
        state: PooledModel,
        columns: Columns | None = None,
        categories: Categories | None = None,
        *,
        first: bool,
    ) -> None:
        super()._commit(X, classes, state, columns, categories, first=first)
        if first:
            self._waiting = None

    # Reasons

    def explain(
        self,
        X: Any,
        *,
        label: Any = None,
        against: Any = None,
        background: Any = None,
        n_evaluations: int = 512,
    ) -> Explanation:
        """Return what members and features add to a class's log odds against another.

        What is explained is the pool's log odds of one class against another for rows
        in any order, as in `predict`, before they are turned into probabilities. What
        the members add is exact. What the features add are Shapley values: exact where
        all sets of the features can be evaluated, up to nine of them by default; for
        more, means over random orders of the features and their reverses, with standard
        errors. Members whose scores are additive or quadratic in the features have no
        sampling error. Values add up to the difference between the row's score and the
        background's, to rounding, in any case.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Observations.
        label : label, optional
            The class that is explained; by default each row's prediction.
        against : label, optional
            The class that it is compared with; by default the row's second best.
        background : array-like of shape (k, p), optional
            Rows whose values stand for features that are left out, averaged over the
            rows. By default the mean of each feature by which the model scales. For
            sparse rows, and for more than 4,096 features, it is zero.
        n_evaluations : int, default=512
            About how often the model is evaluated for each row. Errors fall with its
            root; two orders of the features are taken in any case. An evaluation takes
            as long as predicting a row.

        Returns
        -------
        Explanation
            With `errors`, and with `members` by the names of `weights_`.
        """
        return explain_pool(self, X, label, against, background, n_evaluations)

    def feature_importance(self, X: Any = None) -> FloatArray:
        """Return how much each feature matters at present: (p,), adding up to 1.

        The mean absolute Shapley value of the rows X or, by default, of the last rows
        that were learned: 64, or all of the first 256.
        """
        return pool_importance(self, X)

    def plot_importance(
        self, X: Any = None, *, top: int = 15, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw `feature_importance` as bars, by matplotlib; return the axes.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            As for `feature_importance`.
        top : int, default=15
            So many features have a bar of their own; the others have one together.
        ax : axes of matplotlib, optional
            Where to draw; a new figure by default.
        """
        found = self.feature_importance(X)
        return draw_importance(largest(found, feature_names(self), top), ax)

    # Looking

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each member's scores, without what single classes add to it."""
        state = self._fitted_state("weights_")
        return dict(zip(state.outputs, state.pool.weights.tolist(), strict=True))

    @property
    def member_errors_(self) -> dict[str, float]:
        """The share of rows that each member, and the pool, predicted wrongly."""
        state = self._fitted_state("member_errors_")
        errors = state.pool.mistakes / max(state.pool.weight[0], 1e-300)
        return dict(zip([*state.outputs, "pool"], errors.tolist(), strict=True))

    @property
    def member_history_(self) -> MemberHistory:
        """The weights and errors of the members along the stream."""
        return member_history(self._fitted_state("member_history_"))

    def _row_counts(self, state: PooledModel) -> tuple[int, int]:
        seen = int(state.pool.seen[0])
        return seen, seen

    def _copy(self, state: PooledModel) -> PooledModel:
        return copy_model(state)

    # Joining

    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Add what another model has learned.

        Both must be copies of one model that had learned 256 rows or more, so that they
        scale rows alike. Of members whose statistics are sums, the result is that of
        one model that learned all rows, whatever the order; with members="mergeable"
        that is all but the weights of the pool. Of the others: the latest rows of both
        (neighbours of both kinds), the better trees of both (window_forest), the trees
        of the model with more rows and the rows of both (boosted_trees), what both have
        left (fading_covariance), weights by curvature (the pool). Models with a `delay`
        cannot be merged.

        Parameters
        ----------
        other : PooledClassifier
            A model with the same parameters.
        base : PooledClassifier, optional
            The common state from which both went on learning: what it holds is counted
            once. Without it, sums hold it twice.

        Returns
        -------
        self
        """
        models: dict[str, Any] = {"this model": self, "other": other}
        if base is not None:
            models["base"] = base
        for name, model in models.items():
            if not isinstance(model, PooledClassifier):
                raise TypeError(f"{name} must be a PooledClassifier, got {model!r}")
            if not model.__sklearn_is_fitted__():
                raise ValueError(f"{name} has not seen any data yet")
            if model._varying:
                raise ValueError(
                    f"{name} has delays='varying': only models with delays='constant' "
                    "can be merged"
                )
            if model._columns is not None:
                raise ValueError(
                    f"{name} has learned categories, text or dates: only models of "
                    "numbers can be merged"
                )
            check_copies(name, self._state, model._state)
        classes = self.classes_
        for model in models.values():
            classes = join_classes(classes, model.classes_, "classes")
        states = []
        for model in models.values():
            source = model._index.find_all(classes.tolist())
            states.append(arrange_classes(model._state, source, np.zeros(0, np.int64)))
        counts = merged_counts(list(models.values()), classes)
        self._state = merge_models(states[:2], states[2] if base is not None else None)
        self._set_classes(classes)
        self._class_counts = counts
        return self

    # Files

    def _parameters_to_json(self) -> dict[str, Any]:
        parameters = super()._parameters_to_json()
        del parameters["n_jobs"]
        members = self.members
        if not isinstance(members, str):
            parameters["members"] = list(members)
        if not self._varying:  # as in files from before they could vary
            del parameters["delays"]
        named = parameters.pop(CATEGORICAL), parameters.pop(TEXT)
        return {**parameters, **named_to_json(*named)}

    def _export_state(
        self, state: PooledModel
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        metadata = {
            "seed": state.seed,
            "dense": state.shape.dense,
            "fingerprint": projections_checksum(state),
        }
        arrays = arrays_of(state)
        if self._varying:
            width = self.n_features_in_
            if self._columns is not None:
                width = self._columns.width
            arrays |= self._rows_waiting().to_arrays(width)
        return metadata, arrays

    def _state_schema(
        self, state: Mapping[str, Any], shapes: Shapes, M: int, p: int
    ) -> StateSchema:
        settings = self._settings()
        dense, varying = dense_in_file(state, p, settings[1]), self._varying
        schema = pooled_schema(*settings, dense, p, M, shapes, varying=varying)
        if not varying:
            return schema
        K = schema.arrays["pool.weights"].shape[0]
        columns = shapes[ROWS][1] if len(shapes.get(ROWS, ())) == 2 else p
        waiting = waiting_schema(shapes, columns, K, M)
        return StateSchema({**schema.arrays, **waiting}, schema.values)

    def _import_state(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> PooledModel:
        settings, dense, seed = self._settings(), metadata["dense"], metadata["seed"]
        varying = self._varying
        state = pooled_from_arrays(*settings, dense, p, seed, arrays, varying=varying)
        check_projections(state, metadata["fingerprint"])
        if varying:
            self._waiting = waiting_from_arrays(arrays, self.classes_, state.outputs)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _weight_of_each(weight: FloatArray, n: int) -> FloatArray:
    """Return the weights of n rows (n,), given those or one for all (1,)."""
    return weight if weight.shape[0] == n else np.broadcast_to(weight, n).copy()
