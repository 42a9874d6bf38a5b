// Projecting blocks of rows, dense or sparse, before a pass.
//
// The cost of projecting a sparse row depends on its non-zeros only, so screening by a
// single-precision projection would save nothing: such rows are projected in double
// precision, block by block, before the pass. A sparse row gets the same bits as the same row
// dense, since zeros change no sum.
#pragma once

#include <cstdint>

#include "../rows.h"
#include "projection_matrix.h"

namespace rpnb {

// Write scale · x R of each row x to Z (n, F), by a matrix R (p, F) that is kept.
//
// An entry of Z is a chain of fused multiply-adds in the order of the features, as in
// `project`.
void project_rows(const RowBlock& rows, double scale, Matrix<const float> R, Matrix<double> Z);

// The parameters of a matrix that is too large to be stored.
struct DrawnMatrix {
  Distribution distribution;
  std::uint64_t seed;
  Vector<const std::uint64_t> features;  // (p,)
  Index q;
};

// The same with a matrix that is not stored: its rows are drawn on demand.
void project_rows(const RowBlock& rows, double scale, const DrawnMatrix& matrix, Matrix<double> Z);

}  // namespace rpnb
