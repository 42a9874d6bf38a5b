#include "combining.h"

#include <algorithm>
#include <limits>

#include "../math.h"
#include "../workspace.h"

namespace rpnb::bayes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLogTwoPi = 1.8378770664093453;
constexpr double kFarthest = 1e300;

// Subtract log Σ exp, keeping the digits of 1 − posterior of `best`.
void normalise(Vector<double> row, Index best) {
  if (best < 0) {
    row.fill(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const double highest = row[best];
  double others = 0.0;
  for (Index m = 0; m < row.size(); ++m) {
    if (m != best) others += exp(row[m] - highest);
  }
  const double excess = log1p(others);
  for (double& value : row) value = (value - highest) - excess;
}

// The logarithm of the mean of exp(values).
double log_mean(Vector<const double> values) {
  const double highest = *std::max_element(values.begin(), values.end());
  if (highest == -kInfinity) return highest;
  double total = 0.0;
  for (const double value : values) total += exp(value - highest);
  return highest + log(total / static_cast<double>(values.size()));
}

// The score of a class with these log posteriors (K,), which are reordered.
double combine_class(Rule rule, Vector<double> values) {
  const Index K = values.size();
  switch (rule) {
    case Rule::kProduct: {
      double sum = 0.0;
      for (const double value : values) sum += value;
      return sum;
    }
    case Rule::kMax:
      return *std::max_element(values.begin(), values.end());
    case Rule::kMin:
      return *std::min_element(values.begin(), values.end());
    case Rule::kMedian:
      std::sort(values.begin(), values.end());
      return log_mean(values.slice((K - 1) / 2, K / 2 + 1));
    default:
      return log_mean(values);
  }
}

}  // namespace

void member_log_posteriors(Vector<const double> z, const Gaussians& gaussians,
                           Vector<const double> bias, Vector<const bool> eligible,
                           Matrix<double> out) {
  const Index K = out.size(0);
  const Index M = out.size(1);
  const Index q = z.size() / K;
  for (Index k = 0; k < K; ++k) {
    const Vector<double> row = out[k];
    Index best = -1;
    for (Index m = 0; m < M; ++m) {
      row[m] = -kInfinity;
      if (!eligible[m]) continue;
      double total = bias[m] / static_cast<double>(K);
      for (Index j = k * q; j < (k + 1) * q; ++j) {
        const double precision = gaussians.precision(m, j);
        const double delta = z[j] - gaussians.mean(m, j);
        const double distance = std::min(delta * delta * precision, kFarthest);
        total -= 0.5 * (kLogTwoPi - log(precision) + distance);
      }
      row[m] = total;
      if (best < 0 || total > row[best]) best = m;
    }
    normalise(row, best);
  }
}

void combine(Rule rule, Matrix<const double> posterior, Vector<double> scores) {
  const Index K = posterior.size(0);
  const Index M = posterior.size(1);
  if (rule == Rule::kVote) {
    scores.fill(0.0);
    for (Index k = 0; k < K; ++k) {
      const auto row = posterior[k];
      scores[std::max_element(row.begin(), row.end()) - row.begin()] +=
          1.0 / static_cast<double>(K);
    }
    return;
  }
  Workspace workspace;
  const auto values = workspace.take<double>(K);
  for (Index m = 0; m < M; ++m) {
    for (Index k = 0; k < K; ++k) values[k] = posterior(k, m);
    scores[m] = combine_class(rule, values);
  }
}

Index best_combined(Vector<const double> scores, Vector<const bool> eligible) {
  Index best = -1;
  for (Index m = 0; m < scores.size(); ++m) {
    if (eligible[m] && (best < 0 || scores[m] > scores[best])) best = m;
  }
  return best;
}

}  // namespace rpnb::bayes
