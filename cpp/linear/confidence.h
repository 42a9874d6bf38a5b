// The steps of the linear learners that keep a covariance.
//
// Each function returns α and β, or α alone, of the step described in algorithms.h, which
// also explains the letters.
#pragma once

#include <cmath>

namespace rpnb {

struct ConfidenceStep {
  double alpha;
  double beta;
};

// IELLIP, the improved ellipsoid method; Yang, Jin & Ye (2009).
//
// With g = yΣx/√v: w += ((1 − m)/√v)·g, Σ ← (Σ − c_t·ggᵀ)/(1 − c_t), and after every round
// c_{t+1} = b·c_t. So α = (1 − m)/v, β = c_t/v.
inline ConfidenceStep iellip(double m, double v, double c) { return {(1.0 - m) / v, c / v}; }

// AROW, adaptive regularisation of weights; Crammer, Kulesza & Dredze (2009).
//
// β = 1/(v + r), α = l·β; r is C. LIBOL's multi-class form takes v of x alone, though the
// difference of the two rows' scores has twice that variance.
inline ConfidenceStep arow(double m, double v, double r) {
  const double beta = 1.0 / (v + r);
  return {(1.0 - m) * beta, beta};
}

// NAROW, which adapts AROW's r to the row; Orabona & Crammer (2010).
//
// r_t = v/(b·v − 1) if v > 1/b, else ∞, which moves nothing; then as AROW. b is C.
inline ConfidenceStep narow(double m, double v, double b) {
  if (!(b * v > 1.0)) return {0.0, 0.0};
  return arow(m, v, v / (b * v - 1.0));
}

// NHERD, normal herding; Crammer & Lee (2010).
//
// γ = 1/C, α = l/(v + γ), and Σ loses (v + 2γ)/(v + γ)² of (Σx)(Σx)ᵀ.
inline ConfidenceStep nherd(double m, double v, double C) {
  const double gamma = 1.0 / C;
  const auto [alpha, beta] = arow(m, v, gamma);
  return {alpha, beta * (beta * (v + 2.0 * gamma))};
}

// CW, confidence-weighted; Crammer, Dredze & Pereira (2008).
//
// ψ = 1 + φ²/2, ξ = 1 + φ²; α = max(0, [−mψ + √(m²φ⁴/4 + vφ²ξ)]/(vξ)). SCW-I caps α at C;
// Wang, Zhao & Hoi (2012).
inline double cw_two_class(double m, double v, double phi) {
  const double square = phi * phi;
  const double psi = 1.0 + square / 2.0;
  const double xi = 1.0 + square;
  const double root = std::sqrt(m * m * (square * square) / 4.0 + v * phi * phi * xi);
  const double alpha = (root - m * psi) / (v * xi);
  return alpha > 0.0 ? alpha : 0.0;
}

// CW in LIBOL's multi-class form. SCW-I caps α at C.
//
// α = max(0, [−mψ + √(m²ψ² − m²ψ + 2vφ²ψ)]/(2vψ)).
inline double cw_multiclass(double m, double v, double phi) {
  const double psi = 1.0 + phi * phi / 2.0;
  const double root = std::sqrt(m * m * psi * (psi - 1.0) + 2.0 * v * phi * phi * psi);
  const double alpha = (root - m * psi) / (2.0 * v * psi);
  return alpha > 0.0 ? alpha : 0.0;
}

// SCW-II, soft confidence-weighted; Wang, Zhao & Hoi (2012).
//
// With n = v + 1/(2C),
// α = max(0, [−(2mn + φ²mv) + √(φ⁴m²v² + 4nvφ²(n + vφ²))]/(2(n² + nvφ²))).
//
// LIBOL's root has 2v for v² and 2φ for φ²: √(2φ⁴m²v + 4nvφ²(n + 2vφ)).
inline double scw2_two_class(double m, double v, double phi, double C, bool libol) {
  const double n = v + 1.0 / (2.0 * C);
  const double square = phi * phi;
  const double inside =
      libol ? 2.0 * square * square * m * m * v + 4.0 * n * v * square * (n + 2.0 * v * phi)
            : square * square * m * m * v * v + 4.0 * n * v * square * (n + v * square);
  const double top = std::sqrt(inside) - (2.0 * m * n + square * m * v);
  const double alpha = top / (2.0 * (n * n + n * v * square));
  return alpha > 0.0 ? alpha : 0.0;
}

// SCW-II in LIBOL's multi-class form.
//
// With n = 2v + 1/(2C),
// α = max(0, [−(2mn + φ²mv) + √(φ⁴m²v² + 8nvφ²(n + vφ²))]/(2(n² + nvφ²))).
inline double scw2_multiclass(double m, double v, double phi, double C) {
  const double n = 2.0 * v + 1.0 / (2.0 * C);
  const double square = phi * phi;
  const double inside = square * square * m * m * v * v + 8.0 * n * v * square * (n + v * square);
  const double top = std::sqrt(inside) - (2.0 * m * n + square * m * v);
  const double alpha = top / (2.0 * (n * n + n * v * square));
  return alpha > 0.0 ? alpha : 0.0;
}

// β of CW and SCW, from α.
//
// With s = sides, u = (−αvφ + √(α²v²φ² + 4sv))²/(4s), β = αφ/(√(su) + αφv).
inline double confidence(double alpha, double v, double phi, int sides) {
  const double shift = alpha * v * phi;
  // √(s·u), in which s cancels.
  const double deviation = (std::sqrt(shift * shift + 4.0 * sides * v) - shift) / 2.0;
  return alpha * phi / (deviation + shift);
}

}  // namespace rpnb
