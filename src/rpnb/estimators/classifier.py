"""RPNBClassifier: random projections, naive Bayes, and learning from mistakes."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Literal, Self, final

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from rpnb.core.arrays import FloatArray, IntArray
from rpnb.core.combining import RULES, Rule
from rpnb.core.engine import absorb_all, classify, run, run_batches, scores
from rpnb.core.model import (
    Model,
    Projection,
    arrange_classes,
    copy_model,
    grew_from,
    make_projection,
    new_model,
    pool,
)
from rpnb.core.moments import Prior
from rpnb.core.projection import LAWS, Law, down_space_dimension
from rpnb.core.stream import LEARN_ALL, LEARN_MISTAKES, LEARN_NOTHING
from rpnb.core.threads import LEAST_ROWS, in_threads
from rpnb.estimators.class_prior import (
    fixed_prior,
    follows_counts,
    prior_from_json,
    prior_to_json,
)
from rpnb.estimators.frozen import FrozenRPNB, freeze
from rpnb.estimators.labels import LabelArray, join_classes
from rpnb.estimators.model_parts import put_together, take_apart
from rpnb.estimators.parameters import (
    check_choice,
    check_integer,
    check_real,
    draw_seed,
)
from rpnb.estimators.rows import refuse_bad_values
from rpnb.estimators.streaming import WeightedStreamClassifier

_ONE = np.ones(1)
_NOTHING = np.zeros(0, np.int64)
_UPDATES = {"mistakes": LEARN_MISTAKES, "all": LEARN_ALL}


@final
class RPNBClassifier(WeightedStreamClassifier[Model]):
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
        Threads for predicting many rows at once: `predict`, `predict_proba`,
        `predict_log_proba` and `decision_function`. None is 1 unless a
        `joblib.parallel_config` says otherwise, −1 is all cores. While there is more
        than one, BLAS is kept to one thread; otherwise it is left as it is. Nothing
        depends on it but time, and files do not keep it.
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

    _takes_sparse = True
    _free_parameters = ("update", "batch_size", "temperature", "n_jobs")

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        n_components: int | Literal["auto"] = "auto",
        projection: Law = "gaussian",
        combiner: Rule = "log_sum",
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
        common to all classes; for the other rules see `rpnb.core.combining.combine`.

        Returns
        -------
        array of shape (n, M), or (n,) for two classes
            For two classes the second's score minus the first's, as in scikit-learn.
        """
        rows = self._rows_to_predict(X)
        values = self._scores(rows)
        if values.shape[1] == 2:
            return values[:, 1] - values[:, 0]
        return values

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of `predict_proba` (n, M)."""
        rows = self._rows_to_predict(X)
        values = self._scores(rows)
        if self._state.rule == "vote":
            with np.errstate(divide="ignore"):
                return np.log(values)
        if self._state.rule in ("log_sum", "product"):
            values = values / self._temperature()
        values -= values.max(axis=1, keepdims=True)
        values -= np.log(np.exp(values).sum(axis=1, keepdims=True))
        return values

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row (n, M).

        For "log_sum" and "product" the geometric mean of the members' posteriors, or
        what `temperature` makes of it; for "vote" the share of the votes; for the other
        rules the combined posteriors. Rows sum to one.
        """
        return np.exp(self.predict_log_proba(X))

    def _scores(self, X: NDArray[Any]) -> FloatArray:
        state = self._state
        values = np.empty((X.shape[0], state.M))

        def work(rows: slice) -> None:
            values[rows] = scores(state, X[rows])

        in_threads(work, X.shape[0], self._jobs(X.shape[0]))
        return values

    def _jobs(self, n: int) -> int:
        """Return how many threads may be used for n rows."""
        self._check_jobs()
        # Asking takes longer than predicting a row.
        return effective_n_jobs(self.n_jobs) if n >= 2 * LEAST_ROWS else 1

    def _check_jobs(self) -> None:
        if self.n_jobs is not None:
            whole = isinstance(self.n_jobs, Integral)
            if not whole or isinstance(self.n_jobs, bool | np.bool_):
                raise TypeError(
                    f"n_jobs must be an integer or None, got {self.n_jobs!r}"
                )
            if self.n_jobs == 0:
                raise ValueError("n_jobs must not be 0: 1 is one thread, -1 all cores")

    def _temperature(self) -> float:
        if self.temperature is None:
            return float(self._state.projection.K)
        return check_real("temperature", self.temperature, 0.0, above=True)

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
        run(self._state, self._one_row(x), _NOTHING, _ONE, LEARN_NOTHING, label)
        return self.classes_[label[0]]

    def learn_one(self, x: FloatArray, y: Any) -> None:
        """Learn one row x (p,) of class y: `partial_fit` without its formalities.

        After `predict_one` of the same row, what was found out then is used again. A
        first row, a class not seen before, or a `batch_size` other than 1, for which a
        row is a mini-batch of its own, goes the long way.
        """
        number = self._index.get(y) if self.__sklearn_is_fitted__() else None
        if (
            number is None
            or self.batch_size != 1
            # To a dictionary True is 1; the long way knows better.
            or (isinstance(y, bool | np.bool_) and self.classes_.dtype.kind != "b")
        ):
            self.partial_fit(np.asarray(x)[None, :], [y])
            return
        self._check_unchanged()
        row, target = self._one_row(x), np.array([number])
        learn = _UPDATES[self.update]
        run(self._state, row, target, _ONE, learn, np.empty(1, np.int64))

    def _one_row(self, x: FloatArray) -> FloatArray:
        if type(x) is not np.ndarray or x.dtype != np.float64 or x.ndim != 1:
            raise TypeError(
                "x must be a one-dimensional NumPy array of float64, got "
                f"{type(x).__name__}"
            )
        if x.shape[0] != self.n_features_in_:
            raise ValueError(
                f"x has {x.shape[0]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        row = x[None, :]
        refuse_bad_values(self, row)
        return row

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
        parts: list[RPNBClassifier] = [self, other]
        if base is not None:
            parts.append(base)
        for part, name in zip(parts, ("this model", "other", "base"), strict=False):
            if not isinstance(part, RPNBClassifier):
                raise TypeError(f"{name} must be an RPNBClassifier, got {part!r}")
            if not part.__sklearn_is_fitted__():
                raise ValueError(f"{name} has not seen any data yet")
            self._check_mergeable(part, name)
            if base is not None and part._state.keep < 1.0:
                raise ValueError(
                    f"{name} forgets (forgetting={part.forgetting!r}), so what it has "
                    "left of base is not known: merge without base, or models that "
                    "forget nothing"
                )
        classes = self.classes_
        for part in parts[1:]:
            classes = join_classes(classes, part.classes_, "the other model")
        aligned = [part._aligned(classes) for part in parts]
        for state, name in zip(aligned[:2], ("this model", "other"), strict=True):
            if base is not None and not grew_from(state, aligned[2]):
                raise ValueError(
                    f"{name} holds less than base in some class: base must be the "
                    "common state from which both went on learning"
                )
        pool(aligned[0], aligned[1], aligned[2] if base is not None else None)
        self._set_class_prior(aligned[0], classes)
        self._state = aligned[0]
        self._set_classes(classes)
        return self

    def _check_mergeable(self, part: "RPNBClassifier", name: str) -> None:
        mine, theirs = self._state, part._state
        if not mine.projection.same_as(theirs.projection):
            raise ValueError(
                f"{name} has other projections: merging needs the same n_estimators, "
                "n_components, projection, number of features and an equal random_state"
            )
        names = [getattr(one, "feature_names_in_", []) for one in (self, part)]
        if not np.array_equal(names[0], names[1]):
            raise ValueError(
                f"{name} has other feature names: {names[1]}, not {names[0]}"
            )
        if mine.prior != theirs.prior:
            raise ValueError(
                f"{name} has another prior: {theirs.prior} not {mine.prior}"
            )

    def _aligned(self, classes: LabelArray) -> Model:
        source = [self._index.get(label, -1) for label in classes.tolist()]
        return arrange_classes(self._state, np.array(source))

    # For adapters to other libraries

    def _start(self, p: int, classes: LabelArray) -> None:
        """Begin before the first row has come: with p features, and classes declared.

        Where rows come singly, and a prediction may be asked for before the first.
        """
        state = self._begin(p, classes, np.arange(classes.shape[0]))
        self._note_parameters()
        self._set_classes(classes)
        self.n_features_in_ = p
        self._state = state

    def _look_through(self, projection: Projection) -> None:
        """Take rows of other features from now on.

        The statistics live behind the projection: they stay as they are, provided that
        its rows are drawn from the same seed.
        """
        self._state.projection = projection
        self._state.memo = None
        self.n_features_in_ = projection.features.shape[0]

    # What StreamClassifier asks for

    def _begin(self, p: int, classes: LabelArray, declared: IntArray) -> Model:
        unborn = self._unborn(p)
        source = np.full(classes.shape[0], -1)
        return self._arrange(unborn, source, classes, declared)

    def _unborn(self, p: int) -> Model:
        """Check the parameters and return a model that knows no class."""
        K = check_integer("n_estimators", self.n_estimators, 1)
        law = check_choice("projection", self.projection, LAWS)
        rule = check_choice("combiner", self.combiner, RULES)
        if isinstance(self.n_components, str):
            check_choice("n_components", self.n_components, ("auto",))
            q = down_space_dimension(p)
        else:
            q = check_integer("n_components", self.n_components, 1)
        prior = Prior(
            check_real("prior_mean", self.prior_mean, -1e150, high=1e150),
            check_real(
                "prior_variance", self.prior_variance, 0, above=True, high=1e300
            ),
            check_real("prior_weight", self.prior_weight, 0.0),
            check_real("var_floor", self.var_floor, 1e-300, high=1e300),
        )
        keep = 1.0
        if self.forgetting is not None:
            keep -= 1.0 / check_real("forgetting", self.forgetting, 1.0, above=True)
        self._check_free()
        fixed_prior(self.class_prior, None)
        features = np.arange(p, dtype=np.uint64)
        seed = draw_seed(self.random_state)
        projection = make_projection(law, seed, features, K, q)  # type: ignore[arg-type]
        follow_counts = follows_counts(self.class_prior)
        return new_model(projection, rule, prior, follow_counts, keep)  # type: ignore[arg-type]

    def _check_free(self) -> None:
        check_choice("update", self.update, tuple(_UPDATES))
        if self.batch_size is not None:
            check_integer("batch_size", self.batch_size, 1)
        if self.temperature is not None:
            check_real("temperature", self.temperature, 0.0, above=True)
        self._check_jobs()

    def _arrange(
        self, state: Model, source: IntArray, classes: LabelArray, declared: IntArray
    ) -> Model:
        model = arrange_classes(state, source)
        model.classes.eligible[declared] = True
        self._set_class_prior(model, classes)
        return model

    def _renew(
        self, state: Model, p: int, classes: LabelArray, declared: IntArray
    ) -> Model:
        # The projections stay: drawing them is dear, and they hold nothing learnt.
        source = np.full(classes.shape[0], -1)
        model = self._arrange(state, source, classes, declared)
        model.n_seen = model.n_updates = 0
        return model

    def _learn(
        self,
        state: Model,
        X: NDArray[Any],
        y: IntArray,
        weight: FloatArray,
        labels: IntArray | None,
    ) -> None:
        learn = _UPDATES[self.update]
        n = X.shape[0]
        if labels is None:
            if learn == LEARN_ALL and self.batch_size == 1:
                absorb_all(state, X, y, weight)
                return
            labels = np.empty(n, np.int64)
        if self.batch_size == 1:
            run(state, X, y, weight, learn, labels)
        else:
            size = n if self.batch_size is None else int(self.batch_size)
            run_batches(state, X, y, weight, learn, size, labels)

    def _classify(self, state: Model, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)

        def work(rows: slice) -> None:
            labels[rows] = classify(state, X[rows])

        in_threads(work, X.shape[0], self._jobs(X.shape[0]))
        return labels

    def _tally(self, state: Model) -> tuple[int, int]:
        return state.n_seen, state.n_updates

    def _copy(self, state: Model) -> Model:
        return copy_model(state)

    def _set_class_prior(self, model: Model, classes: LabelArray) -> None:
        given = fixed_prior(self.class_prior, classes)
        if given is not None:
            model.classes.bias[:] = model.projection.K * np.log(given)
        elif model.classes.follow > 0.0:
            model.classes.bias[:] = model.classes.follow * np.log1p(model.classes.seen)

    # Files

    def _parameters_to_json(self) -> dict[str, Any]:
        parameters = super()._parameters_to_json()
        given = parameters["class_prior"]
        del parameters["n_jobs"]
        return {**parameters, "class_prior": prior_to_json(given)}

    @classmethod
    def _parameters_from_json(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        given = parameters["class_prior"]
        return {**parameters, "class_prior": prior_from_json(given)}

    def _dump(self, state: Model) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return take_apart(state)

    def _restore(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> Model:
        state = put_together(self._unborn(p), metadata, arrays, M)
        self._set_class_prior(state, self.classes_)
        return state
