// Symmetric matrices in blocks: Cholesky factors and triangular solves.
//
// A symmetric E × E matrix, E a multiple of 16, is kept as its lower triangle of 16 × 16
// blocks in one flat array. Block (H, J), J ≤ H, has the number H(H + 1)/2 + J; entry
// (i, j) of the matrix, i in H and j in J, is at 256·number + 16·(j mod 16) + (i mod 16).
// The blocks (H, 0), (H, 1), … are contiguous, so that all inner loops read memory
// sequentially; the lanes of a vector are rows i.
//
// Each entry of a result is one chain of operations, in the same order on every machine.
#pragma once

#include "../../array.h"

namespace rpnb {

inline constexpr Index kSide = 16;
inline constexpr Index kBlockEntries = kSide * kSide;

// The next multiple of `to`.
constexpr Index padded(Index size, Index to = kSide) { return (size + to - 1) / to * to; }

// Index of the first entry of block (H, J), J ≤ H.
constexpr Index block_place(Index H, Index J) { return kBlockEntries * (H * (H + 1) / 2 + J); }

// Index of entry (i, j), where j is not in a later block than i.
constexpr Index place(Index i, Index j) {
  return block_place(i / kSide, j / kSide) + kSide * (j % kSide) + i % kSide;
}

// The number of entries of a matrix of E rows.
constexpr Index matrix_entries(Index E) { return block_place(E / kSide, 0); }

// Set `out` to matrix − Σ_c left_c · right_cᵀ; `out` may be `matrix` itself.
//
// `left` and `right` hold K rows of E doubles each, packed: [block of columns][row][16].
void subtract_outer(Vector<const double> matrix, View<const double, 3> left,
                    View<const double, 3> right, Vector<double> out);

// Replace a positive definite matrix by L with L·Lᵀ = matrix, lower triangular.
//
// Column by column of blocks (left-looking; Golub & Van Loan, "Matrix computations", 4th
// edition, section 4.2.6). Returns false if a pivot is not positive; the matrix then holds
// no factor.
[[nodiscard]] bool cholesky(Vector<double> matrix, Index E);

// Replace X (E, C) by (L·Lᵀ)⁻¹ X; C is a multiple of 8.
void solve(Vector<const double> factor, Matrix<double> X);

}  // namespace rpnb
