#include "scale.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rpnb {

namespace {

// Standard deviations beyond which scaled values are clipped.
constexpr double kClip = 6.0;
// A feature is rescaled if this many of the last rows are outside its scale, or if its range
// has fallen to this fraction of its former deviation.
constexpr Index kMany = kLook / 2;
constexpr double kCollapsed = 1.0 / 64.0;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Compute mean and deviation of feature j from the first n rows kept.
//
// Only values further than `beyond` from the old mean count; all do if it is negative.
// Deviations are divided by the feature's range before they are squared, which avoids
// overflow and underflow.
void fit(FeatureScale& scale, Index j, Index n, double beyond) {
  double total = 0.0;
  double low = kInfinity;
  double high = -kInfinity;
  double mean = 0.0;
  for (Index i = 0; i < n; ++i) {
    const double x = scale.rows(i, j);
    if (std::abs(x - scale.mean[j]) > beyond) {
      total += scale.weight[i];
      mean += (x - mean) * (scale.weight[i] / total);
      low = std::min(low, x);
      high = std::max(high, x);
    }
  }
  const double reach = high - low;
  double square = 0.0;
  for (Index i = 0; i < n; ++i) {
    const double x = scale.rows(i, j);
    if (std::abs(x - scale.mean[j]) > beyond && reach > 0.0) {
      const double part = (x - mean) / reach;
      square += scale.weight[i] / total * (part * part);
    }
  }
  const bool varies = reach > 0.0;
  scale.constant[j] = !varies;
  if (total > 0.0) scale.mean[j] = varies ? mean : low;
  scale.deviation[j] = varies ? reach * std::sqrt(square) : 1.0;
}

// Rescale the features that have left their scale, by the last 64 rows.
//
// A feature has left its scale if at least half of its values are beyond the clipping
// bounds, or differ from a former constant: the new scale is then that of these values,
// since the others are older. It has also left it if it varies within a range that is small
// relative to its deviation.
void rescale(FeatureScale& scale) {
  for (Index j = 0; j < scale.mean.size(); ++j) {
    const double bound = scale.constant[j] ? 0.0 : kClip * scale.deviation[j];
    Index outside = 0;
    double low = kInfinity;
    double high = -kInfinity;
    for (Index i = 0; i < kLook; ++i) {
      const double x = scale.rows(i, j);
      if (!std::isnan(x)) {
        low = std::min(low, x);
        high = std::max(high, x);
        outside += static_cast<Index>(std::abs(x - scale.mean[j]) > bound);
      }
    }
    if (outside >= kMany) {
      fit(scale, j, kLook, bound);
    } else if (low < high && high - low < kCollapsed * scale.deviation[j]) {
      fit(scale, j, kLook, -1.0);
    }
  }
}

void apply_row(const FeatureScale& scale, Vector<const double> x, Vector<float> z) {
  const double* const mean = scale.mean.data();
  const double* const deviation = scale.deviation.data();
  for (Index j = 0; j < x.size(); ++j) {
    double value = (x[j] - mean[j]) / deviation[j];
    value = value < -kClip ? -kClip : value;
    value = value > kClip ? kClip : value;
    z[j] = std::isnan(value) ? 0.0F : static_cast<float>(value);
  }
}

void keep(FeatureScale& scale, Index slot, Vector<const double> x, std::int64_t y, double weight) {
  copy_into(scale.rows[slot], x);
  scale.labels[slot] = y;
  scale.weight[slot] = weight;
  scale.seen[0] += 1;
}

}  // namespace

FeatureScale FeatureScale::begin(Index p) {
  FeatureScale scale;
  scale.mean = Array<double, 1>({p});
  scale.deviation = Array<double, 1>({p});
  scale.deviation.fill(1.0);
  scale.constant = Array<bool, 1>({p});
  scale.constant.fill(true);
  scale.rows = Array<double, 2>({kLastReplay, p});
  scale.labels = Array<std::int64_t, 1>({kLastReplay});
  scale.weight = Array<double, 1>({kLastReplay});
  scale.seen = Array<std::int64_t, 1>({1});
  return scale;
}

Index FeatureScale::next_replay() const {
  Index event = 2;
  while (event <= seen[0]) event *= 2;
  return event;
}

void FeatureScale::fit_all() {
  for (Index j = 0; j < mean.size(); ++j) fit(*this, j, seen[0], -1.0);
}

void FeatureScale::apply(Matrix<const double> X, Matrix<float> z) const {
  for (Index i = 0; i < X.size(); ++i) apply_row(*this, X[i], z[i]);
}

void FeatureScale::scale_rows(Matrix<const double> X, const Labels& labels_of_rows,
                              Matrix<float> z) {
  for (Index i = 0; i < X.size(); ++i) {
    apply_row(*this, X[i], z[i]);
    if (!labels_of_rows.known(i)) continue;
    const Index slot = seen[0] < kLastReplay ? seen[0] : seen[0] % kLook;
    keep(*this, slot, X[i], labels_of_rows.y[i], labels_of_rows.weight[i]);
    if (seen[0] > kLastReplay && seen[0] % kLook == 0) rescale(*this);
  }
}

void FeatureScale::keep_last_rows(Matrix<const double> X, const Labels& labels_of_rows, Index n) {
  const Index before = seen[0];
  seen[0] += n - X.size();
  for (Index i = 0; i < X.size(); ++i) {
    keep(*this, seen[0] % kLook, X[i], labels_of_rows.y[i], labels_of_rows.weight[i]);
  }
  if (seen[0] / kLook > before / kLook) rescale(*this);
}

}  // namespace rpnb
