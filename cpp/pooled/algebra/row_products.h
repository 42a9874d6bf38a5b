// Products of rows in single precision: with a matrix, with each other, combined.
//
// Each entry of a result is one chain of operations, in an order that does not depend on
// what is computed beside it: a row gets the same bits whatever rows are with it.
#pragma once

#include "../../array.h"

namespace rpnb {

// Set out (n, C) to start (C,) + rows (n, E) · matrix (E, C), C a multiple of 8.
//
// Each entry is one chain in single precision, in the order of the E terms.
void multiply_rows(Matrix<const float> rows, Matrix<const float> matrix, Vector<const float> start,
                   Matrix<float> out);

}  // namespace rpnb
