#include "conformal.h"

#include <cmath>

namespace rpnb {

namespace {

// Relative difference beyond which rounding cannot change how two odds compare.
constexpr double kClear = 1e-9;

}  // namespace

void track_thresholds(Vector<double> thresholds, Matrix<const double> P,
                      Vector<const std::int64_t> y, Matrix<double> before) {
  for (Index i = 0; i < y.size(); ++i) {
    for (Index c = 0; c < kCoverageCount; ++c) before(i, c) = thresholds[c];
    learn_threshold(thresholds, P(i, y[i]));
  }
}

void write_sets(Matrix<const double> P, Vector<const double> thresholds, Matrix<bool> out) {
  for (Index i = 0; i < P.size(0); ++i) {
    const double q = thresholds[thresholds.size() == 1 ? 0 : i];
    // Odds (1 − p)/p clearly above or below exp q need no logarithm. This does not apply
    // where q is at the limits of strangeness.
    const bool limited = !(std::abs(q) < kMostStrange);
    const double odds = limited ? 0.0 : exp(q);
    for (Index m = 0; m < P.size(1); ++m) {
      const double p = P(i, m);
      const double against = (1.0 - p) / p;
      const bool clear = !limited && std::abs(against - odds) > kClear * odds;
      out(i, m) = p > 0.0 && (clear ? against < odds : strangeness(p) <= q);
    }
  }
}

}  // namespace rpnb
