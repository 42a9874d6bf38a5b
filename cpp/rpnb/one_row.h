// One row at a time, quickly: for streams whose rows come one by one.
//
// Such a stream is often handled as predict, wait for the label, learn, so that each row
// comes twice. The second time its projection is taken from the model's memory, and so is its
// prediction if the model has not learned in between.
//
// The memory also has the densities in single precision, which are half as much to read. Their
// scores decide a label unless the error bounds leave several classes possible, as in
// screened.h.
#pragma once

#include "model.h"

namespace rpnb::bayes {

// Do what `run_exact` does for one row x (p,), for the rule kLogSum; y is −1 if it has no
// label.
//
// z (F,) is its projection; it may be empty where the model keeps a matrix. Returns the
// prediction, or kNoProjection if z is needed after all: nothing has been done then.
inline constexpr Index kNoProjection = -2;
Index run_row(Model& model, Vector<const double> x, Vector<const double> z, Index y, double weight,
              Learn learn);

}  // namespace rpnb::bayes
