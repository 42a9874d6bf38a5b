#include "scoring.h"

#include <algorithm>
#include <array>
#include <limits>

#include "../workspace.h"

namespace rpnb::bayes {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Columns between two checks of whether a class can still win.
constexpr Index kStride = 8 * kLanes;

// Sums of ((z − μ)/σ)² over columns, one for each lane.
class Lanes {
 public:
  // Add `count` columns, a multiple of kLanes except at the end of all columns.
  void add(const double* z, const double* mean, const double* precision, Index count) {
    auto sums = sums_;
    Index f = 0;
    for (; f + kLanes <= count; f += kLanes) {
      for (Index v = 0; v < kVectors; ++v) {
        const Index at = f + v * kDoubles;
        const Doubles delta = load(z + at) - load(mean + at);
        sums[v] = sums[v] + lesser(delta * delta * load(precision + at), repeat(kLargestTerm));
      }
    }
    // The columns that do not fill all lanes.
    for (Index lane = 0; f < count; ++f, ++lane) {
      const double delta = z[f] - mean[f];
      sums[lane / kDoubles][lane % kDoubles] +=
          std::min(delta * delta * precision[f], kLargestTerm);
    }
    sums_ = sums;
  }

  // The sum of all lanes, added in pairs.
  [[nodiscard]] double total() const {
    double total = 0.0;
    for (const Doubles& four : sums_) total += (four[0] + four[1]) + (four[2] + four[3]);
    return total;
  }

 private:
  static constexpr Index kVectors = kLanes / kDoubles;
  std::array<Doubles, kVectors> sums_{};
};

// The columns of class m.
struct Columns {
  const double* mean;
  const double* precision;
};

Columns columns_of(const Gaussians& gaussians, Index m) {
  return {gaussians.mean[m].data(), gaussians.precision[m].data()};
}

// Complete the score of a class of which `lanes` are the sums of the columns before `from`;
// `top` is the score at the mean. See `score`.
double complete(Lanes& lanes, Index from, Vector<const double> z, const Columns& columns,
                double top, double rival) {
  const Index F = z.size();
  double value = top - 0.5 * lanes.total();
  for (Index f = from; f < F && !(value < rival); f += kStride) {
    lanes.add(z.data() + f, columns.mean + f, columns.precision + f, std::min(kStride, F - f));
    value = top - 0.5 * lanes.total();
  }
  return value;
}

}  // namespace

double score(Vector<const double> z, const Gaussians& gaussians, Index m, double bias,
             double rival) {
  Lanes lanes;
  const double top = gaussians.constant[m] + bias;
  return complete(lanes, 0, z, columns_of(gaussians, m), top, rival);
}

void score_classes(Vector<const double> z, const Gaussians& gaussians, Vector<const double> bias,
                   Vector<double> scores) {
  for (Index m = 0; m < bias.size(); ++m) scores[m] = score(z, gaussians, m, bias[m], -kInfinity);
}

Index best_class(Vector<const double> z, const Gaussians& gaussians, Vector<const double> bias,
                 Vector<const bool> eligible) {
  const Index M = bias.size();
  const Index F = z.size();
  const Index first = std::min(F, kStride);
  Workspace workspace;
  const auto begun = workspace.take<Lanes>(M);
  Index guess = -1;
  double highest = -kInfinity;
  for (Index m = 0; m < M; ++m) {
    if (!eligible[m]) continue;
    const Columns columns = columns_of(gaussians, m);
    begun[m] = Lanes();
    begun[m].add(z.data(), columns.mean, columns.precision, first);
    // Columns are identically distributed: extrapolate from these to all.
    const double distance =
        begun[m].total() * (static_cast<double>(F) / static_cast<double>(first));
    const double estimate = gaussians.constant[m] + bias[m] - 0.5 * distance;
    if (guess < 0 || estimate > highest) {
      guess = m;
      highest = estimate;
    }
  }
  if (guess < 0) return -1;
  const auto score_of = [&](Index m, double rival) {
    const double top = gaussians.constant[m] + bias[m];
    return complete(begun[m], first, z, columns_of(gaussians, m), top, rival);
  };
  Index best = guess;
  highest = score_of(guess, -kInfinity);
  for (Index m = 0; m < M; ++m) {
    if (!eligible[m] || m == guess) continue;
    const double value = score_of(m, highest);
    if (value > highest || (value == highest && m < best)) {
      best = m;
      highest = value;
    }
  }
  return best;
}

}  // namespace rpnb::bayes
