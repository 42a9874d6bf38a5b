"""FrozenRPNB: a learned model as one quadratic polynomial per class."""

from typing import Any, Literal, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from rpnb.core.bayes.model import Model
from rpnb.core.bayes.polynomials import (
    ClassPolynomials,
    evaluate_polynomials,
    make_polynomials,
)
from rpnb.core.calibration import mix_rows, smallest_temperature
from rpnb.core.kernels.arrays import FloatArray
from rpnb.core.kernels.elementary import exp, log
from rpnb.core.kernels.running_scale import RunningScale, copy_scale
from rpnb.estimators.checks.costs import Costs, check_costs, least_costly
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.frozen.onnx_graph import write_onnx
from rpnb.estimators.notebook import bundle_with_facts, with_facts
from rpnb.estimators.posteriors import decisions, log_posteriors
from rpnb.estimators.saving.estimator import (
    SavedEstimator,
    describe,
    load_estimator,
    require_fitted,
    write_estimator,
)
from rpnb.estimators.saving.files import ModelSource
from rpnb.estimators.saving.model_parts import check_weights, expert_weights
from rpnb.estimators.saving.schema import (
    StateSchema,
    ValueSchema,
    reals,
)
from rpnb.estimators.scaling import (
    apply_scale,
    scale_from_arrays,
    scale_schema,
    scale_to_arrays,
)


