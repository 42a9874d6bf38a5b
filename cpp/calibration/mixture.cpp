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

// Ratio of the largest to the smallest temperature.
constexpr double kTop = Index{1} << (kTemperatures - 1);
// Beyond this, a class would have probability 0 at every temperature.
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

// Squares of factors: those of half the temperature. Squares below 1e-300 are flushed to 0,
// since arithmetic on subnormal numbers is about a hundred times slower. They would change
// no sum: each is added to a number above 1e-240.
constexpr double kNegligible = 1e-150;
[[gnu::always_inline]] inline Doubles squared(Doubles factor) {
  const Doubles kept = where_greater(factor, repeat(kNegligible), factor, repeat(0.0));
  return kept * kept;
}

// Vectors of four temperatures, from the highest down.
constexpr Index kQuarters = kTemperatures / kDoubles;
using Temperatures = std::array<Doubles, kQuarters>;

// Fill rows 1, 2, … of factors (temperatures, classes), from the highest temperature down;
// row 0 is given. This handles at most V vectors of classes from class m on: several at once,
// to hide the latency of the chain of squares.
template <int V>
void fill_factors(Matrix<double> factors, Index m) {
  if constexpr (V > 1) {
    if (m + V * kDoubles > factors.size(1)) return fill_factors<V - 1>(factors, m);
  }
  std::array<Doubles, V> factor;
  for (int v = 0; v < V; ++v) factor[v] = load(&factors(0, m + v * kDoubles));
  for (Index k = 1; k < kTemperatures; ++k) {
    for (int v = 0; v < V; ++v) {
      factor[v] = squared(factor[v]);
      store(&factors(k, m + v * kDoubles), factor[v]);
    }
  }
}

void fill_factors(Matrix<double> factors) {
  constexpr int kVectors = 8;
  for (Index m = 0; m < factors.size(1); m += kVectors * kDoubles) {
    fill_factors<kVectors>(factors, m);
  }
}

// The sums of factors over the classes, in their order.
Temperatures sum_factors(Matrix<const double> factors) {
  const Index M = factors.size(1);
  Temperatures sums{};
  for (Index m = 0; m < M; m += 2) {
    for (Index q = 0; q < kQuarters; ++q) {
      const auto [first, second] = load_columns(&factors(q * kDoubles, m), M);
      sums[q] = (sums[q] + first) + second;
    }
  }
  return sums;
}

// Probabilities before normalisation: that of each leading class, and for the other classes
// the coefficients of their factors at each temperature, from the highest down.
struct Shares {
  double leading = 0.0;
  std::array<double, kTemperatures> others{};
};

Shares share_out(Matrix<const double> weights, const Temperatures& sums, Index leaders) {
  Shares shares;
  std::array<double, kExperts> parts;
  for (Index q = 0; q < kQuarters; ++q) {
    Doubles share = repeat(0.0);
    for (Index b = 0; b < kNumberOfOdds; ++b) {
      // Weights are stored from the lowest temperature up.
      const Doubles weight = load(weights[b].data() + (kQuarters - 1 - q) * kDoubles);
      const Doubles part = __builtin_shufflevector(weight, weight, 3, 2, 1, 0) /
                           (static_cast<double>(leaders) * kOdds[b] + sums[q]);
      share = share + part;
      store(parts.data() + b * kTemperatures + q * kDoubles, part);
    }
    store(shares.others.data() + q * kDoubles, share);
  }
  for (Index g = 0; g < kTemperatures; ++g) {
    for (Index b = 0; b < kNumberOfOdds; ++b) {
      shares.leading += parts[b * kTemperatures + g] * kOdds[b];
    }
  }
  return shares;
}

}  // namespace

void learn_codes(Calibration& calibration, Vector<const Code> codes, Index y) {
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
  learn_threshold(calibration.thresholds, total);
  calibration.rows[0] += 1;
  const double kept = (1.0 - kShare) / total;
  for (Index at = 0; at < kExperts; ++at) {
    weights[at] = weights[at] * kept + kShare / static_cast<double>(kExperts);
  }
}

void learn_all_codes(Calibration& calibration, Matrix<const Code> codes,
                     Vector<const std::int64_t> y) {
  for (Index j = 0; j < y.size(); ++j) learn_codes(calibration, codes[j], y[j]);
}

// Each temperature is half of the next, so one exponential per class suffices, squared
// repeatedly.
void mix(Matrix<const double> weights, Vector<const double> scores, double smallest,
         Vector<double> out) {
  const Index M = scores.size();
  Index best = -1;
  for (Index m = 0; m < M; ++m) {
    if (scores[m] > kMinusInfinity && (best < 0 || scores[m] > scores[best])) best = m;
  }
  if (best < 0) {
    out.fill(0.0);
    return;
  }
  Workspace workspace;
  // Factors at all temperatures, from the highest down; classes padded to a multiple of four.
  const Index padded = (M + kDoubles - 1) / kDoubles * kDoubles;
  const auto factors = workspace.take<double>(kTemperatures, padded);
  const double highest = scores[best];
  // Number of classes with the largest score; the others have factors.
  Index leaders = 0;
  factors[0].fill(0.0);
  for (Index m = 0; m < M; ++m) {
    if (scores[m] == highest) {
      ++leaders;
    } else if (scores[m] > kMinusInfinity) {
      const double below = (highest - scores[m]) / (kTop * smallest);
      factors(0, m) = exp(-std::min(below, kFarBelow));
    }
  }
  fill_factors(factors);
  const Shares shares = share_out(weights, sum_factors(factors), leaders);
  const auto given = workspace.take<double>(padded);
  for (Index m = 0; m < padded; m += kDoubles) {
    Doubles sums = repeat(0.0);
    for (Index k = 0; k < kTemperatures; ++k) {
      sums = sums + shares.others[k] * load(&factors(k, m));
    }
    store(&given[m], sums);
  }
  double total = 0.0;
  for (Index m = 0; m < M; ++m) {
    out[m] = scores[m] == highest ? shares.leading : given[m];
    total += out[m];
  }
  // The weights sum to 1 only up to rounding.
  for (double& value : out) value /= total;
}

void mix_rows(Matrix<const double> weights, Matrix<const double> scores, double smallest,
              Matrix<double> out) {
  for (Index i = 0; i < scores.size(); ++i) mix(weights, scores[i], smallest, out[i]);
}

}  // namespace rpnb
