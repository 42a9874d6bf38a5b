// A linear learner on a block of rows: test, then train.
//
// Each row is scored, its label predicted, and, if it is to be learned, one step of the
// algorithm is taken. Calls with consecutive parts of a stream give the same bits as one
// call with all of it.
#pragma once

#include "../rows.h"
#include "algorithms.h"
#include "state.h"

namespace rpnb {

// Throw std::invalid_argument unless the arrays of a state fit its algorithm.
void check_state(const LinearAlgorithm& rule, const LinearState& state);

// Predict each row, then learn from it; return the number of updates.
//
// y (n,) are classes, −1 for a row that is only predicted. In the two-class form 0 stands
// for +1 and 1 for −1. `labels` (n,) receives the predictions: the eligible class of the
// highest score, the first of equals, and −1 while none is eligible; in the two-class form
// 0 if f ≥ 0, else 1.
//
// A row's class becomes eligible after the prediction and before the step. Only eligible
// classes are predicted or rivals; a class new in this round has zero weights and the
// score 0. While no other class is eligible there is no rival, and the round is counted but
// triggers no update. So a learner whose classes are all declared at the start behaves as
// LIBOL, which is given M.
//
// As in LIBOL, every round that meets the algorithm's trigger counts as an update, even if
// its step has length zero or is not taken. A step is not taken if its numbers, or a weight
// after it, would not be finite (a zero row in multi-class PA; squares that overflow), if
// v < 0, or if Σx is only rounding error (`is_credible`). So weights and covariances stay
// finite for all finite rows. With `rule.libol` only v < 0 prevents a step: both rows of a
// step that is not finite become NaN, as in the library. A class with a NaN score is
// predicted, or the rival, only if all scores are NaN.
Index learn_rows(const LinearAlgorithm& rule, LinearState& state, const RowBlock& rows,
                 Vector<const std::int64_t> y, Vector<std::int64_t> labels);

// Predict each row as `learn_rows` does; learn nothing.
void predict_rows(const LinearAlgorithm& rule, const LinearState& state, const RowBlock& rows,
                  Vector<std::int64_t> labels);

// Write the scores that decide the labels to `out`: (n, M), two-class f: (n, 1).
void score_rows(const LinearAlgorithm& rule, const LinearState& state, const RowBlock& rows,
                Matrix<double> out);

}  // namespace rpnb
