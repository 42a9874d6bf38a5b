"""The linear learners of first order: weights, and nothing else."""

from typing import Any, Literal, final

from rpnb.estimators.checks.parameters import check_choice, check_real
from rpnb.estimators.learners.linear import Form, LinearClassifier, check_C

__all__ = ["ALMA", "OGD", "PA", "PA1", "PA2", "ROMMA", "AggressiveROMMA", "Perceptron"]


@final
class Perceptron(LinearClassifier):
    """Perceptron (Rosenblatt 1958; multi-class: Crammer & Singer 2003).

    Parameters
    ----------
    blame : {"max", "uniform", "proportional"}, default="max"
        Which rows of the weights a multi-class mistake moves back: the rival ahead, or
        all classes ahead of the true one, equally or by how far they are ahead.
    form : {"auto", "two_class", "multiclass"}, default="auto"
        One weight vector for two classes, or one a class.
    libol : bool, default=False
        Whether to do as the original where that is not sound.
    """

    def __init__(
        self,
        *,
        blame: Literal["max", "uniform", "proportional"] = "max",
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.blame = blame
        self.form = form
        self.libol = libol

    def _algorithm(self) -> str:
        check_choice("blame", self.blame, ("max", "uniform", "proportional"))
        suffix = {"max": "", "uniform": "Uniform", "proportional": "Proportional"}
        return "Perceptron" + suffix[self.blame]


@final
class OGD(LinearClassifier):
    """Online gradient descent (Zinkevich 2003) with steps C/√t.

    Parameters
    ----------
    C : float, default=1.0
        Size of the first step.
    loss : {"hinge", "logistic", "square", "zero_one"}, default="hinge"
        The multi-class form has the hinge loss only.
    form, libol
        As in `Perceptron`.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: Literal["hinge", "logistic", "square", "zero_one"] = "hinge",
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.C = C
        self.loss = loss
        self.form = form
        self.libol = libol

    def _algorithm(self) -> str:
        names = {
            "hinge": "OGD",
            "logistic": "OGDLogistic",
            "square": "OGDSquare",
            "zero_one": "OGDZeroOne",
        }
        return names[check_choice("loss", self.loss, names)]

    def _rule_parameters(self) -> dict[str, Any]:
        return {"C": check_C(self.C)}


@final
class PA(LinearClassifier):
    """Passive-aggressive learner (Crammer et al. 2006): the smallest step to margin 1.

    Parameters
    ----------
    form, libol
        As in `Perceptron`. The original divides by zero at a row of zeros, which
        spoils two classes for good; here such a row is passed over, and with
        libol=True it is not.
    """

    def __init__(self, *, form: Form = "auto", libol: bool = False) -> None:
        self.form = form
        self.libol = libol


@final
class PA1(LinearClassifier):
    """Passive-aggressive learner with steps of at most C (PA-I).

    Parameters
    ----------
    C : float, default=1.0
        Largest step.
    form, libol
        As in `PA`.
    """

    def __init__(
        self, *, C: float = 1.0, form: Form = "auto", libol: bool = False
    ) -> None:
        self.C = C
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"C": check_C(self.C)}


@final
class PA2(LinearClassifier):
    """Passive-aggressive learner with damped steps (PA-II).

    Parameters
    ----------
    C : float, default=1.0
        The smaller, the more a step is damped.
    form, libol
        As in `PA`.
    """

    def __init__(
        self, *, C: float = 1.0, form: Form = "auto", libol: bool = False
    ) -> None:
        self.C = C
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"C": check_C(self.C)}


@final
class ROMMA(LinearClassifier):
    """Relaxed online maximum-margin learner (Li & Long 2002), on mistakes.

    Parameters
    ----------
    form, libol
        As in `Perceptron`.
    """

    def __init__(self, *, form: Form = "auto", libol: bool = False) -> None:
        self.form = form
        self.libol = libol


@final
class AggressiveROMMA(LinearClassifier):
    """Relaxed online maximum-margin learner, whenever the margin is below 1.

    Parameters
    ----------
    form, libol
        As in `Perceptron`.
    """

    def __init__(self, *, form: Form = "auto", libol: bool = False) -> None:
        self.form = form
        self.libol = libol


@final
class ALMA(LinearClassifier):
    """Approximate maximal-margin learner (Gentile 2001), for two classes.

    Parameters
    ----------
    C : float, default=√2
        Size of the steps.
    alpha : float, default=0.9
        Share of the largest margin aimed at.
    power : float, default=2.0
        p of the norm.
    form, libol
        As in `Perceptron`.
    """

    def __init__(
        self,
        *,
        C: float = 1.4142135623730951,
        alpha: float = 0.9,
        power: float = 2.0,
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.C = C
        self.alpha = alpha
        self.power = power
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {
            "C": check_C(self.C),
            "alpha": check_real("alpha", self.alpha, 0.0, above=True, high=1.0),
            "power": check_real("power", self.power, 2.0, high=1e6),
        }
