"""RunningScaler: standardise features online."""

from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
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
    describe,
    load_estimator,
    require_fitted,
    write_estimator,
)
from rpnb.estimators.saving.files import ModelSource
from rpnb.estimators.saving.schema import StateSchema, saturated
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
    r"""Standardise features by the mean and deviation of the samples learned so far.

    A value x of a feature with mean m and standard deviation s becomes (x − m)/s,
    clipped; 0 while the feature has not varied. Samples are learned one by one in
    order, so that results do not depend on how the data is split into calls, and
    `transform_then_learn` scales each sample by the samples before it.

    Parameters
    ----------
    center : bool, default=True
        Whether to subtract the mean. If not, a feature is divided by its root mean
        square. Sparse samples are never centred: if the first samples learned are
        sparse, none are.
    clip : float or None, default=3.0
        Limit to which scaled values are clipped, so that neither outliers nor the first
        samples, when deviations are poorly estimated, dominate. None clips nothing.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features_in_,)
        Means of the features; 0 if samples are not centred.
    var_ : ndarray of shape (n_features_in_,)
        Population variances of the features, about 0 if samples are not centred; 0 for
        a feature that has not varied.
    scale_ : ndarray of shape (n_features_in_,)
        Standard deviations of the features; 1 for a feature that has not varied.
    n_samples_seen_ : int
        Number of samples learned so far.
    n_features_in_ : int
        Number of features of the first data.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the first data had column names that are all strings.

    See Also
    --------
    make_stream_pipeline : a scaler and a learner as one learner.

    Notes
    -----
    NaN is a missing value: it stays NaN and is not counted. Infinities and values
    beyond ±1e150 are refused. A scaler that has learned dense samples makes sparse
    samples dense.

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

    def __init__(self, *, center: bool = True, clip: float | None = CLIP) -> None:
        self.center = center
        self.clip = clip

    # Learning

    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the scaler to samples, discarding what was learned before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples to learn, in order.
        y : ignored
            Present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: one of weight w counts as w equal samples.

        Returns
        -------
        self
            The fitted scaler.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler().fit([[1.0], [3.0]]).mean_.tolist()
        [2.0]
        """
        self._learn(X, sample_weight, first=True)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn more samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples to learn, in order.
        y : ignored
            Present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: one of weight w counts as w equal samples.

        Returns
        -------
        self
            The scaler, with the samples learned.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> scaler = RunningScaler().partial_fit([[1.0], [3.0]])
        >>> scaler.partial_fit([[5.0]]).mean_.tolist()
        [3.0]
        """
        self._learn(X, sample_weight, first=not self.__sklearn_is_fitted__())
        return self

    def transform_then_learn(
        self, X: Any, sample_weight: ArrayLike | None = None
    ) -> Any:
        """Scale each sample by the samples before it, then learn it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples to scale and learn, in order.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples: one of weight w counts as w equal samples.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Scaled samples.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler().transform_then_learn([[1.0], [3.0], [3.0]]).tolist()
        [[0.0], [0.0], [1.0]]
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
        """Check the parameters and return the limit of scaled values."""
        if not isinstance(self.center, bool | np.bool_):
            raise TypeError(f"center must be True or False, got {self.center!r}")
        if self.clip is None:
            return np.inf
        return check_real("clip", self.clip, 0.0, above=True)

    # Scaling

    def transform(self, X: Any) -> Any:
        """Scale samples by all samples learned so far.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples to scale; nothing is learned from them.

        Returns
        -------
        ndarray or sparse matrix of shape (n_samples, n_features)
            Scaled samples.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler().fit([[1.0], [3.0]]).transform([[4.0]]).tolist()
        [[2.0]]
        """
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
        """Means of the features; 0 if samples are not centred.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler().fit([[1.0, 5.0], [3.0, 5.0]]).mean_.tolist()
        [2.0, 5.0]
        """
        return self._fitted("mean_").mean.copy()

    @property
    def var_(self) -> FloatArray:
        """Population variances of the features.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler().fit([[1.0, 5.0], [5.0, 5.0]]).var_.tolist()
        [4.0, 0.0]
        """
        return variances(self._fitted("var_"))

    @property
    def scale_(self) -> FloatArray:
        """Standard deviations of the features; 1 for a feature that has not varied.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler().fit([[1.0, 5.0], [5.0, 5.0]]).scale_.tolist()
        [2.0, 1.0]
        """
        variance = variances(self._fitted("scale_"))
        return np.sqrt(np.where(variance > 0.0, variance, 1.0))

    @property
    def n_samples_seen_(self) -> int:
        """Number of samples learned so far.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler().fit([[1.0], [3.0]]).partial_fit([[2.0]]).n_samples_seen_
        3
        """
        return int(self._fitted("n_samples_seen_").seen[0])

    def _fitted(self, attribute: str) -> RunningScale:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(
                f"RunningScaler has no {attribute} before it has learned any samples"
            )
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
        """Add the samples that another scaler has learned, exact up to rounding.

        Parameters
        ----------
        other : RunningScaler
            Scaler of the same features.
        base : RunningScaler, optional
            State from which both started; its samples are counted once.

        Returns
        -------
        self
            This scaler, with the samples of both.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> left = RunningScaler().fit([[1.0], [3.0]])
        >>> right = RunningScaler().fit([[8.0]])
        >>> left.merge(right).mean_.tolist()
        [4.0]
        """
        states = [_state_of("this scaler", self), _state_of("other", other)]
        if base is not None:
            states.append(_state_of("base", base))
        check_alike(states)
        self._state = merge_scales(states[0], states[1], *states[2:])
        return self

    # Files

    def save(self, path: ModelSource, *, key: bytes | None = None) -> None:
        """Write the scaler to a file of arrays and JSON, atomically.

        Parameters
        ----------
        path : str, path or binary file
            File to write.
        key : bytes, optional
            Secret of at least 16 bytes with which the file is signed.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> scaler = RunningScaler().fit([[1.0], [3.0]])
        >>> scaler.save("scaler.rpnb")
        >>> RunningScaler.load("scaler.rpnb").mean_.tolist()
        [2.0]
        """
        require_fitted(self)
        schema = StateSchema(scale_schema(self.n_features_in_))
        state, arrays = saturated({}, scale_to_arrays(self._state), schema)
        no_classes = np.zeros(1, np.int64)  # model files have some, a scaler has none
        saved = describe(self, self.parameters_to_json(), no_classes, state, arrays)
        write_estimator(path, saved, key=key)

    def parameters_to_json(self) -> dict[str, Any]:
        """Return the parameters as JSON values, or raise an error if they are invalid.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler(clip=5.0).parameters_to_json()
        {'center': True, 'clip': 5.0}
        """
        self._clip()
        clip = None if self.clip is None else float(self.clip)
        return {"center": bool(self.center), "clip": clip}

    @classmethod
    def load(cls, path: ModelSource, *, key: bytes | None = None) -> Self:
        """Read a scaler that `save` wrote.

        Parameters
        ----------
        path : str, path or binary file
            File to read.
        key : bytes, optional
            Secret with which the file must have been signed.

        Returns
        -------
        RunningScaler
            The scaler; it behaves as the saved one, to the bit.

        Raises
        ------
        ModelFileError
            If the file is not a complete model, or not signed with the key.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler().fit([[1.0], [3.0]]).save("scaler.rpnb")
        >>> RunningScaler.load("scaler.rpnb").scale_.tolist()
        [1.0]
        """
        scaler: Self = load_estimator(
            *(cls, path, key),
            lambda saved: StateSchema(scale_schema(saved.n_features)),
            cls._restored,
        )
        return scaler

    @classmethod
    def _restored(cls, saved: SavedEstimator, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the scaler from the content of a model file."""
        scaler = cls.from_json(saved.parameters)
        scaler._state = scale_from_arrays(arrays)
        return scaler

    @classmethod
    def from_json(cls, parameters: dict[str, Any]) -> Self:
        """Return a new, unfitted scaler with the parameters of `parameters_to_json`.

        Parameters
        ----------
        parameters : dict
            What `parameters_to_json` returned.

        Examples
        --------
        >>> from rpnb.preprocessing import RunningScaler
        >>> RunningScaler.from_json({"center": True, "clip": 5.0})
        RunningScaler(clip=5.0)
        """
        check_parameters(parameters, cls._get_param_names())
        scaler = cls(**parameters)
        scaler._clip()
        return scaler

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        super().__setstate__(attributes)
        if self.__sklearn_is_fitted__():
            # joblib may pass arrays that are memory-mapped read-only.
            self._state = copy_scale(self._state)


def check_alike(scales: list[RunningScale]) -> None:
    """Refuse to merge scales of different features or different centring."""
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
    """Scale rows with a scaler's parameters and state, and learn them."""
    return learn_scale(scale, X, y, weight, size, scaler._clip())
