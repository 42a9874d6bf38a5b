"""The linear learners of first order: weights, and nothing else."""

from dataclasses import dataclass
from typing import Literal, final

from rpnb.estimators.checks.parameters import check_choice
from rpnb.estimators.learners.linear import Form, LinearClassifier

__all__ = ["ALMA", "OGD", "PA", "PA1", "PA2", "ROMMA", "AggressiveROMMA", "Perceptron"]


@final
@dataclass(kw_only=True, eq=False, repr=False)
class Perceptron(LinearClassifier):
    """Perceptron: at a mistake, adds the row to its class and takes it from another.

    Parameters
    ----------
    blame : {"max", "uniform", "proportional"}, default="max"
        From which classes a multi-class mistake is taken: the class with the largest
        score, or all classes that score higher than the true one, equally or in
        proportion to their lead.
    {form, libol}

    {attributes}

    References
    ----------
    F. Rosenblatt, "The perceptron: a probabilistic model for information storage and
    organization in the brain", Psychological Review 65, 1958.

    K. Crammer and Y. Singer, "Ultraconservative online algorithms for multiclass
    problems", JMLR 3, 2003.

    {libol_paper}

    {digits_example}
    """

    blame: Literal["max", "uniform", "proportional"] = "max"
    form: Form = "auto"
    libol: bool = False

    def _algorithm(self) -> str:
        check_choice("blame", self.blame, ("max", "uniform", "proportional"))
        suffix = {"max": "", "uniform": "Uniform", "proportional": "Proportional"}
        return "Perceptron" + suffix[self.blame]


@final
@dataclass(kw_only=True, eq=False, repr=False)
class OGD(LinearClassifier):
    """Online gradient descent with steps C/√t.

    Parameters
    ----------
    C : float, default=1.0
        Size of the first step.
    loss : {"hinge", "logistic", "square", "zero_one"}, default="hinge"
        Loss whose gradient is followed. The multi-class form has the hinge loss only.
    {form, libol}

    {attributes}

    References
    ----------
    M. Zinkevich, "Online convex programming and generalized infinitesimal gradient
    ascent", ICML 2003.

    {libol_paper}

    {digits_example}
    """

    C: float = 1.0
    loss: Literal["hinge", "logistic", "square", "zero_one"] = "hinge"
    form: Form = "auto"
    libol: bool = False

    def _algorithm(self) -> str:
        names = {
            "hinge": "OGD",
            "logistic": "OGDLogistic",
            "square": "OGDSquare",
            "zero_one": "OGDZeroOne",
        }
        return names[check_choice("loss", self.loss, names)]


@final
class PA(LinearClassifier):
    """Passive-aggressive learner (PA): the smallest step that gives a margin of 1.

    Parameters
    ----------
    {form, libol}

    {attributes}

    Notes
    -----
    LIBOL divides by zero at a row of zeros, and the two classes concerned are never
    predicted again. Here such a row changes nothing, unless libol=True.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online
    passive-aggressive algorithms", JMLR 7, 2006.

    {libol_paper}

    {digits_example}
    """


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PA1(LinearClassifier):
    """Passive-aggressive learner with steps of at most C (PA-I).

    Parameters
    ----------
    C : float, default=1.0
        Largest step.
    {form, libol}

    {attributes}

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online
    passive-aggressive algorithms", JMLR 7, 2006.

    {libol_paper}

    {digits_example}
    """

    C: float = 1.0
    form: Form = "auto"
    libol: bool = False


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PA2(LinearClassifier):
    """Passive-aggressive learner with damped steps (PA-II).

    Parameters
    ----------
    C : float, default=1.0
        The smaller, the more a step is damped.
    {form, libol}

    {attributes}

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz and Y. Singer, "Online
    passive-aggressive algorithms", JMLR 7, 2006.

    {libol_paper}

    {digits_example}
    """

    C: float = 1.0
    form: Form = "auto"
    libol: bool = False


@final
class ROMMA(LinearClassifier):
    """Relaxed online maximum-margin learner, which learns from mistakes.

    Parameters
    ----------
    {form, libol}

    {attributes}

    References
    ----------
    Y. Li and P. M. Long, "The relaxed online maximum margin algorithm", Machine
    Learning 46, 2002.

    {libol_paper}

    {digits_example}
    """


@final
class AggressiveROMMA(LinearClassifier):
    """Relaxed online maximum-margin learner, which learns from margins below 1.

    Parameters
    ----------
    {form, libol}

    {attributes}

    References
    ----------
    Y. Li and P. M. Long, "The relaxed online maximum margin algorithm", Machine
    Learning 46, 2002.

    {libol_paper}

    {digits_example}
    """


@final
@dataclass(kw_only=True, eq=False, repr=False)
class ALMA(LinearClassifier):
    """Approximate maximal-margin learner, for two classes.

    Parameters
    ----------
    C : float, default=√2
        Size of the steps.
    alpha : float, default=0.9
        Share of the largest margin that is aimed at, from 0 to 1.
    power : float, default=2.0
        p of the norm, at least 2.
    {two_class_form, libol}

    {attributes}

    References
    ----------
    C. Gentile, "A new approximate maximal margin classification algorithm", JMLR 2,
    2001.

    {libol_paper}

    {two_class_example}
    """

    C: float = 1.4142135623730951
    alpha: float = 0.9
    power: float = 2.0
    form: Form = "auto"
    libol: bool = False
