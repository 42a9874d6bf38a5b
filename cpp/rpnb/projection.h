// Random projections by a matrix, equation (2) of the paper: z = R'x/√q.
//
// The K matrices are stored side by side as one (p, F) matrix of 32-bit floats, unscaled:
// the factor 1/√q is applied to the observation, which is shorter. Single precision halves
// the memory to be read and costs no accuracy, since a projection is *any* draw from its
// distribution.
#pragma once

#include <cstdint>

#include "../array.h"

namespace rpnb {

// Project the named rows of X (n, p): Z[b] = scale · X[rows[b]] R.
//
// Every entry is one chain of fused multiply-adds in the order of the features, so a row's
// projection has the same bits whatever other rows are projected with it, and zeros change
// nothing. Z may have more rows than are named.
//
// If R has no rows, X already holds the projections (n, F), and they are copied.
void project(Matrix<const double> X, Vector<const std::int64_t> rows, double scale,
             Matrix<const float> R, Matrix<double> Z);

// Project all rows of X.
void project(Matrix<const double> X, double scale, Matrix<const float> R, Matrix<double> Z);

// Project one row x (p,) to z (F,).
void project(Vector<const double> x, double scale, Matrix<const float> R, Vector<double> z);

// Project rows of X (n, p) in single precision: Z = X R, n a multiple of four.
//
// Sums are taken in the order of the features. Made for few features: a tile of four rows
// and sixteen columns reads the matrix without repacking it.
void project_singles(Matrix<const float> X, Matrix<const float> R, Matrix<float> Z);

}  // namespace rpnb
