// The pass over rows that predicts from single-precision scores.
//
// `run_screened` gives the labels of `run_exact` and leaves the same state, to the bit. It
// predicts from single-precision scores wherever their error bounds leave only one class
// possible, and projects the other rows in double precision.
#pragma once

#include "model.h"
#include "single_densities.h"

namespace rpnb::bayes {

// A block's rows, centred and projected in single precision.
struct CentredBlock {
  Matrix<const float> Z;       // (≥ n, F), rows padded to a multiple of four
  Vector<const double> error;  // (n,) `RowError::projection` of the rows
  Vector<const double> norm;   // (n,) `RowError::norm`
};

// Do what `run_exact` does, for the rule kLogSum, with rows scored `step` at a time, a
// multiple of four.
//
// The densities are updated from the model's, and kept up to date. `centred` is required for
// rows that are projected already, or too wide to be projected here; otherwise it is empty, and
// rows are centred by x0 (p,), whose projection is the densities' origin.
//
// The rows of a step that are uncertain, look like mistakes, or have an uncertain cell that
// calibration needs are projected in double precision together, which is cheaper than one by
// one. When a class learns, its scores of the remaining rows of the step are recomputed.
void run_screened(Model& model, SingleDensities& densities, Vector<const double> x0,
                  const Block& block, const CentredBlock& centred, Index step);

}  // namespace rpnb::bayes
