#include "contest.h"

#include <algorithm>
#include <limits>

namespace rpnb::bayes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Contest::Contest(const Model& model, const SingleDensities& densities, Workspace& workspace)
    : model_(model),
      densities_(densities),
      padded_((model.M() + kDoubles - 1) / kDoubles * kDoubles) {
  for (auto* array : {&constant_, &mean_norm_, &precision_norm_, &bias_, &active_}) {
    *array = workspace.take_zeros<double>(padded_);
  }
  for (Index m = 0; m < model.M(); ++m) update_class(m);
}

void Contest::update_class(Index m) {
  constant_[m] = model_.gaussians->constant[m];
  mean_norm_[m] = densities_.mean_norm[m];
  precision_norm_[m] = densities_.precision_norm[m];
  bias_[m] = model_.classes->bias[m];
  active_[m] = model_.classes->eligible[m] ? 1.0 : 0.0;
}

void Contest::update_counts(Index y) {
  active_[y] = 1.0;
  if (model_.count_factor > 0.0) {
    std::copy(model_.classes->bias.begin(), model_.classes->bias.end(), bias_.begin());
  }
}

Leader Contest::find_leader(const double* scores, const RowError& row, Vector<bool> rivals) const {
  const Index best = find_largest(scores);
  if (best < 0) return {-1, true};
  const ErrorBounds bounds(model_.F(), row);
  const double highest = scores[best] + bias_[best];
  const double lowest = highest - bounds.quick(scores[best], constant_[best], mean_norm_[best],
                                               precision_norm_[best], bias_[best]);
  // The leader itself counts as one.
  if (count_rivals(scores, bounds, lowest) <= 1.0) return {best, true};
  return {best, list_rivals(scores, bounds, best, highest - bound(scores, bounds, best), rivals)};
}

bool Contest::write_codes(const double* scores, const RowError& row, Index best,
                          Vector<Code> codes) const {
  const ErrorBounds bounds(model_.F(), row);
  const double scale = cell_scale(model_.smallest_temperature());
  double highest = 0.0;
  double margin = 0.0;
  if (best >= 0) {
    highest = scores[best] + bias_[best];
    margin = bound(scores, bounds, best);
  }
  bool known = true;
  for (Index m = 0; m < codes.size(); ++m) {
    if (active_[m] == 0.0) {
      codes[m] = kInactiveCode;
    } else if (m == best) {
      codes[m] = kBestCode;
    } else {
      const double error = margin + bound(scores, bounds, m);
      codes[m] = certain_code(highest - (scores[m] + bias_[m]), error, scale);
      known = known && codes[m] != kUncertainCode;
    }
  }
  return known;
}

double Contest::bound(const double* scores, const ErrorBounds& bounds, Index m) const {
  return bounds.bound(scores[m], constant_[m], mean_norm_[m], precision_norm_[m], bias_[m]);
}

// An active class with the largest score; −1 if no class is active. A NaN leads only if all
// scores are NaN.
Index Contest::find_largest(const double* scores) const {
  Doubles highest = repeat(-kInfinity);
  Doubles best = repeat(-1.0);
  Doubles number = {0.0, 1.0, 2.0, 3.0};
  for (Index m = 0; m < padded_; m += kDoubles) {
    const Doubles value = load(scores + m) + load(bias_.data() + m);
    const Doubles eligible = load(active_.data() + m) > 0.0 ? value : repeat(-kInfinity);
    best = where_greater(eligible, highest, number, best);
    highest = greater(eligible, highest);
    number = number + 4.0;
  }
  Index found = -1;
  double most = -kInfinity;
  for (int lane = 0; lane < kDoubles; ++lane) {
    if (highest[lane] > most) {
      most = highest[lane];
      found = static_cast<Index>(best[lane]);
    }
  }
  for (Index m = 0; found < 0 && m < padded_; ++m) {
    if (active_[m] > 0.0) found = m;
  }
  return found;
}

// The number of classes whose score may be at least `lowest`.
double Contest::count_rivals(const double* scores, const ErrorBounds& bounds, double lowest) const {
  Doubles count = repeat(0.0);
  for (Index m = 0; m < padded_; m += kDoubles) {
    const Doubles value = load(scores + m);
    const Doubles bias = load(bias_.data() + m);
    const Doubles error =
        bounds.quick(value, load(constant_.data() + m), load(mean_norm_.data() + m),
                     load(precision_norm_.data() + m), bias);
    const Doubles upper = (value + bias) + error;
    count = count + where_greater(repeat(lowest), upper, repeat(0.0), load(active_.data() + m));
  }
  return sum(count);
}

// Set `rivals` to the classes whose score may be at least `lowest`; return whether that is only
// `best`.
bool Contest::list_rivals(const double* scores, const ErrorBounds& bounds, Index best,
                          double lowest, Vector<bool> rivals) const {
  bool certain = true;
  for (Index m = 0; m < rivals.size(); ++m) {
    rivals[m] = m == best;
    if (active_[m] == 0.0 || m == best) continue;
    const double upper = scores[m] + bias_[m] + bound(scores, bounds, m);
    if (!(upper < lowest)) {
      rivals[m] = true;
      certain = false;
    }
  }
  return certain;
}

}  // namespace rpnb::bayes
