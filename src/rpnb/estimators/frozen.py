"""FrozenRPNB: what a model has learnt, as one polynomial of degree two a class."""

from os import PathLike
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from rpnb.core.bayes.model import Model
from rpnb.core.bayes.polynomials import (
    ClassPolynomials,
    evaluate_polynomials,
    make_polynomials,
)
from rpnb.core.kernels.arrays import FloatArray
from rpnb.estimators.checks.labels import LabelArray
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.onnx_graph import write_onnx
from rpnb.estimators.posteriors import decisions, log_posteriors
from rpnb.estimators.saving.estimator import SavedEstimator
from rpnb.estimators.saving.files import ModelFileError, take_array


@final
class FrozenRPNB(ClassifierMixin, SavedEstimator[ClassPolynomials]):  # type: ignore[misc]
    """A classifier that `RPNBClassifier.compile` made: it predicts and never learns.

    Under the rule "log_sum" the score of a class is a polynomial of degree two in the
    features, whatever the number of projections. It needs neither projections nor
    columns: p(p + 3)/2 + 1 numbers a class, and as many operations a prediction.

    Labels are those of the model it was made from, except where two scores tie within
    rounding.

    Attributes
    ----------
    classes_ : array of shape (M,)
        The classes that took part in the model, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (p,)
        Names of the features, if the model knew them.
    temperature_ : float
        What scores are divided by before `predict_proba` normalises them.

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

    temperature_: float

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of each class for each row; the largest wins.

        Returns
        -------
        array of shape (n, M), or (n,) for two classes
            For two classes the second's score minus the first's, as in scikit-learn.
        """
        return decisions(self._scores(X))

    def predict(self, X: Any) -> LabelArray:
        """Return the label of each row of X (n, p)."""
        return self.classes_[self._scores(X).argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of `predict_proba` (n, M)."""
        return log_posteriors(self._scores(X) / self.temperature_)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class for each row (n, M)."""
        return np.exp(self.predict_log_proba(X))

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
        write_onnx(path, self._state, self.classes_, self.temperature_, dtype)

    def _scores(self, X: Any) -> FloatArray:
        rows = check_rows(self, X, sparse=False)
        accept_rows(self, X, first=False)
        return evaluate_polynomials(self._state, np.asarray(rows, dtype=np.float64))

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    # What SavedEstimator asks for

    def _dump(
        self, state: ClassPolynomials
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"temperature": self.temperature_}, state._asdict()

    def _restore(
        self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]], M: int, p: int
    ) -> ClassPolynomials:
        self.temperature_ = float(metadata["temperature"])
        if not self.temperature_ > 0.0:
            raise ModelFileError(
                "the model file is damaged: its temperature is not above 0"
            )
        shapes = {"origin": (p,), "factors": (M, p * (p + 3) // 2), "constant": (M,)}
        return ClassPolynomials(
            *(take_array(arrays, name, np.float64, shapes[name]) for name in shapes)
        )

    def _set_classes(self, classes: LabelArray) -> None:
        self.classes_ = classes

    def _note_parameters(self) -> None:
        """There are none."""

    def _check_unchanged(self) -> None:
        """There is nothing to change."""


def freeze(
    model: Model, classes: LabelArray, names: Any, temperature: float
) -> FrozenRPNB:
    """Return what `model` knows of the classes that take part in it, frozen."""
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
    part = np.flatnonzero(model.classes.eligible)
    forms = make_polynomials(model, part)
    if not all(np.isfinite(values).all() for values in forms):
        raise ValueError(
            "the model cannot be compiled: products of its precisions and means are "
            "beyond double precision; scale the features, or raise var_floor"
        )
    frozen = FrozenRPNB()
    frozen._set_classes(classes[part])
    frozen.n_features_in_ = model.projection.R.shape[0]
    if names is not None:
        frozen.feature_names_in_ = names
    frozen.temperature_ = temperature
    frozen._state = forms
    return frozen
