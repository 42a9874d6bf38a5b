"""The steps of the linear learners that keep a covariance, beside their formulas.

Each function returns α and β, or α alone, of the step described in `linear.algorithms`,
which also explains the letters.
"""

import numpy as np

from rpnb.core.kernels.compiling.compiled import compiled


@compiled
def iellip(m: float, v: float, c: float) -> tuple[float, float]:
    """IELLIP, the improved ellipsoid method; Yang, Jin & Ye (2009).

    With g = yΣx/√v: w += ((1 − m)/√v)·g, Σ ← (Σ − c_t·ggᵀ)/(1 − c_t), and after every
    round c_{t+1} = b·c_t. So α = (1 − m)/v, β = c_t/v.
    """
    return (1.0 - m) / v, c / v


@compiled
def arow(m: float, v: float, r: float) -> tuple[float, float]:
    """AROW, adaptive regularisation of weights; Crammer, Kulesza & Dredze (2009).

    β = 1/(v + r), α = l·β; r is C. LIBOL's multi-class form takes v of x alone, though
    the difference of the two rows' scores has twice that variance.
    """
    beta = 1.0 / (v + r)
    return (1.0 - m) * beta, beta


@compiled
def narow(m: float, v: float, b: float) -> tuple[float, float]:
    """NAROW, which adapts AROW's r to the row; Orabona & Crammer (2010).

    r_t = v/(b·v − 1) if v > 1/b, else ∞, which moves nothing; then as AROW. b is C.
    """
    if not b * v > 1.0:
        return 0.0, 0.0
    return arow(m, v, v / (b * v - 1.0))


@compiled
def nherd(m: float, v: float, C: float) -> tuple[float, float]:
    """NHERD, normal herding; Crammer & Lee (2010).

    γ = 1/C, α = l/(v + γ), and Σ loses (v + 2γ)/(v + γ)² of (Σx)(Σx)ᵀ.
    """
    gamma = 1.0 / C
    alpha, beta = arow(m, v, gamma)
    return alpha, beta * (beta * (v + 2.0 * gamma))


@compiled
def cw_two_class(m: float, v: float, phi: float) -> float:
    """CW, confidence-weighted; Crammer, Dredze & Pereira (2008).

    ψ = 1 + φ²/2, ξ = 1 + φ²; α = max(0, [−mψ + √(m²φ⁴/4 + vφ²ξ)]/(vξ)). SCW-I caps α
    at C; Wang, Zhao & Hoi (2012).
    """
    psi = 1.0 + phi * phi / 2.0
    xi = 1.0 + phi * phi
    root: float = np.sqrt(m * m * phi**4 / 4.0 + v * phi * phi * xi)
    alpha = (root - m * psi) / (v * xi)
    return alpha if alpha > 0.0 else 0.0


@compiled
def cw_multiclass(m: float, v: float, phi: float) -> float:
    """CW in LIBOL's multi-class form. SCW-I caps α at C.

    α = max(0, [−mψ + √(m²ψ² − m²ψ + 2vφ²ψ)]/(2vψ)).
    """
    psi = 1.0 + phi * phi / 2.0
    root: float = np.sqrt(m * m * psi * (psi - 1.0) + 2.0 * v * phi * phi * psi)
    alpha = (root - m * psi) / (2.0 * v * psi)
    return alpha if alpha > 0.0 else 0.0


@compiled
def scw2_two_class(m: float, v: float, phi: float, C: float, libol: bool) -> float:
    """SCW-II, soft confidence-weighted; Wang, Zhao & Hoi (2012).

    With n = v + 1/(2C),
    α = max(0, [−(2mn + φ²mv) + √(φ⁴m²v² + 4nvφ²(n + vφ²))]/(2(n² + nvφ²))).

    LIBOL's root has 2v for v² and 2φ for φ²: √(2φ⁴m²v + 4nvφ²(n + 2vφ)).
    """
    n = v + 1.0 / (2.0 * C)
    square = phi * phi
    if libol:
        inside = 2.0 * square * square * m * m * v
        inside += 4.0 * n * v * square * (n + 2.0 * v * phi)
    else:
        inside = square * square * m * m * v * v
        inside += 4.0 * n * v * square * (n + v * square)
    top = np.sqrt(inside) - (2.0 * m * n + square * m * v)
    alpha = top / (2.0 * (n * n + n * v * square))
    return alpha if alpha > 0.0 else 0.0


@compiled
def scw2_multiclass(m: float, v: float, phi: float, C: float) -> float:
    """SCW-II in LIBOL's multi-class form.

    With n = 2v + 1/(2C),
    α = max(0, [−(2mn + φ²mv) + √(φ⁴m²v² + 8nvφ²(n + vφ²))]/(2(n² + nvφ²))).
    """
    n = 2.0 * v + 1.0 / (2.0 * C)
    square = phi * phi
    inside = square * square * m * m * v * v
    inside += 8.0 * n * v * square * (n + v * square)
    top = np.sqrt(inside) - (2.0 * m * n + square * m * v)
    alpha = top / (2.0 * (n * n + n * v * square))
    return alpha if alpha > 0.0 else 0.0


@compiled
def confidence(alpha: float, v: float, phi: float, sides: int) -> float:
    """β of CW and SCW, from α.

    With s = sides,
    u = (−αvφ + √(α²v²φ² + 4sv))²/(4s), β = αφ/(√(su) + αφv).
    """
    shift = alpha * v * phi
    # √(s·u), in which s cancels.
    deviation: float = (np.sqrt(shift * shift + 4.0 * sides * v) - shift) / 2.0
    return alpha * phi / (deviation + shift)
