"""First-order linear learners: they keep weights, but no covariance."""

from typing import Literal, final

from rpnb.estimators.checks.parameters import check_choice
from rpnb.estimators.learners.linear import Form, LinearLearner
from rpnb.estimators.stream.classifier import StreamClassifier

__all__ = ["ALMA", "OGD", "PA", "PA1", "PA2", "ROMMA", "AggressiveROMMA", "Perceptron"]


@final
class Perceptron(StreamClassifier):
    """Perceptron: a mistake adds the sample to its class, subtracts it from another.

    Parameters
    ----------
    blame : {"max", "uniform", "proportional"}, default="max"
        Classes whose weights a multi-class mistake is subtracted from: the class with
        the largest score, or all classes that score higher than the true one, equally
        or in proportion to their lead.
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
    F. Rosenblatt, "The perceptron: a probabilistic model for information storage and
    organization in the brain", Psychological Review 65, 1958.

    K. Crammer and Y. Singer, "Ultraconservative online algorithms for multiclass
    problems", JMLR 3, 2003.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import Perceptron
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = Perceptron().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        blame: Literal["max", "uniform", "proportional"] = "max",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.blame = blame
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        check_choice("blame", self.blame, ("max", "uniform", "proportional"))
        suffix = {"max": "", "uniform": "Uniform", "proportional": "Proportional"}
        return LinearLearner(self, "Perceptron" + suffix[self.blame])


@final
class OGD(StreamClassifier):
    """Online gradient descent with steps C/√t.

    Parameters
    ----------
    C : float, default=1.0
        Size of the first step.
    loss : {"hinge", "logistic", "square", "zero_one"}, default="hinge"
        Loss whose gradient is followed. The multi-class form has the hinge loss only.
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
    M. Zinkevich, "Online convex programming and generalized infinitesimal gradient
    ascent", ICML 2003.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import OGD
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = OGD().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: Literal["hinge", "logistic", "square", "zero_one"] = "hinge",
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.loss = loss
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        names = {
            "hinge": "OGD",
            "logistic": "OGDLogistic",
            "square": "OGDSquare",
            "zero_one": "OGDZeroOne",
        }
        return LinearLearner(self, names[check_choice("loss", self.loss, names)])


@final
class PA(StreamClassifier):
    """Passive-aggressive learner (PA): the smallest step that gives a margin of 1.

    Parameters
    ----------
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
    For a sample of zeros, LIBOL divides by zero, and the two classes concerned are
    never predicted again. Here such a sample changes nothing, unless libol=True.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online
    passive-aggressive algorithms", JMLR 7, 2006.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import PA
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = PA().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "PA")


@final
class PA1(StreamClassifier):
    """Passive-aggressive learner with steps of at most C (PA-I).

    Parameters
    ----------
    C : float, default=1.0
        Largest size of a step.
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
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online
    passive-aggressive algorithms", JMLR 7, 2006.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import PA1
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = PA1().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "PA1")


@final
class PA2(StreamClassifier):
    """Passive-aggressive learner with damped steps (PA-II).

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the smaller, the more steps are damped.
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
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online
    passive-aggressive algorithms", JMLR 7, 2006.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import PA2
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = PA2().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "PA2")


@final
class ROMMA(StreamClassifier):
    """Relaxed online maximum-margin learner, which learns from mistakes.

    Parameters
    ----------
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
    Y. Li and P. M. Long, "The relaxed online maximum margin algorithm", Machine
    Learning 46, 2002.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import ROMMA
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = ROMMA().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "ROMMA")


@final
class AggressiveROMMA(StreamClassifier):
    """Relaxed online maximum-margin learner, which learns from margins below 1.

    Parameters
    ----------
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
    Y. Li and P. M. Long, "The relaxed online maximum margin algorithm", Machine
    Learning 46, 2002.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rpnb.baselines import AggressiveROMMA
    >>> X, y = load_digits(return_X_y=True)
    >>> predicted = AggressiveROMMA().predict_then_learn(X / 16.0, y, classes=range(10))
    >>> bool((predicted == y).mean() > 0.8)
    True
    """

    def __init__(
        self,
        *,
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "AggressiveROMMA")


@final
class ALMA(StreamClassifier):
    """Approximate maximal-margin learner, for two classes.

    Parameters
    ----------
    C : float, default=√2
        Size of the steps.
    alpha : float, default=0.9
        Target margin as a share of the largest possible one, from 0 to 1.
    power : float, default=2.0
        Exponent p of the norm, at least 2.
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
    C. Gentile, "A new approximate maximal margin classification algorithm", JMLR 2,
    2001.

    S. C. H. Hoi, J. Wang and P. Zhao, "LIBOL: a library for online learning
    algorithms", JMLR 15, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpnb.baselines import ALMA
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> predicted = ALMA().predict_then_learn(X, y, classes=[0, 1])
    >>> bool((predicted == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.4142135623730951,
        alpha: float = 0.9,
        power: float = 2.0,
        form: Form = "auto",
        libol: bool = False,
        shuffle: bool = True,
    ) -> None:
        self.C = C
        self.alpha = alpha
        self.power = power
        self.form = form
        self.libol = libol
        self.shuffle = shuffle

    def _learner(self) -> LinearLearner:
        return LinearLearner(self, "ALMA")
