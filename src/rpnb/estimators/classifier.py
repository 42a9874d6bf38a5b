"""RPNBClassifier: random projections, naive Bayes, and learning from mistakes."""

from collections.abc import Mapping
from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike

from rpnb.core.bayes.combining import Combiner
from rpnb.core.bayes.state import LEARN_NOTHING
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.passes.engine import run
from rpnb.core.projection.matrices import Distribution
from rpnb.estimators.checks.rows import check_row
from rpnb.estimators.frozen import FrozenRPNB, freeze
from rpnb.estimators.merging import MergeInput, merged
from rpnb.estimators.posteriors import decisions, log_posteriors
from rpnb.estimators.projected_bayes import UPDATES, ProjectedBayes

_ONE = np.ones(1)
_NOTHING = np.zeros(0, np.int64)


@final
class RPNBClassifier(ProjectedBayes):
    """Online classifier: K random projections, a naive Bayes on each, one vote.

    Each observation is projected K times to q dimensions. A Gaussian naive Bayes
    classifier stands on each projection, a rule combines them, and only observations
    that were misclassified change the statistics (Nguyen, Nguyen, Pham, Liew & Bezdek,
    "An ensemble-based online learning algorithm for streaming data").

    Parameters
    ----------
    n_estimators : int, default=200
        K, the number of projections and classifiers.
    n_components : int or "auto", default="auto"
        q, the dimension of the projections. "auto" is ⌊2·log₂ p⌋ for p features, at
        least 1 and at most p.
    projection : {"gaussian", "bernoulli", "achlioptas", "very_sparse", "hadamard"}, \
default="gaussian"
        Law of the projections' entries: N(0, 1); ±1; or −√3, 0, √3 with probabilities
        1/6, 2/3, 1/6. Two more for wide data: "very_sparse", −√s, 0, √s with
        probabilities 1/(2s), 1 − 1/s, 1/(2s) and s = √p, for sparse rows; "hadamard",
        N(0, 1) by fast Walsh-Hadamard transforms, for dense rows. All are divided by
        √q.
    combiner : {"log_sum", "sum", "product", "vote", "max", "min", "median"}, \
default="log_sum"
        How the members' posteriors become one score: equation (6) of the paper, or a
        rule of Kittler et al. (1998) on normalised posteriors. "product" always gives
        the labels of "log_sum", which is faster.
    update : {"mistakes", "all"}, default="mistakes"
        Which observations are learnt.
    batch_size : int or None, default=1
        Rows predicted before any of them is learnt. None makes each call of
        `partial_fit` or `predict_then_learn` one mini-batch. Batches do not reach
        across calls.
    prior_mean, prior_variance : float, default=0.0, 1.0
        Mean and variance of each column of each class before the first observation.
    prior_weight : float, default=1.0
        How many observations these count as.
    forgetting : float or None, default=None
        W > 1, for streams that drift: each class remembers about the last W rows that
        it has learnt. Before a row of weight w is learnt, the weight and the scatter of
        its class are multiplied by (1 − 1/W)ʷ, so that the weights of learnt rows of
        weight 1 add up to W in the end; a mini-batch counts as one row of its whole
        weight. Other classes and the prior do not fade. With class_prior="frequency",
        all counts fade by every row seen. None forgets nothing, as in the paper.
    class_prior : {"uniform", "frequency"}, mapping or array-like, default="uniform"
        P(y). "frequency" follows the labels seen, each class counted once more than
        seen. A mapping from label to probability, or an array in the order of the
        sorted classes, fixes it; a class without a probability is then refused.
    var_floor : float, default=1e-9
        Smallest variance that is ever used.
    temperature : float or None, default=None
        What scores are divided by before `predict_proba` normalises them, for
        "log_sum" and "product". None is K: the members see the same observation, so
        their evidence is averaged, not added up. No label depends on it.
    n_jobs : int or None, default=None
        Threads for many rows at once. `predict`, `predict_proba`, `predict_log_proba`
        and `decision_function` share out the rows; learning, which is sequential, has
        wide rows (more than 64 features, sparse, or by a fast law) projected by one
        thread ahead. None is 1 unless a `joblib.parallel_config` says otherwise, −1 is
        all cores. While there is more than one, BLAS is kept to one thread; otherwise
        it is left as it is. Nothing depends on it but time, and files do not keep it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the projections. With an int, member k is the same matrix in every run,
        whatever the number of members.

    Attributes
    ----------
    classes_ : array of shape (M,)
        The classes known so far, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (p,)
        Names of the features, if the first data had names that are all text.
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

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        n_components: int | Literal["auto"] = "auto",
        projection: Distribution = "gaussian",
        combiner: Combiner = "log_sum",
        update: Literal["mistakes", "all"] = "mistakes",
        batch_size: int | None = 1,
        prior_mean: float = 0.0,
        prior_variance: float = 1.0,
        prior_weight: float = 1.0,
        forgetting: float | None = None,
        class_prior: str | Mapping[Any, float] | ArrayLike = "uniform",
        var_floor: float = 1e-9,
        temperature: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.n_components = n_components
        self.projection = projection
        self.combiner = combiner
        self.update = update
        self.batch_size = batch_size
        self.prior_mean = prior_mean
        self.prior_variance = prior_variance
        self.prior_weight = prior_weight
        self.forgetting = forgetting
        self.class_prior = class_prior
        self.var_floor = var_floor
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Looking

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
        rows = self._rows_to_predict(X)
        values = self._scores(rows)
        if self._state.rule == "vote":
            with np.errstate(divide="ignore"):
                return np.log(values)
        if self._state.rule in ("log_sum", "product"):
            values = values / self._temperature()
        return log_posteriors(values)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row (n, M).

        For "log_sum" and "product" the geometric mean of the members' posteriors, or
        what `temperature` makes of it; for "vote" the share of the votes; for the other
        rules the combined posteriors. Rows sum to one.
        """
        return np.exp(self.predict_log_proba(X))

    # One row at a time

    def predict_one(self, x: FloatArray) -> Any:
        """Return the label of one row x (p,): `predict` without its formalities.

        For streams that come row by row, where checking a table of one row would take
        longer than predicting it.

        Parameters
        ----------
        x : array of shape (p,), float64
            A plain NumPy array; NaN, infinities and values beyond ±1e150 are refused.
        """
        self._require_fitted()
        label = np.empty(1, np.int64)
        run(self._state, check_row(self, x), _NOTHING, _ONE, LEARN_NOTHING, label)
        return self.classes_[label[0]]

    def learn_one(self, x: FloatArray, y: Any) -> None:
        """Learn one row x (p,) of class y: `partial_fit` without its formalities.

        After `predict_one` of the same row, what was found out then is used again. A
        first row, a class not seen before, or a `batch_size` other than 1, for which a
        row is a mini-batch of its own, goes the long way.
        """
        number = self._index.find(y) if self.__sklearn_is_fitted__() else None
        if (
            number is None
            or self.batch_size != 1
            # To a dictionary True is 1; the long way knows better.
            or (isinstance(y, bool | np.bool_) and self.classes_.dtype.kind != "b")
        ):
            self.partial_fit(np.asarray(x)[None, :], [y])
            return
        self._check_unchanged()
        row, target = check_row(self, x), np.array([number])
        learn = UPDATES[self.update]
        run(self._state, row, target, _ONE, learn, np.empty(1, np.int64))

    # Serving

    def compile(self) -> FrozenRPNB:
        """Return what the model knows now as a small predictor that never learns.

        Only for the combiners "log_sum" and "product", whose scores are polynomials of
        degree two in the features. Classes that do not take part yet are left out.

        Returns
        -------
        FrozenRPNB
            Independent of this model, which may go on learning.
        """
        self._require_fitted()
        names = getattr(self, "feature_names_in_", None)
        return freeze(self._state, self.classes_, names, self._temperature())

    # Joining

    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Add what another model has learnt, exactly, as if learnt here.

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
            counted once. Without it, the two have learnt nothing in common. Refused
            with `forgetting`: what is left of the base is not known.

        Returns
        -------
        self
        """
        models = {"this model": self, "other": other}
        if base is not None:
            models["base"] = base
        state, classes = merged(*(_part(name, one) for name, one in models.items()))
        self._set_class_prior(state, classes)
        self._state = state
        self._set_classes(classes)
        return self


def _part(name: str, model: Any) -> MergeInput:
    """Return what is merged of a model, which is called `name` in messages."""
    if not isinstance(model, RPNBClassifier):
        raise TypeError(f"{name} must be an RPNBClassifier, got {model!r}")
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"{name} has not seen any data yet")
    features = getattr(model, "feature_names_in_", [])
    return MergeInput(name, model._state, model.classes_, features, model.forgetting)
