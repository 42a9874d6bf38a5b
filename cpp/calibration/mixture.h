// Probabilities from scores: a Bayesian mixture over temperatures.
//
// Expert (g, b) gives class m, whose score is d_m below the largest, the probability
//
//   P_gb(m) ∝ o_b^[d_m = 0] exp(−d_m/T_g),    T_g = T·2ᵍ.
//
// T is K for the sum of K members' log posteriors. The odds o_b ≥ 1 of the class with the
// largest score are a second parameter: a model that learns from its mistakes is right more
// often than its scores suggest, whatever the temperature. They favour the leading class
// only, so no label depends on them. Classes that share the largest score, as all do before
// the first row, are equally probable; weights are learned as if the predicted class alone
// had it.
//
// The predicted probability is the mean of the experts', weighted by how well each has
// predicted the rows so far: before a row is learned, the weight of each expert is
// multiplied by the probability that it gave the row's class, and a small share of the total
// is then distributed equally, so that the best expert may change (fixed share: Herbster &
// Warmuth, "Tracking the best expert", Machine Learning 32, 1998). The logarithmic loss
// over n rows is at most that of the best expert plus log(number of experts) and
// n·log(1/(1 − share)). Weights are learned from scores rounded to cells: see cells.h.
#pragma once

#include <array>
#include <cstdint>

#include "../record.h"
#include "cells.h"

namespace rpnb {

// o_b, the odds of the class with the largest score.
inline constexpr std::array kOdds{1.0, 2.0, 4.0, 8.0};
// Share of the total weight that is distributed equally after each row.
inline constexpr double kShare = 0.002;

// The learned state of calibration, separate from the model.
struct Calibration {
  Array<double, 2> weights;     // weights of the experts, which sum to 1
  Array<double, 1> thresholds;  // those of conformal.h
  Array<std::int64_t, 1> rows;  // number of rows learned from

  static constexpr auto fields() {
    return std::tuple{field("weights", &Calibration::weights, "4 20"),
                      field("thresholds", &Calibration::thresholds, "12"),
                      field("rows", &Calibration::rows, "1")};
  }
};

// Learn from a row of class y, whose classes have these codes (M,).
//
// A class that is not active yet has no probability: nothing is learned.
void learn_codes(Calibration& calibration, Vector<const Code> codes, Index y);

// Learn from rows of classes y (r,) with these codes (r, M), in their order.
void learn_all_codes(Calibration& calibration, Matrix<const Code> codes,
                     Vector<const std::int64_t> y);

// Write the probabilities (M,) of classes with these scores (M,).
//
// A class that is not active has the score −∞ and gets 0, as do all if none is active.
// `smallest` is the smallest temperature.
void mix(Matrix<const double> weights, Vector<const double> scores, double smallest,
         Vector<double> out);

// Write the probabilities (n, M) of rows with these scores (n, M).
void mix_rows(Matrix<const double> weights, Matrix<const double> scores, double smallest,
              Matrix<double> out);

}  // namespace rpnb
