"""PooledClassifier: an online ensemble whose weights adapt as labels arrive."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.pooled.engine import run, score
from rpnb.core.pooled.model import (
    PooledModel,
    arrange_classes,
    merge_models,
)
from rpnb.core.pooled.pool import weights_in_use
from rpnb.estimators.checks.columns import (
    CATEGORICAL,
    TEXT,
    named_to_json,
)
from rpnb.estimators.checks.labels import (
    LabelArray,
    join_classes,
)
from rpnb.estimators.checks.rows import as_table_of_one, check_row
from rpnb.estimators.checks.weights import one_weight
from rpnb.estimators.late_labels import learn_later, predict_later, require_varying
from rpnb.estimators.merging import merged_counts
from rpnb.estimators.pooled_learner import PooledLearner
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.stream.frame_encoder import FrameEncoder
from rpnb.estimators.stream.locks import lock_of
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.estimators.trust.plots import draw_importance
from rpnb.estimators.trust.pool_reasons import explain_pool, pool_importance
from rpnb.estimators.trust.reasons import Explanation, feature_names
from rpnb.estimators.waiting_rows import WaitingRows, rows_waiting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NOTHING = np.zeros((0, 0))
_ONE = np.ones(1)
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _only_varying(method: _Method) -> _Method:
    """Decorate a method that only pools with delays="varying" have."""

    def condition(model: Any) -> bool:
        require_varying(model, method.__name__)
        return True

    decorated: _Method = available_if(condition)(method)
    return decorated


class MemberHistory(NamedTuple):
    """Weights and errors of the members of a pool over time.

    Attributes
    ----------
    rows : array of shape (n_points,)
        Number of samples learned at each point, ascending.
    weights : dict of str to array of shape (n_points,)
        Weight of each member at these points, by name.
    errors : dict of str to array of shape (n_points,)
        Error rate of each member, and of the "pool", since the previous point.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rpnb import PooledClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> history = PooledClassifier(random_state=0).fit(X, y).member_history_
    >>> int(history.rows[-1]), "pool" in history.errors
    (150, True)
    """

    rows: IntArray
    weights: dict[str, FloatArray]
    errors: dict[str, FloatArray]


@final
class PooledClassifier(WeightedStreamClassifier):
    r"""Online ensemble of up to nine models whose weights adapt as labels arrive.

    Every member scores each sample and learns it. A pool multiplies their posteriors,
    each raised to the power of its weight, and learns the weights from the labels. The
    members are

    - ``class_covariance``: a Gaussian for each class, with a conjugate prior centred on
      the pooled covariance (quadratic discriminants);
    - ``shared_covariance``: linear discriminants with one shrunken covariance, on 512
      rectified random projections of the sample;
    - ``binned_bayes``: naive Bayes on features cut into 16 bins;
    - ``neighbours``: the 10 nearest of the last 500 samples;
    - ``selected_neighbours``, for more than 32 features: the 10 nearest of the last
      1,000 samples by the most informative features;
    - ``fading_covariance``: linear discriminants that remember about 300 samples;
    - ``window_forest``: 16 trees grown from recent samples, the worst of which is
      replaced at regular intervals; its leaves have slow and fast counts;
    - ``boosted_trees``: up to 100 boosted trees on up to 131,072 samples, the oldest of
      which is replaced at regular intervals, so that long streams keep improving it;
    - ``transitions``: which class follows which.

    There is nothing to tune: features are scaled by estimates from the first 256
    samples, and members that do not fit a stream get little weight.

    Parameters
    ----------
    members : "all", "mergeable" or sequence of str, default="all"
        Members of the pool, by the names in `weights_`. "mergeable" stands for the
        members whose statistics are sums, for which `merge` is exact: class_covariance,
        shared_covariance, binned_bayes and transitions.
    n_projections : int, default=512
        Number of rectified random projections, a multiple of 16. Time and memory of
        shared_covariance grow with its square.
    window : int or None, default=None
        Largest number of samples that window_forest keeps. None stands for
        min(4000, max(256, 2¹⁹ / n_features)).
    delay : int, default=0
        How many samples late the labels arrive, as in `rpnb.evaluate.prequential`: a
        sample is learned before the one `delay` samples later is predicted; 0 and 1
        both mean no delay. Without this, members that rely on the most recent labels
        are over-weighted. A delay about doubles time and memory.
    delays : {"constant", "varying"}, default="constant"
        Whether all labels are equally late. If they are not, predict samples by
        `predict_later` and learn them by `learn_later`; `delay` is then the typical
        delay and costs no extra time.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. A dictionary maps
        labels to weights from 1e-6 to 1e6; a class that is not in it has weight 1.
        "balanced" weights a sample of class y by n / (M * n_y), where n counts the
        samples, n_y those of class y and M the classes. In `fit` all samples are
        counted, as in scikit-learn; in `partial_fit` and `predict_then_learn`, those up
        to and including the sample itself, however the data is split into calls.
    categorical_features : "from_dtype", list or None, default="from_dtype"
        Columns whose values are categories, which have no order. "from_dtype" takes
        the columns of data frames (pandas, polars, Arrow) whose type is category or
        text; a list holds names, numbers from 0 on, or True and False for each column.
        None refuses such columns.
    text_features : "auto", list or None, default="auto"
        Columns of text that are read word by word. "auto" takes the columns of text
        most of whose values in the first call have five words or more; a list holds
        names or numbers; with None, texts are categories.
    shuffle : bool, default=True
        Whether `fit` learns the samples in a random order instead of the order given.
        `partial_fit` and `predict_then_learn` always keep the order.
    n_jobs : int or None, default=None
        Number of threads. Learning is parallel over members, prediction over samples.
        None means 1 unless inside a `joblib.parallel_config`, −1 means all cores.
        Results do not depend on it, and model files do not keep it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the projections and trees, and of the order in which `fit` learns
        samples.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels known so far, sorted.
    n_features_in_ : int
        Number of features of the first data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the first data had column names that are all strings.
    n_samples_seen_ : int
        Number of samples seen so far.
    n_updates_ : int
        Number of samples learned; the pool learns all of them.
    weights_ : dict of str to float
        Weight of each member's scores in the pool. ``window_forest_fast`` is the
        weight of the same trees with fast counts.
    member_errors_ : dict of str to float
        Error rate of each member on the samples seen so far, each predicted before it
        was learned, by name; "pool" is the model as a whole.
    member_history_ : MemberHistory
        Weights and errors over time, at up to 127 points: `rows`, `weights` by name at
        these rows, and `errors` by name among the rows since the previous point.

    See Also
    --------
    RPNBClassifier : faster and smaller, with exact merging and exact explanations.

    Notes
    -----
    With s_k(c) the log score of member k for class c relative to its largest score,
    where differences beyond 6 are compressed to at most 12,

    .. math:: P(c) ∝ \exp Σ_k w_k s_k(c)

    and an online Newton step on the log-loss of P updates w. `predict_proba` returns
    (1 − ε) Q + ε π, where Q is P^τ, normalised, π are the frequencies of the classes,
    and τ and the share ε of noisy labels are learned as well. The page "The pooled
    classifier: formulas" of the documentation has all members and their sources.

    A sample of weight w counts as w equal samples in all sums and counts, and as one
    sample where samples are picked: as a neighbour, and where trees choose splits.
    Weights are 0 or from 1e-12 to 1e12.

    `predict` and `predict_proba` take samples in any order, as in scikit-learn:
    ``transitions`` then gives the frequencies of the classes, and ``window_forest`` its
    slow counts in place of the fast ones. `predict_next`, `predict_one` and
    `predict_then_learn` predict the next sample of a stream, and use the most recent
    labels.

    Labels and state are the same to the bit however the data is split into calls, and
    for any number of threads. Memory does not grow with the number of samples, except
    for the samples that boosted_trees keeps, up to about 95 MB.

    Where labels arrive late, set `delay`: a second, delayed copy of the members sees
    each label that many samples later, and the pool learns its weights from the scores
    of the copy, which match those available at prediction time. Without it, members
    that rely on the most recent labels (transitions, window_forest, neighbours of both
    kinds) are over-weighted. `n_samples_seen_` and `member_errors_` count labelled
    samples as they arrive. Where each label has its own delay, set
    ``delays="varying"``: samples are then predicted by `predict_later`, which keeps the
    members' scores, and learned by `learn_later` from these scores.

    A missing value is NaN: binned_bayes skips it, trees sort it below every number,
    and the other members replace it by the mean of the feature. Infinities and values
    beyond ±1e150 are refused. Samples of more than 4,096 features are hashed to 1,024
    columns, sparse or not.

    Columns of data frames that are not numbers become features. A column of up to 12
    categories becomes one indicator per category; one of more becomes the frequencies
    of up to four classes, or groups of classes, among the earlier samples of the same
    category. The choice is made after 32, 128 and 512 samples, and if it changes, the
    earlier samples are learned again. A category that first appears later is encoded as
    one half in each of two features, and beyond 4,096 categories of a column, new ones
    share 1,024 places by their hash. A column of text becomes 128 hashed words and 128
    hashed trigrams of their letters; a column of dates becomes the number of days, and
    the time of day, week and year as sine and cosine. A missing category is one more
    category. Such models cannot be merged.

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

    def __init__(
        self,
        members: Literal["all", "mergeable"] | Sequence[str] = "all",
        *,
        n_projections: int = 512,
        window: int | None = None,
        delay: int = 0,
        delays: Literal["constant", "varying"] = "constant",
        class_weight: ClassWeight = None,
        categorical_features: (
            Literal["from_dtype"] | Sequence[str | int] | None
        ) = "from_dtype",
        text_features: Literal["auto"] | Sequence[str | int] | None = "auto",
        shuffle: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.members = members
        self.n_projections = n_projections
        self.window = window
        self.delay = delay
        self.delays = delays
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.text_features = text_features
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.random_state = random_state

    _waiting: WaitingRows | None = None

    def _learner(self) -> PooledLearner:
        return PooledLearner(self)

    @property
    def _varying(self) -> bool:
        return self.delays == "varying"

    # One row at a time

    def predict_one(self, x: FloatArray) -> Any:
        """Predict the label of the next sample, as `predict_next` does, but faster.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
            The sample; NaN is a missing value, infinities and values beyond ±1e150 are
            refused.

        Returns
        -------
        label
            The predicted label.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).fit(X, y)
        >>> int(model.predict_one(X[0]))
        0
        """
        self._require_fitted()
        if self._frame is not None:
            return self.predict_next(as_table_of_one(x))[0]
        row = check_row(self, x)
        label = np.empty(1, np.int64)
        score(self._state, row, label, _NOTHING, ordered=True)
        return self.classes_[label[0]]

    def learn_one(self, x: FloatArray, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one sample, as `partial_fit` does, but faster.

        A first sample, or one of a new class, falls back to `partial_fit`.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
            The sample.
        y : label
            Class of the sample.
        sample_weight : float, default=1.0
            Weight of the sample: it counts as that many equal samples.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).fit(X, y)
        >>> model.learn_one(X[0], y[0])
        >>> model.n_samples_seen_
        151
        """
        weight = None
        if sample_weight != 1.0:
            weight = one_weight(sample_weight, PooledLearner.weight_limits)
        number = self._index.find(y) if self.__sklearn_is_fitted__() else None
        if (
            number is None
            or self._frame is not None
            # A dictionary treats True as 1; `partial_fit` distinguishes them.
            or (isinstance(y, bool | np.bool_) and self.classes_.dtype.kind != "b")
        ):
            self.partial_fit(as_table_of_one(x), [y], sample_weight=weight)
            return
        self._check_unchanged()
        row, target = check_row(self, x), np.array([number])
        label = np.empty(1, np.int64)
        with lock_of(self):
            given = _ONE if weight is None else weight
            weight = self._row_weights(target, given)
            run(self._state, row, target, weight, label, _NOTHING)

    # Labels that arrive later

    @property
    def waiting_(self) -> IntArray:
        """Numbers of the samples that wait for their labels; see `predict_later`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(delays="varying", random_state=0).fit(X, y)
        >>> labels, ids = model.predict_later(X[:3])
        >>> model.learn_later(ids[1:], y[1:3]).waiting_.tolist()
        [0]
        """
        self._fitted_state("waiting_")
        return rows_waiting(self).ids

    @_only_varying
    def predict_later(self, X: Any) -> tuple[LabelArray, IntArray]:
        """Predict the next samples, and keep them until their labels arrive.

        Needs ``delays="varying"``. The model keeps the samples, and the scores of its
        members, until `learn_later` brings their labels: at most 100,000 samples, of
        which the oldest are dropped first. Model files keep them too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict; not sparse.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Labels as `predict_next` returns them.
        ids : ndarray of int of shape (n_samples,)
            Numbers of the samples, for `learn_later`.

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
        labels, _, ids = predict_later(self, X)
        return labels, ids

    @_only_varying
    def learn_later(
        self, ids: ArrayLike, y: Any, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn samples that `predict_later` predicted, now that labels have arrived.

        Members learn a sample as `partial_fit` does. The weights of the pool are
        learned from the scores with which the sample was predicted, however long ago.

        Parameters
        ----------
        ids : array-like of int of shape (n_samples,)
            Numbers of the samples, in the order in which their labels arrived.
        y : array-like of shape (n_samples,)
            Class labels. A label never seen before becomes a new class.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: one of weight w counts as w equal samples; above 0.

        Returns
        -------
        self
            The model.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(delays="varying", random_state=0)
        >>> model = model.partial_fit(X[::2], y[::2])
        >>> labels, ids = model.predict_later(X[1::2])
        >>> model = model.learn_later(ids[::-1], y[1::2][::-1])       # in any order
        >>> model.n_samples_seen_
        150
        """
        learn_later(self, ids, y, sample_weight)
        return self

    def _commit(
        self,
        X: Any,
        classes: LabelArray,
        state: PooledModel,
        frame: FrameEncoder | None = None,
        *,
        first: bool,
    ) -> None:
        super()._commit(X, classes, state, frame, first=first)
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
        """Explain predictions: contributions of members and features to the log odds.

        The score is the pool's log odds of one class against another for samples in any
        order, as in `predict`, before they are turned into probabilities. Contributions
        of members are exact. Contributions of features are Shapley values: exact where
        all sets of the features can be evaluated, up to nine features by default, or
        five with categories, text or dates; for more, means over random orders of the
        features and their reverses, with standard errors. Members whose scores are
        additive or quadratic in the features have no sampling error. Up to rounding,
        values always add up to the difference between the score of the sample and that
        of the background.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to explain.
        label : label, optional
            Class to explain; by default the predicted class of each sample.
        against : label, optional
            Class to compare with; by default the second best of each sample.
        background : array-like of shape (n_background, n_features), optional
            Samples whose values stand for features that are left out, averaged over the
            samples. By default the mean of each number by which the model scales, with
            the categories, texts and dates of up to 16 recent samples. For sparse
            samples, and for more than 4,096 features, it is zero.
        n_evaluations : int, default=512
            Approximate number of evaluations of the model for each sample. Errors fall
            with its square root; at least two orders of the features are evaluated. An
            evaluation takes as long as predicting a sample.

        Returns
        -------
        Explanation
            Contributions with standard `errors`, and with `members` by the names in
            `weights_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).fit(X, y)
        >>> found = model.explain(X[:1])
        >>> found.member_names[int(found.members[0].argmax())] in model.weights_
        True
        """
        return explain_pool(self, X, label, against, background, n_evaluations)

    def feature_importance(self, X: Any = None) -> FloatArray:
        """Return the current importance of each feature.

        Importance is the mean absolute Shapley value. Call it from time to time to see
        what changes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Samples to average over. By default the last samples learned: 64, or all of
            the first 256.

        Returns
        -------
        ndarray of shape (n_features,)
            Importance of each feature; adds up to 1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).fit(X, y)
        >>> model.feature_importance().shape
        (4,)
        """
        return pool_importance(self, X)

    def plot_importance(
        self, X: Any = None, *, top: int = 15, ax: "Axes | None" = None
    ) -> "Axes":
        """Draw `feature_importance` as a bar chart with matplotlib.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Samples to average over; see `feature_importance`.
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
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).fit(X, y)
        >>> axes = model.plot_importance()
        >>> len(axes.patches)
        4
        """
        found = self.feature_importance(X)
        return draw_importance(found, feature_names(self), top, ax)

    # Inspection

    @property
    def weights_(self) -> dict[str, float]:
        """Weight of each member's scores in the pool, by name.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).fit(X, y)
        >>> sorted(model.weights_)[:2]
        ['binned_bayes', 'boosted_trees']
        """
        state = self._fitted_state("weights_")
        return dict(
            zip(state.outputs, weights_in_use(state.pool).tolist(), strict=True)
        )

    @property
    def member_errors_(self) -> dict[str, float]:
        """Error rate of each member on the samples seen so far, and of the pool.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).fit(X, y)
        >>> errors = model.member_errors_
        >>> 0.0 <= errors["pool"] <= 1.0
        True
        """
        state = self._fitted_state("member_errors_")
        errors = state.pool.mistakes / max(state.pool.weight[0], 1e-300)
        return dict(zip([*state.outputs, "pool"], errors.tolist(), strict=True))

    @property
    def member_history_(self) -> MemberHistory:
        """Weights and errors of the members over time.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import PooledClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = PooledClassifier(random_state=0).fit(X, y)
        >>> history = model.member_history_
        >>> history.rows.shape == history.errors["pool"].shape
        True
        """
        return _member_history(self._fitted_state("member_history_"))

    # Joining

    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Add the statistics of another model to this one.

        Both must be copies of one model that has learned at least 256 samples, so that
        they scale samples alike. Members whose statistics are sums then equal those of
        one model that learned all samples, in any order; with members="mergeable" this
        holds for everything but the weights of the pool. The others keep the latest
        samples of both (neighbours of both kinds), the better trees of both
        (window_forest), the trees of the model with more samples and the samples of
        both (boosted_trees), or the sum of what has not faded yet (fading_covariance);
        the weights of the pool are combined by curvature. Models with a `delay` cannot
        be merged.

        Parameters
        ----------
        other : PooledClassifier
            Model with the same parameters.
        base : PooledClassifier, optional
            State from which both started; it is counted once. Without it, sums count it
            twice.

        Returns
        -------
        self
            This model, with what both have learned.

        Examples
        --------
        >>> from copy import deepcopy
        >>> from sklearn.datasets import load_digits
        >>> from rpnb import PooledClassifier
        >>> X, y = load_digits(return_X_y=True)
        >>> model = PooledClassifier(n_projections=16, random_state=0)
        >>> model = model.partial_fit(X[:300], y[:300])
        >>> other = deepcopy(model).partial_fit(X[300:400], y[300:400])
        >>> model.merge(other, base=model).n_samples_seen_
        400
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
            if model._frame is not None:
                raise ValueError(
                    f"{name} has learned categories, text or dates: only models of "
                    "numbers can be merged"
                )
            _check_copies(name, self._state, model._state)
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
        named = parameters.pop(CATEGORICAL), parameters.pop(TEXT)
        return {**parameters, **named_to_json(*named)}


def _member_history(state: PooledModel) -> MemberHistory:
    """Return the weights and errors of a pool's members over time."""
    pool, names = state.pool, state.outputs
    K = len(names)
    past = pool.history[: pool.clock[0]]
    if pool.clock[0] == 0 or past[-1, 0] < pool.seen[0]:
        now = (pool.seen[:1], pool.weight, pool.mistakes, weights_in_use(pool))
        past = np.vstack([past, np.concatenate(now)])
    parts = np.diff(past[:, 1 : K + 3], axis=0, prepend=0.0)
    errors = parts[:, 1:] / np.maximum(parts[:, :1], 1e-300)
    return MemberHistory(
        past[:, 0].astype(np.int64),
        dict(zip(names, past[:, K + 3 :].T, strict=True)),
        dict(zip([*names, "pool"], errors.T, strict=True)),
    )


def _check_copies(name: str, mine: PooledModel, its: PooledModel) -> None:
    """Refuse a pool that is not a copy of this one and cannot be merged with it."""
    if its.late is not None:
        raise ValueError(
            f"{name} has delay={its.shape.delay + 1}: only models without a delay "
            "can be merged"
        )
    if (mine.names, mine.shape, mine.seed) != (its.names, its.shape, its.seed):
        raise ValueError(
            f"{name} has other members or projections: only copies of one model "
            "can be merged"
        )
    same = np.array_equal(mine.scale.mean, its.scale.mean) and np.array_equal(
        mine.scale.deviation, its.scale.deviation
    )
    if not same or its.scale.seen[0] < 256:
        raise ValueError(
            f"{name} scales its rows differently: only copies of one model that "
            "had learned at least 256 rows can be merged"
        )
