"""The confidence-weighted learners: each margin with a required confidence."""

from dataclasses import dataclass
from typing import final

from rpnb.estimators.learners.linear import Covariance, Form, LinearClassifier

__all__ = ["CW", "SCW1", "SCW2"]


@final
@dataclass(kw_only=True, eq=False, repr=False)
class CW(LinearClassifier):
    """Confidence-weighted learner, in the variance form (CW-var).

    The weights have a normal distribution with covariance Σ; a step is the smallest
    change of it that classifies the row with the required confidence.

    Parameters
    ----------
    eta : float or None, default=None
        Confidence required of the margin, from 0.5 to 1; None is 0.70 in the two-class
        form and 0.75 in the multi-class form, as in LIBOL.
    {a, covariance, form, libol}

    {attributes}

    References
    ----------
    M. Dredze, K. Crammer and F. Pereira, "Confidence-weighted linear classification",
    ICML 2008.

    {libol_paper}

    {digits_example}
    """

    eta: float | None = None
    a: float = 1.0
    covariance: Covariance = "full"
    form: Form = "auto"
    libol: bool = False


@final
@dataclass(kw_only=True, eq=False, repr=False)
class SCW1(LinearClassifier):
    """Soft confidence-weighted learner with steps of at most C (SCW-I).

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        Largest step.
    eta : float or None, default=None
        Confidence required of the margin, from 0.5 to 1; None is 0.75, as in LIBOL.
    {a, covariance, form, libol}

    {attributes}

    References
    ----------
    J. Wang, P. Zhao and S. C. H. Hoi, "Exact soft confidence-weighted learning", ICML
    2012.

    {libol_paper}

    {digits_example}
    """

    C: float = 1.0
    eta: float | None = None
    a: float = 1.0
    covariance: Covariance = "full"
    form: Form = "auto"
    libol: bool = False


@final
@dataclass(kw_only=True, eq=False, repr=False)
class SCW2(LinearClassifier):
    """Soft confidence-weighted learner with damped steps (SCW-II).

    The weights have a normal distribution with covariance Σ.

    Parameters
    ----------
    C : float, default=1.0
        The smaller, the more a step is damped.
    eta : float or None, default=None
        Confidence required of the margin, from 0.5 to 1; None is 0.90 in the two-class
        form and 0.75 in the multi-class form, as in LIBOL.
    {a, covariance, form, libol}

    {attributes}

    Notes
    -----
    LIBOL's two-class step differs from the published one; libol=True takes LIBOL's.

    References
    ----------
    J. Wang, P. Zhao and S. C. H. Hoi, "Exact soft confidence-weighted learning", ICML
    2012.

    {libol_paper}

    {digits_example}
    """

    C: float = 1.0
    eta: float | None = None
    a: float = 1.0
    covariance: Covariance = "full"
    form: Form = "auto"
    libol: bool = False
