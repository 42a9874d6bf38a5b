"""RPNBClassifier: random projections, naive Bayes, and learning from mistakes."""

from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpnb.core.bayes.model import Model
from rpnb.core.bayes.state import LEARN_NOTHING
from rpnb.core.kernels.arrays import BoolArray, FloatArray, IntArray
from rpnb.core.kernels.elementary import exp
from rpnb.core.passes.calibrated import empty_thresholds
from rpnb.core.passes.engine import run, run_batches, run_scored
from rpnb.core.projection.record import Projection
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.rows import as_table_of_one, check_row
from rpnb.estimators.checks.weights import one_weight
from rpnb.estimators.class_prior import set_class_prior
from rpnb.estimators.empty_model import UPDATES
from rpnb.estimators.frozen.model import FrozenRPNB, freeze
from rpnb.estimators.merging import MergeInput, merge_models, merged_counts
from rpnb.estimators.posteriors import decisions
from rpnb.estimators.rpnb_learner import RPNBLearner, rows_in_scale
from rpnb.estimators.scaling import learn_scale
from rpnb.estimators.stream.activity import lock_of
from rpnb.estimators.stream.learner import ScoredRows
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.estimators.trust.probabilities import (
    fixed_temperature,
    is_calibrated,
    log_probabilities,
    start_calibration,
)
from rpnb.estimators.trust.reasons import Explained
from rpnb.estimators.trust.sets import NO_SETS, past_sets, prediction_sets
from rpnb.estimators.trust.unlearning import model_without, rows_to_unlearn

_ONE = np.ones(1)
_NOTHING = np.zeros(0, np.int64)


