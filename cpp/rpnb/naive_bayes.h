// Gaussian naive Bayes on the raw features, learned from every row.
//
// A reference learner: the same moments and scores as RPNB's, but of the features instead of
// their projections, and with class priors equal to the classes' frequencies.
#pragma once

#include <cstdint>

#include "densities.h"

namespace rpnb::bayes {

// The state of the learner, over M classes and p features.
struct NaiveBayes {
  Prior prior;  // has weight 0: only its floor is used, and its variance before the first row
  Moments& moments;
  Gaussians& gaussians;
  Vector<bool> eligible;    // (M,) whether the class has been declared or seen
  Vector<double> log_seen;  // (M,) log of the weight of the class's rows, or −∞
};

// Predict each row of X (n, p), then learn it if it has a label.
//
// `y` (n,) holds the classes' numbers, −1 for a row that is only predicted; it is empty if
// nothing is to be learned. `weight` is (n,), or (1,) where all rows have the same weight.
// Predictions are written to `labels` (n,), −1 while no class is known.
void run_naive_bayes(NaiveBayes& state, Matrix<const double> X, Vector<const std::int64_t> y,
                     Vector<const double> weight, Vector<std::int64_t> labels);

// Write log P(y_m) + log P(x | y_m), up to a constant, to `out` (n, M).
void score_naive_bayes(const Gaussians& gaussians, Vector<const double> log_seen,
                       Matrix<const double> X, Matrix<double> out);

// Add rows of classes y, of weights (n,) or (1,), to the moments.
void add_rows(Moments& moments, Matrix<const double> X, Vector<const std::int64_t> y,
              Vector<const double> weight);

}  // namespace rpnb::bayes
