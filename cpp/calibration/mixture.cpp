#include "mixture.h"

#include <algorithm>
#include <limits>

#include "../math.h"
#include "../simd.h"
#include "../workspace.h"
#include "conformal.h"

namespace rpnb {

namespace {

constexpr Index kNumberOfOdds = kOdds.size();
constexpr Index kExperts = kTemperatures * kNumberOfOdds;
static_assert(kTemperatures % kDoubles == 0);

// The largest temperature over the smallest.
constexpr double kTop = Index{1} << (kTemperatures - 1);
// Beyond it, a class's probability would be zero at every temperature.
constexpr double kFarBelow = 512.0;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

using Factors = std::array<double, kCodes * kTemperatures>;

// exp(−d/T) of each code and temperature: 1 for the best class, else d is the middle of
// the cell.
const double* factors() {
  static const Factors table = [] {
    Factors found;
    for (int code = 0; code < kCodes; ++code) {
      const double middle =
          code == kBestCode ? 0.0 : 0.5 * kCellWidth * (kCellEdges[code] + kCellEdges[code - 1]);
      double T = 1.0;
      for (Index g = 0; g < kTemperatures; ++g, T *= 2.0) {
        found[code * kTemperatures + g] = exp(-middle / T);
      }
    }
    return found;
  }();
  return table.data();
}

}  // namespace

void learn_codes(Calibration& calibration, Vector<const Code> codes, Index y, bool sets) {
  if (codes[y] < 0) return;
  const double* table = factors();
  double* weights = calibration.weights.data();
  const bool hit = codes[y] == kBestCode;
  Doubles sums = repeat(0.0);
  for (Index g = 0; g < kTemperatures; g += kDoubles) {
    Doubles others = repeat(0.0);
    for (const Code code : codes) {
      if (code > kBestCode) others = others + load(table + code * kTemperatures + g);
    }
    // The factor of the predicted class is 1 at every temperature.
    const Doubles factor = load(table + codes[y] * kTemperatures + g);
    for (Index b = 0; b < kNumberOfOdds; ++b) {
      const Doubles likelihood = factor * (hit ? kOdds[b] : 1.0) / (others + kOdds[b]);
      double* at = weights + b * kTemperatures + g;
      const Doubles value = load(at) * likelihood;
      store(at, value);
      sums = sums + value;
    }
  }
  const double total = sum(sums);
  if (sets) learn_threshold(calibration.thresholds, total);
  calibration.rows[0] += 1;
  const double kept = (1.0 - kShare) / total;
  for (Index at = 0; at < kExperts; ++at) {
    weights[at] = weights[at] * kept + kShare / static_cast<double>(kExperts);
  }
}

void learn_all_codes(Calibration& calibration, Matrix<const Code> codes,
                     Vector<const std::int64_t> y) {
  for (Index j = 0; j < y.size(); ++j) learn_codes(calibration, codes[j], y[j], true);
}

// Each temperature is half of the next, so one exponential per class suffices, which is
// squared again and again.
void mix(Matrix<const double> weights, Vector<const double> scores, double smallest,
         Vector<double> out) {
  const Index M = scores.size();
  out.fill(0.0);
  Index best = -1;
  for (Index m = 0; m < M; ++m) {
    if (scores[m] > kMinusInfinity && (best < 0 || scores[m] > scores[best])) best = m;
  }
  if (best < 0) return;
  Workspace workspace;
  const auto factor = workspace.take_zeros<double>(M);
  const double highest = scores[best];
  // How many classes have the largest score; factors are those of the others.
  Index leaders = 0;
  for (Index m = 0; m < M; ++m) {
    if (scores[m] == highest) {
      ++leaders;
    } else if (scores[m] > kMinusInfinity) {
      const double below = (highest - scores[m]) / (kTop * smallest);
      factor[m] = exp(-std::min(below, kFarBelow));
    }
  }
  double leading = 0.0;
  for (Index g = kTemperatures - 1; g >= 0; --g) {
    double others = 0.0;
    for (const double each : factor) others += each;
    double share = 0.0;
    for (Index b = 0; b < kNumberOfOdds; ++b) {
      const double part = weights(b, g) / (static_cast<double>(leaders) * kOdds[b] + others);
      share += part;
      leading += part * kOdds[b];
    }
    for (Index m = 0; m < M; ++m) {
      out[m] += share * factor[m];
      factor[m] *= factor[m];
    }
  }
  double total = 0.0;
  for (Index m = 0; m < M; ++m) {
    if (scores[m] == highest) out[m] = leading;
    total += out[m];
  }
  // The weights add up to 1 up to rounding only.
  for (double& value : out) value /= total;
}

void mix_rows(Matrix<const double> weights, Matrix<const double> scores, double smallest,
              Matrix<double> out) {
  for (Index i = 0; i < scores.size(); ++i) mix(weights, scores[i], smallest, out[i]);
}

void mix_then_learn(Calibration& calibration, Matrix<const double> scores, double smallest,
                    Matrix<const Code> codes, Index seen, Vector<const std::int64_t> y,
                    Matrix<double> P, Matrix<double> thresholds) {
  Index j = 0;
  Index number = seen;
  for (Index i = 0; i < y.size(); ++i) {
    mix(calibration.weights, scores[i], smallest, P[i]);
    std::copy(calibration.thresholds.begin(), calibration.thresholds.end(), thresholds[i].begin());
    if (y[i] < 0) continue;
    // These are the probabilities that sets are made of, of every row.
    if (scores(i, y[i]) > kMinusInfinity) {
      learn_threshold(calibration.thresholds, P(i, y[i]));
    }
    if (is_calibration_row(number)) learn_codes(calibration, codes[j++], y[i], false);
    ++number;
  }
}

}  // namespace rpnb