@final
class FrozenRPNB(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A predict-only classifier, created by `RPNBClassifier.compile`.

    With the combiner "log_sum" the score of a class is a quadratic polynomial in the
    features, whatever the number of projections. The projections are no longer needed:
    for p features, p(p + 3)/2 + 1 numbers per class are stored, and a prediction takes
    as many operations. Labels are those of the original model, except where two scores
    tie within rounding.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Active classes of the model, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the model had any.
    temperature_ : float
        Divisor of the scores in `predict_proba`; if the model has learned a mixture of
        temperatures, the one in the middle of its grid.

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

    def decision_function(self, X: Any) -> FloatArray:
        """Compute the score of each class; the class with the largest is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to score.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Scores of the classes. For two classes, the score of the second minus that
            of the first, as in scikit-learn.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> frozen = model.compile()
        >>> frozen.decision_function(X[:2]).shape
        (2, 3)
        """
        return decisions(self._scores(X))

    def predict(self, X: Any, *, costs: Costs | None = None) -> LabelArray:
        """Predict the label of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.
        costs : array-like of shape (n_classes, n_classes) or mapping, optional
            Cost of each prediction by true class (row) and predicted class (column), in
            the order of `classes_`, or by true class. The label with the lowest
            expected cost is predicted.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> frozen = model.compile()
        >>> frozen.predict(X[:2]).tolist()
        [0, 0]
        """
        if costs is not None:
            checked = check_costs(costs, self.classes_)
            return self.classes_[least_costly(self.predict_proba(X), checked)]
        return self.classes_[self._scores(X).argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Compute the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of the probabilities, in the order of `classes_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> frozen = model.compile()
        >>> frozen.predict_log_proba(X[:2]).shape
        (2, 3)
        """
        scores = self._scores(X)
        if self._weights is None:
            return log_posteriors(scores / self.temperature_)
        P = np.empty_like(scores)
        mix_rows(self._weights, scores, smallest_temperature(self.temperature_), P)
        return log(P)

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities of the classes, in the order of `classes_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> frozen = model.compile()
        >>> frozen.predict_proba(X[:2]).shape
        (2, 3)
        """
        return exp(self.predict_log_proba(X))

    def to_onnx(
        self,
        path: ModelSource,
        *,
        dtype: Literal["float64", "float32"] = "float64",
    ) -> None:
        """Write the classifier as an ONNX graph, atomically.

        The input is "X" of shape (n_samples, n_features); the outputs are "label" and
        "probabilities", as in a classifier that skl2onnx wrote without ZipMap. Needs
        ``pip install 'rpnb[onnx]'``; any runtime with the default operators can run it.

        Parameters
        ----------
        path : str, path or binary file
            File to write.
        dtype : {"float64", "float32"}, default="float64"
            Type of the input. Scores are always computed in double precision: a score
            is a sum of large terms that nearly cancel, and single precision would
            change labels.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> frozen = model.compile()
        >>> frozen.to_onnx("iris.onnx")
        >>> import onnxruntime
        >>> session = onnxruntime.InferenceSession("iris.onnx")
        >>> label, probabilities = session.run(None, {"X": X[:2]})
        >>> label.tolist()
        [0, 0]
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

    def _repr_html_inner(self) -> str:
        return with_facts(self, super()._repr_html_inner())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return bundle_with_facts(self, super()._repr_mimebundle_(**options))

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

    def save(self, path: ModelSource, *, key: bytes | None = None) -> None:
        """Write the classifier to a file of arrays and JSON, atomically.

        Parameters
        ----------
        path : str, path or binary file
            File to write.
        key : bytes, optional
            Secret of at least 16 bytes with which the file is signed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> frozen = model.compile()
        >>> frozen.save("iris.rpnb")
        >>> import rpnb
        >>> rpnb.load("iris.rpnb").predict(X[:2]).tolist()
        [0, 0]
        """
        require_fitted(self)
        arrays = self._state._asdict()
        if self._weights is not None:
            arrays["expert_weights"] = self._weights
        if self._scale is not None:
            arrays |= scale_to_arrays(self._scale)
        state = {
            "temperature": self.temperature_,
            "mixture": self._weights is not None,
            **({} if self._scale is None else {"scaled": True}),
        }
        saved = describe(self, {}, self.classes_, state, arrays)
        write_estimator(path, saved, key=key)

    @classmethod
    def load(cls, path: ModelSource, *, key: bytes | None = None) -> Self:
        """Read a classifier that `save` wrote.

        Parameters
        ----------
        path : str, path or binary file
            File to read.
        key : bytes, optional
            Secret with which the file must have been signed.

        Returns
        -------
        FrozenRPNB
            The classifier; it behaves as the saved one, to the bit.

        Raises
        ------
        ModelFileError
            If the file is not a complete model, or not signed with the key.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from rpnb import RPNBClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RPNBClassifier(random_state=0).fit(X, y)
        >>> frozen = model.compile()
        >>> frozen.save("iris.rpnb")
        >>> from rpnb import FrozenRPNB
        >>> FrozenRPNB.load("iris.rpnb").predict(X[:2]).tolist()
        [0, 0]
        """
        frozen: Self = load_estimator(cls, path, key, cls._state_schema, cls._restored)
        return frozen

    @classmethod
    def _restored(cls, saved: SavedEstimator, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the classifier from the content of a model file."""
        frozen = cls(**saved.parameters)
        frozen.classes_ = saved.classes
        frozen.temperature_ = float(saved.state["temperature"])
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
        """Return the schema of a model file with these classes and features."""
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


def freeze(
    model: Model, classes: LabelArray, names: Any, temperature: float
) -> FrozenRPNB:
    """Return a FrozenRPNB that predicts the active classes of `model`."""
    if model.rule not in ("log_sum", "product"):
        raise ValueError(
            "only models with the combiner 'log_sum' or 'product' can be compiled: "
            "their scores are polynomials; this model's combiner is "
            f"{model.rule!r}"
        )
    if model.projection.R.shape[0] == 0:
        raise ValueError(
            "this model cannot be compiled: with "
            f"projection={model.projection.distribution!r} and {model.projection.p} "
            "features, its projections are not kept as a matrix; use "
            "projection='gaussian', or fewer features"
        )
    active = np.flatnonzero(model.classes.eligible)
    forms = make_polynomials(model, active)
    if not all(np.isfinite(values).all() for values in forms):
        raise ValueError(
            "the model cannot be compiled: products of its precisions and means "
            "overflow double precision; scale the features, or raise var_floor"
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