@final
class RPNBClassifier(RPNBLearner, Explained[Model], WeightedStreamClassifier[Model]):
    """Online classifier: K random projections, a naive Bayes on each, one vote.

    Each observation is projected K times to q dimensions. Each projection has a
    Gaussian naive Bayes classifier, a rule combines them, and only observations that
    were misclassified change the statistics.

    Parameters
    ----------
    n_estimators : int, default=200
        K, the number of projections and classifiers.
    n_components : int or "auto", default="auto"
        q, the dimension of the projections. "auto" is ⌊2·log₂ p⌋ for p features, at
        least 1 and at most p.
    projection : {"gaussian", "bernoulli", "achlioptas", "very_sparse", "hadamard"}, \
default="gaussian"
        Distribution of the projections' entries: N(0, 1); ±1; or −√3, 0, √3 with
        probabilities 1/6, 2/3, 1/6. Two more for wide data: "very_sparse", −√s, 0, √s
        with probabilities 1/(2s), 1 − 1/s, 1/(2s) and s = √p, for sparse rows;
        "hadamard", N(0, 1) by fast Walsh-Hadamard transforms, for dense rows. All are
        divided by √q.
    combiner : {"log_sum", "sum", "product", "vote", "max", "min", "median"}, \
default="log_sum"
        How the members' posteriors become one score: equation (6) of the paper, or a
        rule of Kittler et al. (1998) on normalised posteriors. "product" always gives
        the labels of "log_sum", which is faster.
    update : {"mistakes", "all"}, default="mistakes"
        Which observations are learned.
    batch_size : int or None, default=1
        Rows predicted before any of them is learned. None makes each call of
        `partial_fit` or `predict_then_learn` one mini-batch. Batches do not reach
        across calls.
    prior_mean : float, default=0.0
        Mean of each column of each class before the first observation.
    prior_variance : float, default=1.0
        Variance of each column of each class before the first observation.
    prior_weight : float, default=1.0
        How many observations the prior mean and variance count as.
    forgetting : float or None, default=None
        W > 1, for streams that drift: each class remembers about the last W rows that
        it has learned. Before a row of weight w is learned, weight and scatter of
        its class are multiplied by (1 − 1/W)ʷ, so that the weights of learned rows of
        weight 1 add up to W in the end; a mini-batch counts as one row of its whole
        weight. Other classes and the prior do not fade. With class_prior="frequency",
        all counts fade by every row seen. None forgets nothing, as in the paper.
    class_prior : "uniform", "frequency", mapping or array-like, default="uniform"
        P(y). "frequency" follows the labels seen, each class counted once more than
        seen. A mapping from label to probability, or an array in the order of the
        sorted classes, fixes it; a class without a probability is then refused.
    {class_weight}
    var_floor : float, default=1e-9
        Smallest variance that is ever used.
    scale : "running" or None, default=None
        Whether features are scaled online, for features on different scales:
        each row by the mean and standard deviation of the rows learned before it,
        clipped at 3 deviations. Sparse rows are not centred. None takes rows as they
        are, as in the paper. `rpnb.preprocessing` scales for other learners.
    temperature : "auto", float or None, default="auto"
        How scores become probabilities, for "log_sum" and "product"; no label depends
        on it. "auto" learns it online: `predict_proba` is a mixture of
        temperatures, weighted by how well each has predicted the rows so far. The first
        512 rows and then one in 23 are used, each with the model before it was
        learned; row weights do not matter. A number divides scores before they are
        normalised. None is K: the members see the same observation, so their evidence
        is averaged, not added up. Changing it from "auto" ends and forgets what was
        learned about probabilities, with the next rows learned.
    n_jobs : int or None, default=None
        Threads for many rows at once. `predict`, `predict_proba`, `predict_log_proba`
        and `decision_function` share out the rows; learning, which is sequential, has
        wide rows (more than 64 features, sparse, "very_sparse" or "hadamard") projected
        by one thread ahead. None is 1 unless a `joblib.parallel_config` says otherwise,
        −1 is all cores. While there is more than one, BLAS is kept to one thread.
        Nothing depends on it but time, and files do not keep it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the projections, and of the order in which `fit` presents rows. With an
        int, member k is the same matrix in every run, whatever the number of members.

    Attributes
    ----------
    {inputs}
    n_seen_ : int
        Number of rows seen.
    n_updates_ : int
        Number of rows that changed the model: with update="mistakes", the mistakes.
    n_components_ : int
        q as used.

    Notes
    -----
    Observations may be sparse: SciPy matrices and arrays, or pandas frames of sparse
    columns. They are never made dense, and give the bits of the same rows dense. A
    projection beyond 512 MiB is not kept: what is needed of it is drawn anew for every
    block of rows, or call.

    NaN, infinities and values beyond ±1e150 are refused. Ties go to the first of the
    sorted classes. Labels and state do not depend on how rows are cut into calls, with
    `batch_size=1`, nor on the number of threads.

    References
    ----------
    T. T. Nguyen, T. T. T. Nguyen, X. C. Pham, A. W.-C. Liew and J. C. Bezdek, "An
    ensemble-based online learning algorithm for streaming data", 2017.

    J. Kittler, M. Hatef, R. P. W. Duin and J. Matas, "On combining classifiers", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 20, 1998.

    P. Li, T. J. Hastie and K. W. Church, "Very sparse random projections", KDD 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from rpnb import RPNBClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = RPNBClassifier(random_state=0)
    >>> predicted = model.predict_then_learn(X, y, classes=np.unique(y))
    >>> bool(np.mean(predicted != y) < 0.1)
    True
    >>> int(sum(predicted != y)) == model.n_updates_
    True
    """

    # Scores and probabilities

    @property
    def n_components_(self) -> int:
        """The dimension q of the projections."""
        return self._fitted_state("n_components_").projection.q

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class for each row; the largest wins.

        For "log_sum" it is the sum over the members of equation (5), up to a constant
        common to all classes; for the other rules see `core.bayes.combining.combine`.

        Returns
        -------
        array of shape (n, M), or (n,) for two classes
            For two classes the second's score minus the first's, as in scikit-learn.
        """
        rows = self._rows_to_predict(X)
        return decisions(self._scores(rows))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of `predict_proba` (n, M)."""
        return self._log_probabilities(self._scores(self._rows_to_predict(X)))

    def _log_probabilities(self, values: FloatArray) -> FloatArray:
        """Return log probabilities, given the scores of rows (n, M)."""
        if self._state.calibration is not None:
            values = np.where(self._state.classes.eligible, values, -np.inf)
        return log_probabilities(self._state, values, self.temperature)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row (n, M).

        For "log_sum" and "product" what `temperature` makes of the members' posteriors;
        for "vote" the share of the votes; for the other rules the combined posteriors.
        Rows sum to one.
        """
        return exp(self.predict_log_proba(X))

    def _learn_scored(
        self,
        state: Model,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray,
    ) -> ScoredRows:
        start_calibration(state, self.temperature)
        n = y.shape[0]
        out, thresholds = np.empty((n, state.M)), empty_thresholds(n)
        code = UPDATES[self.update]
        size = n if self.batch_size is None else int(self.batch_size)
        if state.scale is not None:
            X = learn_scale(state.scale, X, y, weight, size)
        if self.batch_size == 1:
            run_scored(state, X, y, weight, code, labels, out, thresholds)
        else:
            run_batches(state, X, y, weight, code, size, labels, None, out, thresholds)
        if state.calibration is not None:
            return ScoredRows(out, thresholds)
        return ScoredRows(exp(log_probabilities(state, out, self.temperature)))

    # Prediction sets

    def _sets(self, X: Any, coverage: float) -> BoolArray:
        P = self.predict_proba(X)
        return prediction_sets(self._state, P, coverage)

    def _sets_then_learn(
        self, X: Any, y: Any, coverage: float, classes: ArrayLike | None
    ) -> tuple[LabelArray, BoolArray]:
        if not is_calibrated(self.temperature, self.combiner):
            raise ValueError(NO_SETS)
        labels, scored = self._scored_then_learned(X, y, classes)
        assert scored.thresholds is not None  # noqa: S101 - it is calibrated
        return labels, past_sets(scored.probabilities, scored.thresholds, coverage)

    # One row at a time

    def predict_one(self, x: FloatArray) -> Any:
        """Return the label of one row x (p,), as `predict` would, faster.

        For streams that come row by row, where checking a table of one row would take
        longer than predicting it.

        Parameters
        ----------
        x : array of shape (p,), float64
            A plain NumPy array; NaN, infinities and values beyond ±1e150 are refused.
        """
        self._require_fitted()
        label = np.empty(1, np.int64)
        row = rows_in_scale(self._state, check_row(self, x))
        run(self._state, row, _NOTHING, _ONE, LEARN_NOTHING, label)
        return self.classes_[label[0]]

    def learn_one(self, x: FloatArray, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one row x (p,) of class y, as `partial_fit` would, faster.

        After `predict_one` of the same row, its scores are used again. A first row, a
        class not seen before, or a `batch_size` other than 1, for which a row is a
        mini-batch of its own, is handed to `partial_fit`. A row of weight w is learned
        as w equal rows in one update.
        """
        number = self._index.find(y) if self.__sklearn_is_fitted__() else None
        if (
            number is None
            or self.batch_size != 1
            # To a dictionary True is 1; `partial_fit` tells them apart.
            or (isinstance(y, bool | np.bool_) and self.classes_.dtype.kind != "b")
        ):
            given = None if sample_weight == 1.0 else one_weight(sample_weight)
            self.partial_fit(as_table_of_one(x), [y], sample_weight=given)
            return
        weight = _ONE if sample_weight == 1.0 else one_weight(sample_weight)
        self._check_unchanged()
        row, target = check_row(self, x), np.array([number])
        with lock_of(self):
            weight = self._row_weights(target, weight)
            if self._state.scale is not None:
                row = learn_scale(self._state.scale, row, target, weight)
            learn = UPDATES[self.update]
            start_calibration(self._state, self.temperature)
            run(self._state, row, target, weight, learn, np.empty(1, np.int64))

    # A small predictor

    def compile(self) -> FrozenRPNB:
        """Return the model in its present state as a small predictor.

        Only for the combiners "log_sum" and "product", whose scores are polynomials of
        degree two in the features. Classes that are not active yet are left out.

        Returns
        -------
        FrozenRPNB
            Independent of this model, which may learn further.
        """
        self._require_fitted()
        self._check_unchanged()
        names = getattr(self, "feature_names_in_", None)
        start_calibration(self._state, self.temperature)
        temperature = fixed_temperature(self._state, self.temperature)
        return freeze(self._state, self.classes_, names, temperature)

    # Models of parts of a stream

    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Add what another model has learned, exactly, as if learned here.

        Statistics pool by Theorem 1, whatever the order. Use it for shards of a
        stream: copies of one model that learn apart and are brought together. Where the
        past fades (`forgetting`), what each has left of it is pooled as it is: the
        weights add up, and fade from there.

        Parameters
        ----------
        other : RPNBClassifier
            A model with the same projections and prior.
        base : RPNBClassifier, optional
            The common state from which both models went on learning: what it holds is
            counted once. Without it, the two have learned nothing in common. Refused
            with `forgetting`: what is left of the base is not known.

        Returns
        -------
        self
        """
        models = {"this model": self, "other": other}
        if base is not None:
            models["base"] = base
        parts = [_merge_input(name, model) for name, model in models.items()]
        state, classes = merge_models(*parts)
        set_class_prior(state, self.class_prior, classes)
        counts = merged_counts(list(models.values()), classes)
        self._state = state
        self._set_classes(classes)
        self._class_counts = counts
        return self

    def unlearn(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Take learned rows out of the statistics again: Theorem 1 read backwards.

        With update="all" the statistics are then those of a model that has never seen
        the rows, to rounding. With update="mistakes" the rows must be ones that changed
        the model when they were learned; the statistics are then those of other rows
        that did. A model that had never seen the rows might have made other mistakes
        afterwards, and learned from these: it is not what results here.

        Classes stay known. What was learned about probabilities (`temperature="auto"`)
        stays as it is: 80 weights and 12 thresholds, of all rows together.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Rows that were learned.
        y : array-like of shape (n,)
            The labels with which they were learned.
        sample_weight : array-like of shape (n,), optional
            Their weights.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the rows cannot all have been learned: the label is not known, or a
            class's weight or variance would become negative. Not every such row can be
            told. Also with `forgetting`, where it is not known what is left of a row.
            Nothing is changed then.
        """
        labelled, numbers = rows_to_unlearn(self, X, y, sample_weight)
        self._state = model_without(self._state, labelled, numbers, self)
        return self

    # For adapters to other libraries

    def _set_projection(self, projection: Projection) -> None:
        """Accept rows of other features from now on.

        The statistics are of projected rows and stay as they are; the rows of the new
        projection must be drawn from the same seed.
        """
        self._state.projection = projection
        self.n_features_in_ = projection.features.shape[0]


def _merge_input(name: str, model: Any) -> MergeInput:
    """Return what is merged of a model, which is called `name` in messages."""
    if not isinstance(model, RPNBClassifier):
        raise TypeError(f"{name} must be an RPNBClassifier, got {model!r}")
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"{name} has not seen any data yet")
    features = getattr(model, "feature_names_in_", [])
    return MergeInput(name, model._state, model.classes_, features, model.forgetting)
