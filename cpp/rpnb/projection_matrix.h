// Drawing the matrices of random projections.
#pragma once

#include <cstdint>

#include "../array.h"

namespace rpnb {

// Distributions whose entries are independent of each other and of p, so that any row can
// be drawn alone: N(0, 1); ±1 with probability ½ each; −√3, 0, √3 with probabilities 1/6,
// 2/3, 1/6 (section 2.1 of the paper). All have mean 0 and variance 1.
enum class Distribution { kGaussian, kBernoulli, kAchlioptas };

// Fill R (p, K·q) with the rows of the K projections that belong to `features` (p,), side
// by side: column k·q + j is column j of matrix k; not yet divided by √q. A row depends on
// the seed and its own feature only.
void draw_matrix(Distribution distribution, std::uint64_t seed,
                 Vector<const std::uint64_t> features, Index q, Matrix<float> R);

// The largest Euclidean norm of the matrix's columns.
double max_column_norm(Matrix<const float> R);

}  // namespace rpnb
