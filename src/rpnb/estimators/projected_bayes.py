"""How a model of random projections and naive Bayes begins, learns and is kept.

The arithmetic is in `rpnb.core.passes.engine`; what users call, in
`rpnb.estimators.classifier`.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rpnb.core.bayes.combining import COMBINERS, Combiner
from rpnb.core.bayes.densities import Prior
from rpnb.core.bayes.model import Model, arrange_classes, copy_model, new_model
from rpnb.core.bayes.state import LEARN_ALL, LEARN_MISTAKES, set_bias_from_counts
from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.threads import in_threads
from rpnb.core.passes.engine import classify, learn_all, run, run_batches, scores
from rpnb.core.projection.matrices import (
    DISTRIBUTIONS,
    Distribution,
    down_space_dimension,
)
from rpnb.core.projection.record import Projection, make_projection
from rpnb.estimators.checks.jobs import check_jobs, threads_for
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.parameters import (
    check_choice,
    check_integer,
    check_real,
    draw_seed,
)
from rpnb.estimators.class_prior import (
    fixed_prior,
    follows_counts,
    prior_from_json,
    prior_to_json,
)
from rpnb.estimators.saving.model_parts import put_together, take_apart
from rpnb.estimators.stream.weighted import WeightedStreamClassifier

#: Names of what is learnt, and what the kernels call it.
UPDATES = {"mistakes": LEARN_MISTAKES, "all": LEARN_ALL}


class ProjectedBayes(WeightedStreamClassifier[Model]):
    """Abstract: K random projections, a naive Bayes on each, one vote."""

    n_estimators: int
    n_components: int | Literal["auto"]
    projection: Distribution
    combiner: Combiner
    update: Literal["mistakes", "all"]
    batch_size: int | None
    prior_mean: float
    prior_variance: float
    prior_weight: float
    forgetting: float | None
    class_prior: str | Mapping[Any, float] | ArrayLike
    var_floor: float
    temperature: float | None
    n_jobs: int | None
    random_state: Any

    _takes_sparse = True
    _free_parameters = ("update", "batch_size", "temperature", "n_jobs")

    # What a Learner says

    @property
    def _takes_unlabelled(self) -> bool:  # type: ignore[override]
        # A mini-batch is learnt at once: there is nothing between its rows.
        return self.batch_size == 1

    def _begin(self, p: int, classes: LabelArray, declared: IntArray) -> Model:
        unborn = self._unborn(p)
        source = np.full(classes.shape[0], -1)
        return self._arrange(unborn, source, classes, declared)

    def _unborn(self, p: int) -> Model:
        """Check the parameters and return a model that knows no class."""
        K = check_integer("n_estimators", self.n_estimators, 1)
        law = check_choice("projection", self.projection, DISTRIBUTIONS)
        rule = check_choice("combiner", self.combiner, COMBINERS)
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
        prior_from_counts = follows_counts(self.class_prior)
        return new_model(projection, rule, prior, prior_from_counts, keep)  # type: ignore[arg-type]

    def _check_free(self) -> None:
        check_choice("update", self.update, tuple(UPDATES))
        if self.batch_size is not None:
            check_integer("batch_size", self.batch_size, 1)
        if self.temperature is not None:
            check_real("temperature", self.temperature, 0.0, above=True)
        check_jobs(self.n_jobs)

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
        learn = UPDATES[self.update]
        n = X.shape[0]
        if labels is None:
            if learn == LEARN_ALL and self.batch_size == 1:
                learn_all(state, X, y, weight)
                return
            labels = np.empty(n, np.int64)
        if self.batch_size == 1:
            jobs = threads_for(self.n_jobs, n)
            run(state, X, y, weight, learn, labels, jobs=jobs)
        else:
            size = n if self.batch_size is None else int(self.batch_size)
            run_batches(state, X, y, weight, learn, size, labels)

    def _classify(self, state: Model, X: NDArray[Any]) -> IntArray:
        labels = np.empty(X.shape[0], np.int64)

        def work(rows: slice) -> None:
            labels[rows] = classify(state, X[rows])

        in_threads(work, X.shape[0], threads_for(self.n_jobs, X.shape[0]))
        return labels

    def _scores(self, X: NDArray[Any]) -> FloatArray:
        """Return the score of each class for each row (n, M)."""
        state = self._state
        values = np.empty((X.shape[0], state.M))

        def work(rows: slice) -> None:
            values[rows] = scores(state, X[rows])

        in_threads(work, X.shape[0], threads_for(self.n_jobs, X.shape[0]))
        return values

    def _temperature(self) -> float:
        """Return what scores are divided by to become log posteriors."""
        if self.temperature is None:
            return float(self._state.projection.K)
        return check_real("temperature", self.temperature, 0.0, above=True)

    def _tally(self, state: Model) -> tuple[int, int]:
        return state.n_seen, state.n_updates

    def _copy(self, state: Model) -> Model:
        return copy_model(state)

    def _set_class_prior(self, model: Model, classes: LabelArray) -> None:
        given = fixed_prior(self.class_prior, classes)
        if given is not None:
            model.classes.bias[:] = model.projection.K * np.log(given)
        elif model.classes.count_factor > 0.0:
            set_bias_from_counts(model.classes)

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
