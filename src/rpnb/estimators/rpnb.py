"""RPNBClassifier: random projections, naive Bayes, and learning from mistakes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self, final

import numpy as np
from numpy.typing import ArrayLike

from rpnb.core.bayes.statistics import LEARN_NOTHING, Combiner
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.passes.engine import run
from rpnb.core.projection.matrices import Distribution
from rpnb.estimators.checks.rows import as_table_of_one, check_row
from rpnb.estimators.checks.weights import one_weight
from rpnb.estimators.class_prior import (
    prior_from_json,
    prior_to_json,
    set_class_prior,
)
from rpnb.estimators.frozen.frozen_rpnb import FrozenRPNB, freeze
from rpnb.estimators.merging import MergeInput, merge_models, merged_counts
from rpnb.estimators.rpnb_learner import UPDATES, RPNBLearner, rows_in_scale
from rpnb.estimators.scaling import learn_scale
from rpnb.estimators.stream.class_weights import ClassWeight
from rpnb.estimators.stream.locks import lock_of
from rpnb.estimators.stream.weighted import WeightedStreamClassifier
from rpnb.estimators.trust.plots import draw_importance
from rpnb.estimators.trust.probabilities import fixed_temperature, start_calibration
from rpnb.estimators.trust.reasons import (
    Explanation,
    QuadraticReasons,
    feature_names,
)
from rpnb.estimators.trust.unlearning import model_without, rows_to_unlearn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ONE = np.ones(1)
_NOTHING = np.zeros(0, np.int64)


@final
class RPNBClassifier(WeightedStreamClassifier):
    """Online ensemble of naive Bayes classifiers, each on its own random projection.

    Each sample is projected K times to q dimensions. Each projection has a Gaussian
    naive Bayes classifier, a rule combines them, and only misclassified samples change
    the statistics.

    Parameters
    ----------
    n_estimators : int, default=200
        Number K of projections and classifiers.
    n_components : int or "auto", default="auto"
        Dimension q of the projections. "auto" is ⌊2·log₂ n_features⌋, at least 1 and at
        most n_features.
    projection : {"gaussian", "bernoulli", "achlioptas", "very_sparse", "hadamard"}, \
default="gaussian"
        Distribution of the projections' entries: N(0, 1); ±1; or −√3, 0, √3 with
        probabilities 1/6, 2/3, 1/6. Two more for wide data: "very_sparse", −√s, 0, √s
        with probabilities 1/(2s), 1 − 1/s, 1/(2s) and s = √n_features, for sparse
        samples; "hadamard", N(0, 1) by fast Walsh-Hadamard transforms, for dense ones.
        All are divided by √q.
    combiner : {"log_sum", "sum", "product", "vote", "max", "min", "median"}, \
