"""FrozenRPNB: a learned model as one polynomial of degree two per class."""

from collections.abc import Collection
from os import PathLike
from typing import Any, Literal, Self, final

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from rpnb.core.bayes.model import Model
from rpnb.core.bayes.polynomials import (
    ClassPolynomials,
    evaluate_polynomials,
    make_polynomials,
)
from rpnb.core.calibration.cells import smallest_temperature
from rpnb.core.calibration.mixture import mix_rows
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import exp, log
from rpnb.core.kernels.running_scale import RunningScale, copy_scale
from rpnb.estimators.checks.costs import Costs, check_costs, least_costly
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.frozen.onnx_graph import write_onnx
from rpnb.estimators.notebook import NotebookView
from rpnb.estimators.posteriors import decisions, log_posteriors
from rpnb.estimators.saving.estimator import (
    SavedEstimator,
    read_estimator,
    report_damage,
    require_version,
    write_estimator,
)
from rpnb.estimators.saving.model_parts import check_weights, expert_weights
from rpnb.estimators.saving.schema import (
    StateSchema,
    ValueSchema,
    check_arrays,
    check_values,
    reals,
)
from rpnb.estimators.scaling import (
    apply_scale,
    scale_from_arrays,
    scale_schema,
    scale_to_arrays,
)


