// Rectified random projections of scaled rows, and a projection to few dimensions.
//
//   φ(z) = [z if p ≤ 64; max(0, ⟨w_f, z⟩ + b_f), f = 1 … D],   b_f ∼ U(−1, 1)
//
// A quarter of the w_f are dense, N(0, I/p), or half of them if p > 64. Each of the others
// reads k features, k uniform in {1 … 4}, with entries N(0, 1/k): such columns represent
// interactions of a few features. Random rectified features go back to Cho &
// Saul, "Kernel methods for deep learning" (2009), of whose arc-cosine kernel they are
// samples, and to random-weight networks (Huang, Zhu & Siew, "Extreme learning machine",
// 2006).
//
// φ is rounded to multiples of 1/128 and is at most 2,047/128: a 12-bit integer, so that
// sums of products are exact in any order.
//
// Columns of φ, in this order: z, the dense ones, the sparse ones, zeros up to a multiple
// of 16. `low` is z itself if p ≤ 32 and z·P otherwise, where P (p, 32) has random
// orthonormal columns.
//
// All numbers are functions of the seed and of their address (../random.h).
#pragma once

#include "../record.h"

namespace rpnb {

struct Features {
  Array<float, 2> dense;         // (p, columns), including the sparse ones if p is small
  Array<float, 1> dense_bias;    // (columns,)
  Array<std::int64_t, 2> reads;  // (4, sparse) features that sparse columns read
  Array<float, 2> entry;         // (4, sparse) their entries
  Array<float, 1> sparse_bias;   // (sparse,)
  Array<float, 2> low;           // (p, 32) orthonormal columns; (p, 0) where `low` is z

  static constexpr auto fields() {
    return std::tuple{field("dense", &Features::dense, "p columns"),
                      field("dense_bias", &Features::dense_bias, "columns"),
                      field("reads", &Features::reads, "4 sparse"),
                      field("entry", &Features::entry, "4 sparse"),
                      field("sparse_bias", &Features::sparse_bias, "sparse"),
                      field("low", &Features::low, "p *")};
  }

  // Draw D projections for rows of p features, the first `n_dense` of them dense.
  //
  // D is a multiple of 16, `n_dense` one of 8.
  static Features draw(Index p, Index D, Index n_dense, std::uint64_t seed);

  // Fill φ (n, E) and `low` (n, d) of scaled rows z (n, p).
  void fill(Matrix<const float> z, Matrix<float> phi, Matrix<float> low_rows) const;
};

}  // namespace rpnb
