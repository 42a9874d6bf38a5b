"""Confidence-weighted linear learners: CW, SCW-I and SCW-II."""

from typing import final

from rpnb.estimators.learners.linear import Covariance, Form, LinearLearner
from rpnb.estimators.stream.classifier import StreamClassifier

__all__ = ["CW", "SCW1", "SCW2"]


@final
class CW(StreamClassifier):
    """Confidence-weighted learner, in the variance form (CW-var).

    The weights have a normal distribution with covariance Σ. A step is the smallest
    change of that distribution which classifies the sample with the required
    confidence.

    Parameters
    ----------
    eta : float or None, default=None
        Confidence required of the margin, from 0.5 to 1; None is 0.70 in the two-class
        form and 0.75 in the multi-class form, as in LIBOL.
    a : float, default=1.0
        Scale of the initial covariance: Σ starts as a·I.
    covariance : {"full", "diagonal"}, default="full"
        Whether to keep all of Σ, which takes time and memory proportional to the square
        of `n_features_in_`, or only its diagonal, for wide data.
    form : {"auto", "two_class", "multiclass"}, default="auto"
        Whether there is one weight vector for two classes or one per class. "auto" is
        "two_class" if exactly two classes are declared on the first call, as `fit`
        declares those in `y`. Otherwise it is "multiclass", which accepts new classes
        at any time.
    libol : bool, default=False
        Whether to follow the library LIBOL also where its steps are not finite or not
        numerically sound. By default such steps are bounded or skipped.
    shuffle : bool, default=True
        Whether `fit` learns the samples in a random order instead of the order given.
        `partial_fit` and `predict_then_learn` always keep the order.

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
        Number of samples that changed the model.

    References
    ----------
    M. Dredze, K. Crammer and F. Pereira, "Confidence-weighted linear classification",
    ICML 2008.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import CW
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = CW().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        eta: float | None = None,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.eta = eta
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "CW")


@final
class SCW1(StreamClassifier):
    """Soft confidence-weighted learner with steps of at most C (SCW-I).

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        Largest size of a step.
    eta : float or None, default=None
        Confidence required of the margin, from 0.5 to 1; None is 0.75, as in LIBOL.
    a : float, default=1.0
        Scale of the initial covariance: Σ starts as a·I.
    covariance : {"full", "diagonal"}, default="full"
        Whether to keep all of Σ, which takes time and memory proportional to the square
        of `n_features_in_`, or only its diagonal, for wide data.
    form : {"auto", "two_class", "multiclass"}, default="auto"
        Whether there is one weight vector for two classes or one per class. "auto" is
        "two_class" if exactly two classes are declared on the first call, as `fit`
        declares those in `y`. Otherwise it is "multiclass", which accepts new classes
        at any time.
    libol : bool, default=False
        Whether to follow the library LIBOL also where its steps are not finite or not
        numerically sound. By default such steps are bounded or skipped.
    shuffle : bool, default=True
        Whether `fit` learns the samples in a random order instead of the order given.
        `partial_fit` and `predict_then_learn` always keep the order.

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
        Number of samples that changed the model.

    References
    ----------
    J. Wang, P. Zhao and S. C. H. Hoi, "Exact soft confidence-weighted learning", ICML
    2012.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import SCW1
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = SCW1().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        eta: float | None = None,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.eta = eta
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "SCW1")


@final
class SCW2(StreamClassifier):
    """Soft confidence-weighted learner with damped steps (SCW-II).

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the smaller, the more steps are damped.
    eta : float or None, default=None
        Confidence required of the margin, from 0.5 to 1; None is 0.90 in the two-class
        form and 0.75 in the multi-class form, as in LIBOL.
    a : float, default=1.0
        Scale of the initial covariance: Σ starts as a·I.
    covariance : {"full", "diagonal"}, default="full"
        Whether to keep all of Σ, which takes time and memory proportional to the square
        of `n_features_in_`, or only its diagonal, for wide data.
    form : {"auto", "two_class", "multiclass"}, default="auto"
        Whether there is one weight vector for two classes or one per class. "auto" is
        "two_class" if exactly two classes are declared on the first call, as `fit`
        declares those in `y`. Otherwise it is "multiclass", which accepts new classes
        at any time.
    libol : bool, default=False
        Whether to follow the library LIBOL also where its steps are not finite or not
        numerically sound. By default such steps are bounded or skipped.
    shuffle : bool, default=True
        Whether `fit` learns the samples in a random order instead of the order given.
        `partial_fit` and `predict_then_learn` always keep the order.

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
        Number of samples that changed the model.

    Notes
    -----
    LIBOL's two-class step differs from the published one; libol=True uses LIBOL's.

    References
    ----------
    J. Wang, P. Zhao and S. C. H. Hoi, "Exact soft confidence-weighted learning", ICML
    2012.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import SCW2
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = SCW2().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        eta: float | None = None,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.eta = eta
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "SCW2")
