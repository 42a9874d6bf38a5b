"""RunningScaler: mean and deviation of the features, kept along a stream."""

from collections.abc import Collection
from os import PathLike
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from rpnb.core.kernels.arrays import FloatArray, IntArray
from rpnb.core.kernels.running_scale import (
    RunningScale,
    copy_scale,
    merge_scales,
    new_scale,
    variances,
)
from rpnb.estimators.checks.parameters import check_real
from rpnb.estimators.checks.rows import accept_rows, check_rows
from rpnb.estimators.checks.weights import check_weight
from rpnb.estimators.saving.estimator import (
    SavedEstimator,
    check_parameters,
    read_estimator,
    report_damage,
    require_version,
    write_estimator,
)
from rpnb.estimators.saving.schema import StateSchema, check_arrays, check_values
from rpnb.estimators.scaling import (
    CLIP,
    apply_scale,
    learn_scale,
    scale_from_arrays,
    scale_schema,
    scale_to_arrays,
)

_ONE = np.ones(1)


@final
class RunningScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Standardises features by the mean and deviation of the rows learned so far.

    A value x of a feature with mean m and standard deviation s becomes (x − m)/s,
    clipped; 0 while the feature has not varied. Rows are learned one by one in their
    order, so that no bit depends on how they are cut into calls, and
    `transform_then_learn` scales each row by the rows before it.

    Parameters
    ----------
    center : bool, default=True
        Whether the mean is subtracted. Without, a feature is divided by its root mean
        square. Sparse rows are never centred: where the first rows learned are sparse,
        none are.
    clip : float or None, default=3.0
        Scaled values beyond ±clip are clipped to it: an outlier must not dominate a
        projection, nor rows at the beginning, when deviations are little known. None
        clips nothing.

    Attributes
    ----------
    mean_ : array of shape (p,)
        Means of the features; 0 where rows are not centred.
    var_ : array of shape (p,)
        Their population variances, about 0 where rows are not centred. A feature that
        has not varied has 0.
    scale_ : array of shape (p,)
        Their standard deviations, 1 for features that have not varied.
    n_samples_seen_ : int
        Number of rows learned.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of shape (p,)
        Names of the features, if the first data had names that are all text.

    See Also
    --------
    make_stream_pipeline : a scaler and a learner as one learner.

    Notes
    -----
    NaN is a missing value: it stays NaN and is not counted. Infinities and values
    beyond ±1e150 are refused. A scaler that has learned dense rows makes sparse rows
    dense.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample
    variance: analysis and recommendations", The American Statistician 37, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from rpnb.preprocessing import RunningScaler
    >>> X = np.array([[1.0, 1000.0], [3.0, 4000.0], [2.0, 1000.0]])
    >>> RunningScaler().transform_then_learn(X).tolist()
    [[0.0, 0.0], [0.0, 0.0], [0.0, -1.0]]
    >>> RunningScaler().fit(X).mean_.tolist()
    [2.0, 2000.0]
    """

    _state: RunningScale
    _state_version = 1

    def __init__(self, *, center: bool = True, clip: float | None = CLIP) -> None:
        self.center = center
        self.clip = clip

    # Learning

    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Forget everything and learn from the rows of X (n, p).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            Observations.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (n,), optional
            A row of weight w counts as w equal rows.

        Returns
        -------
        self
        """
        self._learn(X, sample_weight, first=True)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows X (n, p); the parameters are those of `fit`."""
        self._learn(X, sample_weight, first=not self.__sklearn_is_fitted__())
        return self

    def transform_then_learn(
        self, X: Any, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Scale each row of X (n, p) by the rows before it, then learn it.

        Returns
        -------
        array or sparse matrix of shape (n, p)
        """
        return self._learn(X, sample_weight, first=not self.__sklearn_is_fitted__())

    def _learn(self, X: Any, sample_weight: Any, *, first: bool) -> Any:
        clip = self._clip()
        rows = check_rows(self, X, sparse=True)
        n = rows.shape[0]
        weight, learned = _ONE, np.zeros(n, np.int64)
        if sample_weight is not None:
            weight = check_weight(sample_weight, n)
            learned[weight == 0.0] = -1
        accept_rows(self, X, first=first)
        if first:
            self._state = self._new_state(rows.shape[1])
        return learn_scale(self._state, rows, learned, weight, 1, clip)

    def _new_state(self, p: int) -> RunningScale:
        """Check the parameters and return the scale before the first row."""
        self._clip()
        return new_scale(p, centred=bool(self.center))

    def _clip(self) -> float:
        """Return the bound of scaled values."""
        if not isinstance(self.center, bool | np.bool_):
            raise TypeError(f"center must be True or False, got {self.center!r}")
        if self.clip is None:
            return np.inf
        return check_real("clip", self.clip, 0.0, above=True)

    # Scaling

    def transform(self, X: Any) -> Any:
        """Return the rows of X (n, p), scaled by all rows learned so far."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                "This RunningScaler instance is not fitted yet: call fit, partial_fit "
                "or transform_then_learn first."
            )
        rows = check_rows(self, X, sparse=True)
        accept_rows(self, X, first=False)
        return apply_scale(self._state, rows, self._clip())

    # Attributes

    @property
    def mean_(self) -> FloatArray:
        """Means of the features."""
        return self._fitted("mean_").mean.copy()

    @property
    def var_(self) -> FloatArray:
        """Variances of the features."""
        return variances(self._fitted("var_"))

    @property
    def scale_(self) -> FloatArray:
        """Standard deviations of the features, 1 where there is none."""
        variance = variances(self._fitted("scale_"))
        return np.sqrt(np.where(variance > 0.0, variance, 1.0))

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned."""
        return int(self._fitted("n_samples_seen_").seen[0])

    def _fitted(self, attribute: str) -> RunningScale:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"RunningScaler has no {attribute} before it has data")
        return self._state

    def __sklearn_is_fitted__(self) -> bool:
        return "_state" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # Joining

    def merge(self, other: Self, base: Self | None = None) -> Self:
        """Add the rows that another scaler has learned, exactly but for rounding.

        Parameters
        ----------
        other : RunningScaler
            A scaler of the same features.
        base : RunningScaler, optional
            The common state from which both went on: its rows are counted once.

        Returns
        -------
        self
        """
        states = [_state_of("this scaler", self), _state_of("other", other)]
        if base is not None:
            states.append(_state_of("base", base))
        check_alike(states)
        self._state = merge_scales(states[0], states[1], *states[2:])
        return self

    # Files

    def save(self, path: str | PathLike[str], *, key: bytes | None = None) -> None:
        """Write the scaler to a file of arrays and JSON, whole or not at all.

        With a key of at least 16 bytes, the file is signed.
        """
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This RunningScaler instance has nothing to save.")
        saved = SavedEstimator(
            type(self).__name__,
            self.parameters_to_json(),
            np.zeros(1, np.int64),  # files have classes, of which a scaler has none
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            {},
            scale_to_arrays(self._state),
            self._state_version,
        )
        write_estimator(path, saved, key=key)

    def parameters_to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON has them, or say what is wrong with them."""
        self._clip()
        clip = None if self.clip is None else float(self.clip)
        return {"center": bool(self.center), "clip": clip}

    @classmethod
    def load(cls, path: str | PathLike[str], *, key: bytes | None = None) -> Self:
        """Read a scaler that `save` wrote; it behaves as the saved one, to the bit.

        With a key, files that were not signed with it are refused.
        """
        saved = read_estimator(path, cls.__name__, key, cls._array_names)
        with report_damage(path):
            require_version(saved, cls._state_version)
            scaler = cls.from_json(saved.parameters)
            scaler.n_features_in_ = saved.n_features
            if saved.feature_names is not None:
                scaler.feature_names_in_ = saved.feature_names
            schema = StateSchema(scale_schema(saved.n_features))
            check_values(saved.state, schema)
            scaler._state = scale_from_arrays(check_arrays(saved.arrays, schema))
        return scaler

    @classmethod
    def _array_names(cls, saved: SavedEstimator) -> Collection[str]:
        return scale_schema(saved.n_features).keys()

    @classmethod
    def from_json(cls, parameters: dict[str, Any]) -> Self:
        """Return a scaler that has seen nothing, with the parameters of a file."""
        check_parameters(parameters, cls._get_param_names())
        scaler = cls(**parameters)
        scaler._clip()
        return scaler

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        super().__setstate__(attributes)
        if self.__sklearn_is_fitted__():
            # joblib may have handed out arrays mapped from a file, for reading only.
            self._state = copy_scale(self._state)


def check_alike(scales: list[RunningScale]) -> None:
    """Refuse to merge scales of other features, or centred and not."""
    for scale in scales[1:]:
        if scale.mean.shape != scales[0].mean.shape:
            raise ValueError(
                f"scalers of {scales[0].mean.shape[0]} and {scale.mean.shape[0]} "
                "features cannot be merged"
            )
        if scale.centred[0] != scales[0].centred[0]:
            raise ValueError(
                "a scaler that centres rows and one that does not cannot be merged"
            )


def _state_of(name: str, scaler: Any) -> RunningScale:
    if not isinstance(scaler, RunningScaler):
        raise TypeError(f"{name} must be a RunningScaler, got {scaler!r}")
    if not scaler.__sklearn_is_fitted__():
        raise ValueError(f"{name} has not seen any data yet")
    return scaler._state


def scaled_rows(
    scaler: RunningScaler,
    scale: RunningScale,
    X: Any,
    y: IntArray,
    weight: FloatArray,
    size: int,
) -> Any:
    """Scale rows by a scaler's parameters and a state of it, and learn them."""
    return learn_scale(scale, X, y, weight, size, scaler._clip())
