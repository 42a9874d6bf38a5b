#include "online_bayes.h"

#include <algorithm>
#include <cmath>

#include "../math.h"
#include "../workspace.h"

namespace rpnb::bayes {

namespace {

// Larger sums of squares might overflow.
constexpr double kHuge = 1e300;
// Larger distances are clipped to this, so that scores stay finite.
constexpr double kFarthest = 1e300;

// Set v (p,) to Uᵀ(x − μ); return |v|², the squared Mahalanobis distance of x.
double whiten(const ClassCovariances& classes, Index m, Vector<const double> x, Vector<double> v) {
  const Index p = x.size();
  const auto root = classes.root[m];
  const auto mean = classes.mean[m];
  double* const sums = v.data();
  v.fill(0.0);
  for (Index i = 0; i < p; ++i) {
    const double delta = x[i] - mean[i];
    const double* const row = root[i].data();
    for (Index j = i; j < p; ++j) sums[j] += delta * row[j];
  }
  double distance = 0.0;
  for (const double each : v) distance += each * each;
  return distance;
}

}  // namespace

void add_to_covariance(ClassCovariances& classes, Index m, Vector<const double> x, double w) {
  const Index p = x.size();
  Workspace workspace;
  const auto v = workspace.take<double>(p);
  const auto kept = workspace.take<double>(p);
  const auto removed = workspace.take<double>(p);
  whiten(classes, m, x, v);
  const double before = classes.weight[m];
  const double total = before + w;
  const double inflation = std::sqrt(total / before);
  double root = std::sqrt(total / w);
  double alpha = total / w;
  for (Index j = 0; j < p; ++j) {
    alpha += v[j] * v[j];
    // Beyond kHuge squares may overflow; below it, this is rounded once less than hypot.
    const double grown = alpha < kHuge ? std::sqrt(alpha) : hypot(root, v[j]);
    kept[j] = inflation * (root / grown);
    removed[j] = inflation * (v[j] / grown / root);
    root = grown;
  }
  const auto U = classes.root[m];
  const auto mean = classes.mean[m];
  const double share = w / total;
  for (Index i = 0; i < p; ++i) {
    double partial = 0.0;
    for (Index j = i; j < p; ++j) {
      const double old = U(i, j);
      U(i, j) = kept[j] * old - removed[j] * partial;
      partial += v[j] * old;
    }
    mean[i] += (x[i] - mean[i]) * share;
  }
  const double grown_by = alpha < kHuge ? log(alpha * share) : 2.0 * log(root) + log(share);
  classes.log_volume[m] += grown_by - static_cast<double>(p) * log(total / before);
  classes.weight[m] = total;
}

Index run_online_bayes(ClassCovariances& classes, Matrix<const double> X,
                       Vector<const std::int64_t> y, Vector<const double> weight, Learn learn,
                       Matrix<double> scores, Vector<std::int64_t> labels) {
  const Index M = classes.weight.size();
  Workspace workspace;
  const auto v = workspace.take<double>(X.size(1));
  Index updates = 0;
  for (Index i = 0; i < X.size(); ++i) {
    double total = 0.0;
    for (const double each : classes.weight) total += each;
    Index best = 0;
    for (Index m = 0; m < M; ++m) {
      const double distance = std::min(whiten(classes, m, X[i], v), kFarthest);
      const double prior = log(classes.weight[m] / total);
      scores(i, m) = prior - 0.5 * (classes.log_volume[m] + distance);
      if (scores(i, m) > scores(i, best)) best = m;
    }
    labels[i] = best;
    if (learn == Learn::kNothing || y[i] < 0) continue;
    const double w = weight[weight.size() > 1 ? i : 0];
    if (w > 0.0 && (learn == Learn::kAll || best != y[i])) {
      add_to_covariance(classes, y[i], X[i], w);
      ++updates;
    }
  }
  return updates;
}

}  // namespace rpnb::bayes
