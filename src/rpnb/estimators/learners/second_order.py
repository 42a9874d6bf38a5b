"""The other linear learners of second order: weights and a covariance Σ."""

from dataclasses import dataclass
from typing import final

from rpnb.estimators.learners.linear import Covariance, Form, LinearClassifier

__all__ = ["AROW", "IELLIP", "NAROW", "NHERD", "SOP"]


@final
@dataclass(kw_only=True, eq=False, repr=False)
class AROW(LinearClassifier):
    """Adaptive regularisation of weights (AROW).

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        r of the paper: the larger, the smaller the steps.
    {a, covariance, form, libol}

    {attributes}

    References
    ----------
    K. Crammer, A. Kulesza and M. Dredze, "Adaptive regularization of weight vectors",
    NIPS 2009.

    {libol_paper}

    {digits_example}
    """

    C: float = 1.0
    a: float = 1.0
    covariance: Covariance = "full"
    form: Form = "auto"
    libol: bool = False


@final
@dataclass(kw_only=True, eq=False, repr=False)
class NAROW(LinearClassifier):
    """AROW with a regularisation that adapts to the row (NAROW), for two classes.

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        b of the paper.
    {a, covariance, two_class_form, libol}

    {attributes}

    References
    ----------
    F. Orabona and K. Crammer, "New adaptive algorithms for online classification", NIPS
    2010.

    {libol_paper}

    {two_class_example}
    """

    C: float = 1.0
    a: float = 1.0
    covariance: Covariance = "full"
    form: Form = "auto"
    libol: bool = False


@final
@dataclass(kw_only=True, eq=False, repr=False)
class NHERD(LinearClassifier):
    """Normal herding: moves a normal distribution of the weights, for two classes.

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        The larger, the larger the steps.
    {a, covariance, two_class_form, libol}

    {attributes}

    References
    ----------
    K. Crammer and D. D. Lee, "Learning via Gaussian herding", NIPS 2010.

    {libol_paper}

    {two_class_example}
    """

    C: float = 1.0
    a: float = 1.0
    covariance: Covariance = "full"
    form: Form = "auto"
    libol: bool = False


@final
@dataclass(kw_only=True, eq=False, repr=False)
class SOP(LinearClassifier):
    """Second-order perceptron, for two classes.

    Rows are multiplied by Σ, the inverse of I/a plus the sum of xxᵀ over the rows x
    learned.

    Parameters
    ----------
    {a, covariance, two_class_form, libol}

    {attributes}

    References
    ----------
    N. Cesa-Bianchi, A. Conconi and C. Gentile, "A second-order perceptron algorithm",
    SIAM Journal on Computing 34, 2005.

    {libol_paper}

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

    a: float = 1.0
    covariance: Covariance = "full"
    form: Form = "auto"
    libol: bool = False


@final
@dataclass(kw_only=True, eq=False, repr=False)
class IELLIP(LinearClassifier):
    """Online learning by the improved ellipsoid method, for two classes.

    The weights lie in an ellipsoid with shape Σ, which a row makes smaller.

    Parameters
    ----------
    b : float, default=0.3
        Factor from each c_t of the paper to the next; c_1 is 0.1.
    {a, covariance, two_class_form, libol}

    {attributes}

    References
    ----------
    L. Yang, R. Jin and J. Ye, "Online learning by ellipsoid method", ICML 2009.

    {libol_paper}

    {two_class_example}
    """

    b: float = 0.3
    a: float = 1.0
    covariance: Covariance = "full"
    form: Form = "auto"
    libol: bool = False
