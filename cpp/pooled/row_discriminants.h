// Linear discriminants from inner products of rows, used while rows are fewer than columns.
//
// V is the same that discriminants() of discriminant.h computes from A = Σφφᵀ. With Φ the rows
// φ_r minus their class's mean, times √w_r, S is ΦᵀΦ, and with G = Φ·Φᵀ Woodbury's identity
// is
//
//   (λI + ΦᵀΦ)⁻¹ U = (U − Φᵀ (λI + G)⁻¹ Φ U)/λ.
//
// All columns of U are combinations of the rows φ_r, and so are those of V.
#pragma once

#include "algebra/outer_products.h"

namespace rpnb {

// The t rows learned so far, and their inner products.
struct RowSample {
  PackedRows<const float> packed;
  Vector<const std::int64_t> labels;  // (t,)
  Vector<const double> weight;        // (t,)
  Matrix<const float> gram;           // gram[r, s] = ⟨φ_r, φ_s⟩, s ≤ r

  [[nodiscard]] Index size() const { return labels.size(); }
};

// Compute V (E, C) and the constants (C,) from rows, and from the weight and the sum of
// each class; `dimension` columns of φ are not padding.
void discriminants_from_rows(const RowSample& rows, Vector<const double> count,
                             Matrix<const double> B, Index dimension, Matrix<float> V,
                             Vector<float> offset);

}  // namespace rpnb
