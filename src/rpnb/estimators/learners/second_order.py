"""Second-order linear learners: they keep weights and a covariance Σ."""

from typing import final

from rpnb.estimators.learners.linear import Covariance, Form, LinearLearner
from rpnb.estimators.stream.classifier import StreamClassifier

__all__ = ["AROW", "IELLIP", "NAROW", "NHERD", "SOP"]


@final
class AROW(StreamClassifier):
    """Adaptive regularisation of weights (AROW).

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        Regularisation r of the paper: the larger, the smaller the steps.
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
    K. Crammer, A. Kulesza and M. Dredze, "Adaptive regularization of weight vectors",
    NIPS 2009.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import AROW
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = AROW().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "AROW")


@final
class NAROW(StreamClassifier):
    """AROW with a regularisation that adapts to each sample (NAROW), for two classes.

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        Parameter b of the paper: a sample x with xᵀΣx of at most 1/C changes nothing.
    a : float, default=1.0
        Scale of the initial covariance: Σ starts as a·I.
    covariance : {"full", "diagonal"}, default="full"
        Whether to keep all of Σ, which takes time and memory proportional to the square
        of `n_features_in_`, or only its diagonal, for wide data.
    form : {"auto", "two_class"}, default="auto"
        This learner has the two-class form only: exactly two classes must be declared
        on the first call, by `fit` or by `classes`.
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
    F. Orabona and K. Crammer, "New adaptive algorithms for online classification", NIPS
    2010.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpnb.baselines import NAROW
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> predicted = NAROW().predict_then_learn(X, y, classes=[0, 1])
    >>> bool((predicted == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "NAROW")


@final
class NHERD(StreamClassifier):
    """Normal herding: moves a normal distribution of the weights, for two classes.

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the larger, the larger the steps.
    a : float, default=1.0
        Scale of the initial covariance: Σ starts as a·I.
    covariance : {"full", "diagonal"}, default="full"
        Whether to keep all of Σ, which takes time and memory proportional to the square
        of `n_features_in_`, or only its diagonal, for wide data.
    form : {"auto", "two_class"}, default="auto"
        This learner has the two-class form only: exactly two classes must be declared
        on the first call, by `fit` or by `classes`.
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
    K. Crammer and D. D. Lee, "Learning via Gaussian herding", NIPS 2010.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpnb.baselines import NHERD
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> predicted = NHERD().predict_then_learn(X, y, classes=[0, 1])
    >>> bool((predicted == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "NHERD")


@final
class SOP(StreamClassifier):
    """Second-order perceptron, for two classes.

    Samples are multiplied by Σ, the inverse of I/a plus the sum of xxᵀ over the samples
    x learned.

    Parameters
    ----------
    a : float, default=1.0
        Scale of the initial covariance: Σ starts as a·I.
    covariance : {"full", "diagonal"}, default="full"
        Whether to keep all of Σ, which takes time and memory proportional to the square
        of `n_features_in_`, or only its diagonal, for wide data.
    form : {"auto", "two_class"}, default="auto"
        This learner has the two-class form only: exactly two classes must be declared
        on the first call, by `fit` or by `classes`.
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
    N. Cesa-Bianchi, A. Conconi and C. Gentile, "A second-order perceptron algorithm",
    SIAM Journal on Computing 34, 2005.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpnb.baselines import SOP
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> predicted = SOP().predict_then_learn(X, y, classes=[0, 1])
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "SOP")


@final
class IELLIP(StreamClassifier):
    """Online learning by the improved ellipsoid method, for two classes.

    The weights lie in an ellipsoid with shape Σ, which every mistake shrinks.

    Parameters
    ----------
    b : float, default=0.3
        Factor from each c_t of the paper to the next; c_1 is 0.1.
    a : float, default=1.0
        Scale of the initial covariance: Σ starts as a·I.
    covariance : {"full", "diagonal"}, default="full"
        Whether to keep all of Σ, which takes time and memory proportional to the square
        of `n_features_in_`, or only its diagonal, for wide data.
    form : {"auto", "two_class"}, default="auto"
        This learner has the two-class form only: exactly two classes must be declared
        on the first call, by `fit` or by `classes`.
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
    L. Yang, R. Jin and J. Ye, "Online learning by ellipsoid method", ICML 2009.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpnb.baselines import IELLIP
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> predicted = IELLIP().predict_then_learn(X, y, classes=[0, 1])
    >>> bool((predicted == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        b: float = 0.3,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.b = b
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "IELLIP")
