#include "conformal.h"

namespace rpnb {

void track_thresholds(Vector<double> thresholds, Matrix<const double> P,
                      Vector<const std::int64_t> y, Matrix<double> before) {
  for (Index i = 0; i < y.size(); ++i) {
    std::copy(thresholds.begin(), thresholds.end(), before[i].begin());
    learn_threshold(thresholds, P(i, y[i]));
  }
}

void write_sets(Matrix<const double> P, Vector<const double> thresholds, Matrix<bool> out) {
  for (Index i = 0; i < P.size(0); ++i) {
    const double q = thresholds[thresholds.size() == 1 ? 0 : i];
    for (Index m = 0; m < P.size(1); ++m) {
      out(i, m) = P(i, m) > 0.0 && strangeness(P(i, m)) <= q;
    }
  }
}

}  // namespace rpnb
