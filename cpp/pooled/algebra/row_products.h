// Products of rows in single precision: with a matrix, with each other, combined.
//
// Each entry of a result is one chain of operations in a fixed order, so a row gets the same
// bits whatever rows are computed with it.
#pragma once

#include "outer_products.h"

namespace rpnb {

// Set out (n, C) to start (C,) + rows (n, E) · matrix (E, C), C a multiple of 8.
//
// Each entry is one chain in single precision, in the order of the E terms.
void multiply_rows(Matrix<const float> rows, Matrix<const float> matrix, Vector<const float> start,
                   Matrix<float> out);

// Set gram[r, s] to ⟨φ_r, φ_s⟩ for all s ≤ r, r from `first` to `last` − 1.
//
// `packed` must have memory for a multiple of 8 rows.
void inner_products(PackedRows<const float> packed, Index first, Index last, Matrix<float> gram);

// Set out (C, E) to Σ_r factors[r, c] φ_r over the rows of `factors`; C a multiple of 8.
//
// Sums are in double precision.
void combine_rows(PackedRows<const float> packed, Matrix<const double> factors, Matrix<double> out);

}  // namespace rpnb
