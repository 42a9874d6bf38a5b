// Sums of outer products of rows, Σ w·φφᵀ, for symmetric matrices in blocks.
//
// The entries of φ are multiples of 1/128 and have 12 bits. If all weights are 1, the usual
// case, products are summed as integers, which is exact and twice as fast as single
// precision.
#pragma once

#include "../../array.h"

namespace rpnb {

// Entries of φ are multiples of one over this.
inline constexpr float kSteps = 128.0F;

// Rows packed for products: [block of 16 columns][row][16].
template <class T>
using PackedRows = View<T, 3>;

// Write a row (E,) as row r of packed rows.
void pack_row(Vector<const float> row, PackedRows<float> packed, Index r);

// Add Σ_r w_r φ_r φ_rᵀ of packed rows first … last − 1 to the matrix.
//
// `weighted` holds w_r φ_r, packed in the same way. The products of one call are summed in
// single precision, in the order of the rows, and the sums are added in double precision.
void add_products(Vector<double> matrix, PackedRows<const float> packed,
                  PackedRows<const float> weighted, Index first, Index last);

// Add Σ_r φ_r φ_rᵀ of packed rows first … last − 1 to the matrix, exactly.
//
// Products are summed as 32-bit integers, two rows at a time, which cannot overflow for up
// to 512 rows.
void add_exact_products(Vector<double> matrix, PackedRows<const float> packed, Index first,
                        Index last);

}  // namespace rpnb
