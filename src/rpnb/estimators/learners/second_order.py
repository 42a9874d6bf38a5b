"""The linear learners of second order: weights, and how sure of them one is."""

from typing import Any, final

from rpnb.estimators.checks.parameters import check_real
from rpnb.estimators.learners.linear import Covariance, Form, LinearClassifier, check_C

__all__ = ["AROW", "CW", "IELLIP", "NAROW", "NHERD", "SCW1", "SCW2", "SOP"]


def _check_eta(eta: Any) -> float | None:
    if eta is None:
        return None
    return check_real("eta", eta, 0.5, above=True, high=1.0 - 1e-9)


@final
class CW(LinearClassifier):
    """Confidence-weighted learner (Dredze, Crammer & Pereira 2008), CW-var.

    Parameters
    ----------
    eta : float or None, default=None
        Confidence asked of the margin; None is 0.70 in the two-class form and 0.75 in
        the multi-class form, as in the original.
    a : float, default=1.0
        Σ starts as a·I.
    covariance : {"full", "diagonal"}, default="full"
        A diagonal costs p instead of p² a row, for wide data.
    form : {"auto", "two_class", "multiclass"}, default="auto"
        One weight vector for two classes, or one a class.
    libol : bool, default=False
        Whether to do as the original where that is not sound.
    """

    def __init__(
        self,
        *,
        eta: float | None = None,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.eta = eta
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"eta": _check_eta(self.eta)}


@final
class SCW1(LinearClassifier):
    """Soft confidence-weighted learner with steps of at most C (Wang et al. 2012).

    Parameters
    ----------
    C : float, default=1.0
        Largest step.
    eta : float or None, default=None
        As in `CW`; None is 0.75.
    a, covariance, form, libol
        As in `CW`.
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
    ) -> None:
        self.C = C
        self.eta = eta
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"C": check_C(self.C), "eta": _check_eta(self.eta)}


@final
class SCW2(LinearClassifier):
    """Soft confidence-weighted learner with damped steps (SCW-II).

    Parameters
    ----------
    C : float, default=1.0
        The smaller, the more a step is damped.
    eta : float or None, default=None
        As in `CW`; None is 0.90 in the two-class form and 0.75 in the multi-class form.
    a, covariance, form, libol
        As in `CW`. The original's two-class step differs from the published one;
        libol=True takes the original's.
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
    ) -> None:
        self.C = C
        self.eta = eta
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"C": check_C(self.C), "eta": _check_eta(self.eta)}


@final
class AROW(LinearClassifier):
    """Adaptive regularisation of weights (Crammer, Kulesza & Dredze 2009).

    Parameters
    ----------
    C : float, default=1.0
        r of the paper: the larger, the smaller the steps.
    a, covariance, form, libol
        As in `CW`.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.C = C
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"C": check_C(self.C)}


@final
class NAROW(LinearClassifier):
    """AROW with a regularisation that narrows (Orabona & Crammer 2010), two classes.

    Parameters
    ----------
    C : float, default=1.0
        b of the paper.
    a, covariance, form, libol
        As in `CW`.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.C = C
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"C": check_C(self.C)}


@final
class NHERD(LinearClassifier):
    """Gaussian herding of the normal law of the weights (Crammer & Lee 2010).

    Parameters
    ----------
    C : float, default=1.0
        The larger, the larger the steps. For two classes.
    a, covariance, form, libol
        As in `CW`.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.C = C
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"C": check_C(self.C)}


@final
class SOP(LinearClassifier):
    """Second-order perceptron (Cesa-Bianchi, Conconi & Gentile 2005), two classes.

    Parameters
    ----------
    a, covariance, form, libol
        As in `CW`.
    """

    def __init__(
        self,
        *,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol


@final
class IELLIP(LinearClassifier):
    """Online learning by the ellipsoid method (Yang, Jin & Ye 2009), two classes.

    Parameters
    ----------
    b : float, default=0.3
        Factor from each c_t to the next; c_1 is 0.1.
    a, covariance, form, libol
        As in `CW`.
    """

    def __init__(
        self,
        *,
        b: float = 0.3,
        a: float = 1.0,
        covariance: Covariance = "full",
        form: Form = "auto",
        libol: bool = False,
    ) -> None:
        self.b = b
        self.a = a
        self.covariance = covariance
        self.form = form
        self.libol = libol

    def _rule_parameters(self) -> dict[str, Any]:
        return {"b": check_real("b", self.b, 0.0, above=True, high=1.0)}
