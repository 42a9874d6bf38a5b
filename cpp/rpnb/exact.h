// The passes over rows in double precision, one observation at a time.
//
// `run_exact` is the algorithm of the paper (section 2.3), row by row: project, predict, and
// learn if the prediction was wrong. The other passes are faster and give the same labels and
// state, to the bit.
#pragma once

#include "model.h"

namespace rpnb::bayes {

// Predict each row, then learn from it.
void run_exact(Model& model, const Block& block);

// The same, and write to `out` (n, M) the values that determined each prediction: the
// probabilities of a calibrated model, or else the scores, −∞ for classes that are not
// active.
void run_scored(Model& model, const Block& block, Matrix<double> out);

// Write the scores (n, M) of rows; the largest wins.
//
// For kLogSum these are the scores of equation (6), for the other rules the combined
// posteriors.
void score_rows(const Model& model, Matrix<const double> X, bool projected, Matrix<double> out);

// Learn a projected row z (F,) of class y, which was predicted as `label`. Where the rule is
// not kLogSum, `scores` (M,) are those of the classes.
void learn_predicted(Model& model, Vector<const double> z, Vector<const double> scores, Index label,
                     Index y, double weight, Learn learn);

// Replace the codes (M,) that are kUncertainCode, for a projected row z (F,) that was
// predicted as `best`.
void complete_codes(const Model& model, Vector<const double> z, Index best, Vector<Code> codes);

// Add rows, each to its class, to the moments `into`.
//
// The moments of a class fade by keepʷ before a row of weight w is added.
void accumulate_rows(const Model& model, Matrix<const double> X, bool projected,
                     Vector<const std::int64_t> y, Vector<const double> weight, double keep,
                     Moments& into);

// Merge the moments that `batch` has of class y: equations (7) and (8).
//
// The earlier moments fade once, by the total weight of the batch: rows of a batch have no
// order, so none fades because of another.
void learn_batch(Model& model, Index y, const Moments& batch);

}  // namespace rpnb::bayes
