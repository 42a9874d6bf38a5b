// Prediction sets whose coverage holds on any stream, by quantile tracking.
//
// A set holds the classes whose nonconformity s = log((1 − p)/p), with p the probability
// of the class, is at most a threshold q. For a target coverage 1 − α the threshold
// follows
//
//   q ← q + η(e − α),
//
// with e = 1 if the true class was outside the set: adaptive conformal inference (Gibbs &
// Candès, NeurIPS 2021) on the threshold itself, which is the quantile tracker of
// Angelopoulos, Candès & Tibshirani ("Conformal PID control for time series prediction",
// NeurIPS 2023). Summing it over T rows gives the share of misses:
//
//   (1/T) Σ e − α = (q after T rows − q at first)/(ηT).
//
// s is limited to ±S, so q stays within S + η of zero and the right side vanishes with T,
// whatever the stream and the model: after 5,000 rows it is at most 0.01 if the threshold
// has moved by 10 or less. On the scale of s, one step size suits models with an error
// rate of 0.5 as well as models with one of 0.001.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "../array.h"
#include "../math.h"
#include "../simd.h"

namespace rpnb {

// The coverages whose thresholds are tracked; others are interpolated.
inline constexpr std::array kCoverages{0.5, 0.6,   0.7,  0.75, 0.8,  0.85,
                                       0.9, 0.925, 0.95, 0.97, 0.98, 0.99};
inline constexpr Index kCoverageCount = kCoverages.size();
// S.
inline constexpr double kMostStrange = 12.0;
// η.
inline constexpr double kThresholdStep = 0.2;

// log((1 − p)/p), limited; the largest value for p = 0 and for NaN.
inline double strangeness(double p) {
  if (!(p > 0.0)) return kMostStrange;
  if (p >= 1.0) return -kMostStrange;
  return std::min(std::max(log((1.0 - p) / p), -kMostStrange), kMostStrange);
}

// Move all thresholds after a row whose true class had the probability p.
inline void learn_threshold(Vector<double> thresholds, double p) {
  static_assert(kCoverageCount % kDoubles == 0);
  const Doubles s = repeat(strangeness(p));
  for (Index c = 0; c < kCoverageCount; c += kDoubles) {
    const Doubles q = load(thresholds.data() + c);
    const Doubles missed = where_greater(s, q, repeat(1.0), repeat(0.0));
    const Doubles alpha = 1.0 - load(kCoverages.data() + c);
    store(thresholds.data() + c, q + kThresholdStep * (missed - alpha));
  }
}

// Move all thresholds after each of n rows of classes y (n,) with probabilities P (n, M).
//
// `before` (n, coverages) is set to the thresholds before each row.
void track_thresholds(Vector<double> thresholds, Matrix<const double> P,
                      Vector<const std::int64_t> y, Matrix<double> before);

// Write whether each class (n, M) is in its row's set.
//
// There is one threshold per row, or one for all.
void write_sets(Matrix<const double> P, Vector<const double> thresholds, Matrix<bool> out);

}  // namespace rpnb
