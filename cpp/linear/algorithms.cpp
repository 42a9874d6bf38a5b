#include "algorithms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "../math.h"
#include "confidence.h"

namespace rpnb {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Share of ‖x‖²‖w‖² below which ROMMA takes x and w for parallel.
constexpr double kParallel = 0x1p-40;

double root_of(Index count) { return std::sqrt(static_cast<double>(count)); }

// ROMMA, the relaxed online maximum margin algorithm; Li & Long (2002).
//
// With q = sides·‖x‖²‖w‖², D = q − m²: keep = (q − m)/D, α = ‖w‖²(1 − m)/D; from w = 0,
// w ← yx. The multi-class form of LIBOL scales rows y and s only.
//
// There is no step if D = 0, where x and w are parallel. Departures, except with `libol`: D
// below 2⁻⁴⁰·q is rounding error and counts as 0, and there is no step if m ≥ 1, which is
// possible for a mistake whose class is new. With `libol`, multi-class, D = 0 gives NaN as in
// the library.
WeightStep romma(const StepInputs& inputs, bool libol) {
  const double m = inputs.m;
  if (inputs.weight == 0.0) return {.keep = 1.0, .alpha = 1.0};
  const double q = inputs.sides * inputs.square * inputs.weight;
  const double D = q - m * m;
  if (libol) {
    if (D == 0.0 && inputs.sides == 1) return {.keep = 1.0, .alpha = 0.0};
    if (D == 0.0) return {.keep = kNan, .alpha = kNan};
  } else if (!(kParallel * q < D) || m >= 1.0) {
    return {.keep = 1.0, .alpha = 0.0};
  }
  return {.keep = (q - m) / D, .alpha = inputs.weight * (1.0 - m) / D};
}

// ALMA_p(α), the approximate large margin algorithm; Gentile (2001).
//
// γ_k = (1/α)·√(p − 1)/√k, trigger (1 − α)·γ_k > m; w += C/(√(p − 1)·√k)·y·x, then
// w ← w/max(1, ‖w‖₂): see `project_to_ball`.
double alma(double C, double power, Index k) { return C / (std::sqrt(power - 1.0) * root_of(k)); }

// Online gradient descent; Zinkevich (2003). α = C/√t times minus the slope in m.
//
// Hinge, and 0-1 on mistakes: 1. Logistic: 1/(1 + eᵐ). Square: w −= C/√t·(f − y)·x, and
// y − f = y·(1 − m). t counts all rounds, those without an update too.
double ogd(Algorithm algorithm, double C, double m, Index t) {
  const double rate = C / root_of(t);
  if (algorithm == Algorithm::kOgdLogistic) {
    // Either form is 1/(1 + eᵐ); neither overflows on its side.
    if (m > 0.0) {
      const double decayed = exp(-m);
      return rate * (decayed / (1.0 + decayed));
    }
    return rate / (1.0 + exp(m));
  }
  return algorithm == Algorithm::kOgdSquare ? rate * (1.0 - m) : rate;
}

// PA, passive-aggressive; Crammer et al. (2006). α = l/(sides·‖x‖²): then m = 1.
//
// x = 0 gives ∞, for which no step is taken. LIBOL's two-class form has α = 1 for x = 0,
// which changes nothing either.
double pa(const StepInputs& inputs) {
  if (inputs.square == 0.0) return inputs.sides == 1 ? 1.0 : kInfinity;
  return (1.0 - inputs.m) / (inputs.sides * inputs.square);
}

// PA-I; Crammer et al. (2006). α = min(C, l/(sides·‖x‖²)).
double pa1(const StepInputs& inputs, double C) { return std::min(C, pa(inputs)); }

// PA-II; Crammer et al. (2006). α = l/(sides·‖x‖² + 1/(2C)).
double pa2(const StepInputs& inputs, double C) {
  return (1.0 - inputs.m) / (inputs.sides * inputs.square + 1.0 / (2.0 * C));
}

WeightStep step(const ConfidenceStep& found) { return {.alpha = found.alpha, .beta = found.beta}; }

// CW, SCW-I and SCW-II.
WeightStep confident_step(const LinearAlgorithm& rule, const StepInputs& inputs) {
  const double m = inputs.m;
  const double v = inputs.v;
  const bool two_class = inputs.sides == 1;
  double alpha = 0.0;
  if (rule.algorithm == Algorithm::kScw2) {
    alpha = two_class ? scw2_two_class(m, v, rule.phi, rule.C, rule.libol)
                      : scw2_multiclass(m, v, rule.phi, rule.C);
  } else {
    alpha = two_class ? cw_two_class(m, v, rule.phi) : cw_multiclass(m, v, rule.phi);
  }
  if (rule.algorithm == Algorithm::kScw1) alpha = std::min(alpha, rule.C);
  return {.alpha = alpha, .beta = confidence(alpha, v, rule.phi, inputs.sides)};
}

}  // namespace