default="log_sum"
        How the members' posteriors become one score: equation (6) of the paper, or a
        rule of Kittler et al. (1998) on normalised posteriors. "product" always gives
        the labels of "log_sum", which is faster.
    update : {"mistakes", "all"}, default="mistakes"
        Whether to learn only misclassified samples, as in the paper, or all.
    batch_size : int or None, default=1
        Number of samples predicted before any of them is learned. None makes each call
        of `partial_fit` or `predict_then_learn` one mini-batch. A batch never spans two
        calls.
    prior_mean : float, default=0.0
        Mean of each projected dimension in each class before the first observation.
    prior_variance : float, default=1.0
        Variance of each projected dimension in each class before the first observation.
    prior_weight : float, default=1.0
        How many observations the prior mean and variance count as.
    forgetting : float or None, default=None
        Memory W > 1 for streams that drift: each class remembers about its last W
        learned samples. Before a sample of weight w is learned, weight and scatter of
        its class are multiplied by (1 − 1/W)ʷ, so that weights of 1 add up to W in the
        limit; a mini-batch counts as one sample of its total weight. Other classes and
        the prior do not fade. With class_prior="frequency", all counts fade by every
        sample seen. None: no forgetting, as in the paper.
    class_prior : "uniform", "frequency", mapping or array-like, default="uniform"
        Prior P(y) of the classes. "frequency" follows the labels seen, with one added
        to each class's count. A mapping from label to probability, or an array in the
        order of the sorted classes, fixes it; a class without a probability is then
        refused.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. A dictionary maps
        labels to weights from 1e-6 to 1e6; a class that is not in it has weight 1.
        "balanced" weights a sample of class y by n / (M * n_y), where n counts the
        samples, n_y those of class y and M the classes. In `fit` all samples are
        counted, as in scikit-learn; in `partial_fit` and `predict_then_learn`, those up
        to and including the sample itself, however the data is split into calls.
    var_floor : float, default=1e-9
        Lower bound on every variance.
    scale : "running" or None, default=None
        Whether features are scaled online, for features on different scales: each
        sample by the mean and standard deviation of the samples learned before it,
        clipped at 3 deviations. Sparse samples are not centred. None leaves samples as
        they are, as in the paper. `rpnb.preprocessing` scales for other learners.
    temperature : "auto", float or None, default="auto"
        How scores become probabilities, for "log_sum" and "product"; no label depends
        on it. "auto" learns it online: `predict_proba` is a mixture of temperatures,
        weighted by how well each has predicted the samples so far. The first 512
        samples and then one in 23 are used, each with the model before it was learned;
        sample weights do not matter. A number divides scores before they are
        normalised. None stands for K: the members see the same sample, so their
        evidence is averaged, not added up. Changing it from "auto" discards what was
        learned about probabilities when the next samples are learned.
    shuffle : bool, default=True
        Whether `fit` learns the samples in a random order instead of the order given.
        `partial_fit` and `predict_then_learn` always keep the order.
    n_jobs : int or None, default=None
        Number of threads. `predict`, `predict_proba`, `predict_log_proba` and
        `decision_function` give each thread its own samples; learning is sequential,
        but one thread projects wide samples (more than 64 features, sparse,
        "very_sparse" or "hadamard") ahead. None means 1 unless inside a
        `joblib.parallel_config`, −1 means all cores. With more than one, BLAS is
        limited to one thread. Results do not depend on it, and model files do not keep
        it.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the projections, and of the order in which `fit` learns samples. With an
        int, member k is the same matrix in every run, whatever the number of members.

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
        Number of samples that changed the model: with update="mistakes", the mistakes.
    n_components_ : int
        Dimension q of the projections.

    Notes
    -----
    Samples may be sparse: SciPy matrices and arrays, or pandas frames of sparse
    columns. They are never made dense, and give the same results to the bit as dense
    ones. A projection beyond 512 MiB is not kept: the entries needed are drawn again
    for every block of samples, or call.

    NaN, infinities and values beyond ±1e150 are refused. Ties go to the first of the
    sorted classes. Labels and state are the same to the bit for any number of threads
    and, with `batch_size=1`, however the data is split into calls.

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
        class_weight: ClassWeight = None,
        var_floor: float = 1e-9,
        scale: Literal["running"] | None = None,
        temperature: float | Literal["auto"] | None = "auto",
        shuffle: bool = True,
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
        self.class_weight = class_weight
        self.var_floor = var_floor
        self.scale = scale
        self.temperature = temperature
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learner(self) -> RPNBLearner:
        return RPNBLearner(self)

    @property
    def n_components_(self) -> int:
        """Dimension q of the projections.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> RPNBClassifier(random_state=0).fit(X, y).n_components_
        4
        """
        return self._fitted_state("n_components_").projection.q

    # One row at a time

    def predict_one(self, x: FloatArray) -> Any:
        """Predict the label of one sample, as `predict` does, but faster.

        For data that arrives sample by sample, where checking a table of one row would
        take longer than predicting it.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
            The sample; NaN, infinities and values beyond ±1e150 are refused.

        Returns
        -------
        label
            The predicted label.

        Examples
        --------
        >>> import numpy as np
        >>> from rpnb import RPNBClassifier
        >>> model = RPNBClassifier(random_state=0).fit([[0.0], [1.0]], ["a", "b"])
        >>> str(model.predict_one(np.array([0.0])))
        'a'
        """
        self._require_fitted()
        label = np.empty(1, np.int64)
        row = rows_in_scale(self._state, check_row(self, x))
        run(self._state, row, _NOTHING, _ONE, LEARN_NOTHING, label)
        return self.classes_[label[0]]

    def learn_one(self, x: FloatArray, y: Any, sample_weight: float = 1.0) -> None:
        """Learn one sample, as `partial_fit` does, but faster.

        After `predict_one` of the same sample, its scores are reused. A first
        sample, one of a new class, or one with a `batch_size` other than 1, for which
        it is a mini-batch, falls back to `partial_fit`.

        Parameters
        ----------
        x : ndarray of shape (n_features,), float64
            The sample.
        y : label
            Class of the sample.
        sample_weight : float, default=1.0
            Weight of the sample: it counts as that many equal samples in one update.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> model.learn_one(X[0], y[0])
        >>> model.n_samples_seen_
        151
        """
        weight = None if sample_weight == 1.0 else one_weight(sample_weight)
        number = self._index.find(y) if self.__sklearn_is_fitted__() else None
        if (
            number is None
            or self.batch_size != 1
            # A dictionary treats True as 1; `partial_fit` distinguishes them.
            or (isinstance(y, bool | np.bool_) and self.classes_.dtype.kind != "b")
        ):
            self.partial_fit(as_table_of_one(x), [y], sample_weight=weight)
            return
        self._check_unchanged()
        row, target = check_row(self, x), np.array([number])
        with lock_of(self):
            weight = self._row_weights(target, _ONE if weight is None else weight)
            if self._state.scale is not None:
                row = learn_scale(self._state.scale, row, target, weight)
            learn = UPDATES[self.update]
            start_calibration(self._state, self.temperature)
            run(self._state, row, target, weight, learn, np.empty(1, np.int64))

    # Reasons

    def explain(
        self, X: Any, *, label: Any = None, against: Any = None, background: Any = None
    ) -> Explanation:
        """Explain predictions: the contribution of each feature to a class's score.

        Contributions are exact Shapley values in closed form. Up to rounding, they add
        up to the difference between the score of the sample and that of the background.
        The explained score is that of one class minus that of another,
        before it is turned into a probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to explain.
        label : label, optional
            Class to explain; by default the predicted class of each sample.
        against : label, optional
            Class to compare with; by default the second best of each sample.
        background : array-like of shape (n_background, n_features), optional
            Samples whose values stand for features that are left out, averaged over
            the samples. By default the mean of what was learned: the means of the
            classes, weighted by how often each was seen. For sparse samples it is zero,
            and only features present in a sample get a value.

        Returns
        -------
        Explanation
            Contributions, base values, scores, and the names of features and classes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> found = model.explain(X[:1])
        >>> rest = found.score - found.base - found.values.sum(axis=1)
        >>> bool(abs(rest[0]) < 1e-6)
        True
        """
        return QuadraticReasons(self).explain(X, label, against, background)

    def feature_importance(self, X: Any = None) -> FloatArray:
        """Return the current importance of each feature.

        Importance is the mean absolute Shapley value. Call it from time to time to see
        what changes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Samples to average over. By default the means of the classes as learned,
            weighted by how often each was seen.

        Returns
        -------
        ndarray of shape (n_features,)
            Importance of each feature; adds up to 1.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> model.feature_importance().shape
        (4,)
        """
        return QuadraticReasons(self).importance(X)

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
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> axes = model.plot_importance()
        >>> len(axes.patches)
        4
        """
        found = self.feature_importance(X)
        return draw_importance(found, feature_names(self), top, ax)

    # A small predictor

    def compile(self) -> FrozenRPNB:
        """Compile the model in its current state into a small predictor.

        Requires the combiner "log_sum" or "product", whose scores are quadratic
        polynomials in the features. Classes that are not active yet are left out.

        Returns
        -------
        FrozenRPNB
            A predictor that is independent of this model, which may learn further.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> frozen = model.compile()
        >>> bool((frozen.predict(X) == model.predict(X)).all())
        True
        """
        self._require_fitted()
        self._check_unchanged()
        names = getattr(self, "feature_names_in_", None)
        start_calibration(self._state, self.temperature)
        temperature = fixed_temperature(self._state, self.temperature)
        return freeze(self._state, self.classes_, names, temperature)

    # Models of parts of a stream

    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Add what another model has learned, exactly as if this one had learned it.

        Statistics are added by Theorem 1 of the paper, in any order. Use it to combine
        copies of one model that have learned different parts of a stream. With
        `forgetting`, the statistics of both are added as they have faded so far, and
        keep fading from there.

        Parameters
        ----------
        other : RPNBClassifier
            Model with the same projections and prior.
        base : RPNBClassifier, optional
            State from which both models started; it is counted once. Without it, the
            two must have learned nothing in common. Refused with `forgetting`, since it
            is unknown how much of the base is left.

        Returns
        -------
        self
            This model, with what both have learned.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> from copy import deepcopy
        >>> other = deepcopy(model).partial_fit(X[:10], y[:10])
        >>> model.merge(other, base=model).n_samples_seen_
        160
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
        # Two sequences of sets cannot be continued as one.
        self._set_thresholds = None
        return self

    def unlearn(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Remove learned samples from the statistics (Theorem 1, inverted).

        With update="all" the statistics are then, up to rounding, those of a model that
        has never seen the samples. With update="mistakes" the samples must be ones that
        changed the model when they were learned, and the statistics are then those of
        the other samples that did. A model that had never seen the samples might have
        made, and learned from, other mistakes.

        Classes stay known. The calibration (`temperature="auto"`), which consists of 80
        weights and 12 thresholds over all samples, is unchanged.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples that were learned.
        y : array-like of shape (n_samples,)
            Labels with which they were learned.
        sample_weight : array-like of shape (n_samples,), optional
            Weights with which they were learned.

        Returns
        -------
        self
            The model without the samples.

        Raises
        ------
        ValueError
            If the samples cannot all have been learned: the label is not known, or the
            weight or variance of a class would become negative. Not every such sample
            can be detected. Also with `forgetting`, where it is unknown how much of a
            sample is left. The model is then unchanged.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(update="all", random_state=0).partial_fit(X, y)
        >>> model = model.unlearn(X[:1], y[:1])
        >>> twin = RPNBClassifier(update="all", random_state=0)
        >>> twin = twin.partial_fit(X[1:], y[1:])
        >>> bool((model.predict(X) == twin.predict(X)).all())
        True
        """
        labelled, numbers = rows_to_unlearn(self, X, y, sample_weight)
        self._state = model_without(self._state, labelled, numbers, self)
        return self

    # Files

    def _parameters_to_json(self) -> dict[str, Any]:
        parameters = super()._parameters_to_json()
        given = parameters["class_prior"]
        del parameters["n_jobs"]
        return {**parameters, "class_prior": prior_to_json(given)}

    @classmethod
    def _parameters_from_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        parameters = super()._parameters_from_json(parameters)
        given = parameters["class_prior"]
        return {**parameters, "class_prior": prior_from_json(given)}


def _merge_input(name: str, model: Any) -> MergeInput:
    """Return the parts of a model to merge; messages call the model `name`."""
    if not isinstance(model, RPNBClassifier):
        raise TypeError(f"{name} must be an RPNBClassifier, got {model!r}")
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"{name} has not seen any data yet")
    features = getattr(model, "feature_names_in_", [])
    return MergeInput(name, model._state, model.classes_, features, model.forgetting)