@final
class FrozenRPNB(NotebookView, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that `RPNBClassifier.compile` made: it predicts and never learns.

    Under the rule "log_sum" the score of a class is a polynomial of degree two in the
    features, whatever the number of projections. It needs neither projections nor
    columns: p(p + 3)/2 + 1 numbers per class, and as many operations per prediction.

    Labels are those of the model it was made from, except where two scores tie within
    rounding.

    Attributes
    ----------
    classes_ : array of shape (M,)
        The active classes of the model, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (p,)
        Names of the features, if the model knew them.
    temperature_ : float
        What scores are divided by before `predict_proba` normalises them; where the
        model had learned a mixture of temperatures, that in the middle of its grid.

    References
    ----------
    T. T. Nguyen, T. T. T. Nguyen, X. C. Pham, A. W.-C. Liew and J. C. Bezdek, "An
    ensemble-based online learning algorithm for streaming data", 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rpnb import FrozenRPNB, RPNBClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RPNBClassifier(random_state=0).fit(X, y)
    >>> frozen = model.compile()
    >>> bool((frozen.predict(X) == model.predict(X)).all())
    True
    >>> frozen.save("iris.rpnb")
    >>> bool((FrozenRPNB.load("iris.rpnb").predict(X) == frozen.predict(X)).all())
    True
    """

    classes_: LabelArray
    n_features_in_: int
    temperature_: float
    _state: ClassPolynomials
    _scale: RunningScale | None = None
    _weights: FloatArray | None = None
    """weights of the mixture; None where there is a single temperature"""
    _state_version = 1

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class for each row; the largest wins.

        Returns
        -------
        array of shape (n, M), or (n,) for two classes
            For two classes the second's score minus the first's, as in scikit-learn.
        """
        return decisions(self._scores(X))

    def predict(self, X: Any, *, costs: Costs | None = None) -> LabelArray:
        """Return the label of each row of X (n, p).

        With `costs` (M, M), of predictions by true class (row) and predicted class
        (column), it is the label with the least expected cost.
        """
        if costs is not None:
            checked = check_costs(costs, self.classes_)
            return self.classes_[least_costly(self.predict_proba(X), checked)]
        return self.classes_[self._scores(X).argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of `predict_proba` (n, M)."""
        scores = self._scores(X)
        if self._weights is None:
            return log_posteriors(scores / self.temperature_)
        P = np.empty_like(scores)
        mix_rows(self._weights, scores, smallest_temperature(self.temperature_), P)
        return log(P)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row (n, M)."""
        return exp(self.predict_log_proba(X))

    def to_onnx(
        self,
        path: str | PathLike[str],
        *,
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        """Write the classifier as an ONNX graph, whole or not at all.

        The input is "X" (n, p), the outputs are "label" (n,) and "probabilities"
        (n, M), as in a classifier that skl2onnx wrote without ZipMap. Needs
        ``pip install 'rpnb[onnx]'``; any runtime with the default operators can run it.

        Parameters
        ----------
        path : path
            File to write.
        dtype : {"float64", "float32"}, default="float64"
            Type of the input. The arithmetic is of double precision in any case: a
            score is a sum of large terms that nearly cancel, and single precision has
            too few digits for the labels to stay the same.
        """
        if dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
        if self._scale is not None and not self._scale.centred[0]:
            raise ValueError(
                "a model that has learned sparse rows, scaled without centring, cannot "
                "be written as an ONNX graph"
            )
        write_onnx(
            path,
            self._state,
            self._scale,
            self.classes_,
            self.temperature_,
            self._weights,
            dtype,
        )

    def _scores(self, X: Any) -> FloatArray:
        """Check X and return the score of each class for each row (n, M)."""
        rows = check_rows(self, X, sparse=False)
        accept_rows(self, X, first=False)
        dense = np.asarray(rows, dtype=np.float64)
        if self._scale is not None:
            dense = apply_scale(self._scale, dense)
        return evaluate_polynomials(self._state, dense)

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    # Files

    def save(self, path: str | PathLike[str], *, key: bytes | None = None) -> None:
        """Write the classifier to a file of arrays and JSON, whole or not at all.

        With a key, a secret of at least 16 bytes, the file is signed.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                "This FrozenRPNB instance has nothing to save: it is not fitted yet."
            )
        arrays = self._state._asdict()
        if self._weights is not None:
            arrays["expert_weights"] = self._weights
        if self._scale is not None:
            arrays |= scale_to_arrays(self._scale)
        saved = SavedEstimator(
            type(self).__name__,
            {},
            self.classes_,
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            {
                "temperature": self.temperature_,
                "mixture": self._weights is not None,
                **({} if self._scale is None else {"scaled": True}),
            },
            arrays,
            self._state_version,
        )
        write_estimator(path, saved, key=key)

    @classmethod
    def load(cls, path: str | PathLike[str], *, key: bytes | None = None) -> Self:
        """Read a classifier that `save` wrote; it behaves as the saved one.

        With a key, files that were not signed with it are refused.
        """
        saved = read_estimator(path, cls.__name__, key, cls._array_names)
        with report_damage(path):
            require_version(saved, cls._state_version)
            frozen = cls(**saved.parameters)
            frozen.classes_ = saved.classes
            frozen.n_features_in_ = saved.n_features
            if saved.feature_names is not None:
                frozen.feature_names_in_ = saved.feature_names
            schema = cls._state_schema(saved)
            check_values(saved.state, schema)
            frozen.temperature_ = float(saved.state["temperature"])
            arrays = check_arrays(saved.arrays, schema)
            frozen._weights = arrays.get("expert_weights")
            if frozen._weights is not None:
                check_weights(frozen._weights)
            names = ClassPolynomials._fields
            frozen._state = ClassPolynomials(*(arrays[name] for name in names))
            if "scaled" in saved.state:
                frozen._scale = scale_from_arrays(arrays)
        return frozen

    @classmethod
    def _state_schema(cls, saved: SavedEstimator) -> StateSchema:
        """Return what a model file of as many classes and features must hold."""
        M, p = saved.classes.shape[0], saved.n_features
        arrays = {
            "origin": reals(p),
            "factors": reals(M, p * (p + 3) // 2),
            "constant": reals(M),
        }
        if saved.state.get("mixture") is True:
            arrays["expert_weights"] = expert_weights()
        smallest = np.finfo(np.float64).tiny
        temperature = ValueSchema(float, smallest, np.finfo(np.float64).max)
        values = {"temperature": temperature, "mixture": ValueSchema(bool)}
        if "scaled" in saved.state:
            arrays |= scale_schema(p)
            values["scaled"] = ValueSchema(bool)
        return StateSchema(arrays, values)

    @classmethod
    def _array_names(cls, saved: SavedEstimator) -> Collection[str] | None:
        """Return the arrays that a file of this version must have."""
        require_version(saved, cls._state_version)
        return cls._state_schema(saved).arrays.keys()


def freeze(
    model: Model, classes: LabelArray, names: Any, temperature: float
) -> FrozenRPNB:
    """Return a FrozenRPNB that predicts the active classes of `model`."""
    if model.rule not in ("log_sum", "product"):
        raise ValueError(
            "only the combiners 'log_sum' and 'product' make scores that are "
            f"polynomials, and can be compiled; this model's combiner is {model.rule!r}"
        )
    if model.projection.R.shape[0] == 0:
        raise ValueError(
            "this model has too many features to be compiled: its projections keep no "
            "matrix, and a polynomial would have the square of "
            f"{model.projection.p} features as terms"
        )
    active = np.flatnonzero(model.classes.eligible)
    forms = make_polynomials(model, active)
    if not all(np.isfinite(values).all() for values in forms):
        raise ValueError(
            "the model cannot be compiled: products of its precisions and means are "
            "beyond double precision; scale the features, or raise var_floor"
        )
    frozen = FrozenRPNB()
    frozen.classes_ = classes[active]
    frozen.n_features_in_ = model.projection.R.shape[0]
    if names is not None:
        frozen.feature_names_in_ = names
    frozen.temperature_ = temperature
    frozen._weights = None
    if model.calibration is not None:
        frozen._weights = model.calibration.weights.copy()
    frozen._state = forms
    if model.scale is not None:
        frozen._scale = copy_scale(model.scale)
    return frozen