bool is_triggered(const LinearAlgorithm& rule, double m, bool wrong, double v, Index k) {
  switch (rule.algorithm) {
    case Algorithm::kOgd:
    case Algorithm::kAggressiveRomma:
    case Algorithm::kPa:
    case Algorithm::kPa1:
    case Algorithm::kPa2:
    case Algorithm::kArow:
    case Algorithm::kNarow:
    case Algorithm::kNherd:
      return 1.0 - m > 0.0;
    case Algorithm::kCw:
    case Algorithm::kScw1:
    case Algorithm::kScw2:
      return v > 0.0 && rule.phi * std::sqrt(v) - m > 0.0;
    case Algorithm::kAlma: {
      const double gamma = std::sqrt(rule.power - 1.0) / (rule.alpha * root_of(k));
      return (1.0 - rule.alpha) * gamma - m > 0.0;
    }
    case Algorithm::kOgdLogistic:
      return true;
    case Algorithm::kOgdSquare:
      return m != 1.0;
    case Algorithm::kIellip:
      return wrong && v > 0.0;
    default:
      return wrong;
  }
}

// The Perceptron (Rosenblatt 1958) and SOP, the second-order Perceptron (Cesa-Bianchi,
// Conconi & Gentile 2005), have α = 1.
WeightStep step_of(const LinearAlgorithm& rule, const StepInputs& inputs) {
  switch (rule.algorithm) {
    case Algorithm::kRomma:
    case Algorithm::kAggressiveRomma:
      return romma(inputs, rule.libol);
    case Algorithm::kAlma:
      return {.alpha = alma(rule.C, rule.power, inputs.k)};
    case Algorithm::kOgd:
    case Algorithm::kOgdLogistic:
    case Algorithm::kOgdSquare:
    case Algorithm::kOgdZeroOne:
      return {.alpha = ogd(rule.algorithm, rule.C, inputs.m, inputs.t)};
    case Algorithm::kPa:
      return {.alpha = pa(inputs)};
    case Algorithm::kPa1:
      return {.alpha = pa1(inputs, rule.C)};
    case Algorithm::kPa2:
      return {.alpha = pa2(inputs, rule.C)};
    case Algorithm::kIellip: {
      WeightStep found = step(iellip(inputs.m, inputs.v, inputs.c));
      found.divisor = 1.0 - inputs.c;
      return found;
    }
    case Algorithm::kArow:
      return step(arow(inputs.m, inputs.v, rule.C));
    case Algorithm::kNarow:
      return step(narow(inputs.m, inputs.v, rule.C));
    case Algorithm::kNherd:
      return step(nherd(inputs.m, inputs.v, rule.C));
    case Algorithm::kCw:
    case Algorithm::kScw1:
    case Algorithm::kScw2:
      return confident_step(rule, inputs);
    default:
      return {};
  }
}

void perceptron_shares(bool uniform, Vector<const double> scores, Vector<const bool> eligible,
                       Index y, Vector<double> shares) {
  double total = 0.0;
  for (Index i = 0; i < scores.size(); ++i) {
    shares[i] = 0.0;
    if (eligible[i] && scores[i] > scores[y]) {
      shares[i] = uniform ? -1.0 : -(scores[i] - scores[y]);
      total -= shares[i];
    }
  }
  if (total > 0.0) {
    for (double& share : shares) share /= total;
  }
  shares[y] = 1.0;
}

}  // namespace rpnb
