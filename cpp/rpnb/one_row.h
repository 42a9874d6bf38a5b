// The fast path for rows that come one by one.
//
// Each row usually comes twice: to be predicted, and to be learned once its label is known. The
// second time its projection is taken from a cache, and so is its prediction if the model has not
// learned in between.
//
// The cache also holds the densities in single precision, half as many bytes to read. Their
// scores decide the label unless the error bounds leave several classes possible, as in
// screened.h.
#pragma once

#include "model.h"

namespace rpnb::bayes {

// Do what `run_exact` does for one row x (p,), for the rule kLogSum; y is −1 if it has no
// label.
//
// z (F,) is its projection; it may be empty where the model keeps a matrix. Returns the
// prediction, or kNoProjection, with nothing changed, if z is needed.
inline constexpr Index kNoProjection = -2;
Index run_row(Model& model, Vector<const double> x, Vector<const double> z, Index y, double weight,
              Learn learn);

}  // namespace rpnb::bayes
